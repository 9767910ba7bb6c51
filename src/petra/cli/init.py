"""``petra init``: a first playbook that checks clean, with its test and its schema."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click

from petra.cli.output import as_json, print_json, tell
from petra.playbook.schema import json_schema

SCHEMA_FILE = "playbook.schema.json"

PLAYBOOK = """\
# yaml-language-server: $schema={schema}
apiVersion: petra/v1
kind: Playbook
metadata:
  name: {name}
  description: Greets everyone on the list, then counts the greetings.
workload:
  names: [Ada, Grace]
executor:
  spec:
    ctx:
      greetings: {{reduce: append}}
    output: {{greetings: "{{{{ ctx.greetings }}}}"}}
workflow:
  - step: greet
    desc: One greeting per name.
    loop:
      in: "{{{{ workload.names }}}}"
      iterator: name
    tool:
      kind: python
      args: {{name: "{{{{ iter.name }}}}"}}
      code: |
        def main(name):
            return f"Hello, {{name}}!"
      spec:
        policy:
          rules:
            - when: "{{{{ outcome.status == 'error' }}}}"
              then: {{do: retry, attempts: 3, backoff: exponential}}
            - else:
                then: {{do: continue, set_ctx: {{greetings: "{{{{ outcome.result }}}}"}}}}
    next:
      arcs:
        - step: report
  - step: report
    tool:
      kind: python
      args: {{greetings: "{{{{ ctx.greetings }}}}"}}
      code: |
        def main(greetings):
            print(f"{{len(greetings)}} greetings")
"""

TEST = """\
apiVersion: petra/v1
kind: Test
playbook: {name}.yaml
cases:
  - name: everyone is greeted
    tools:
      greet: {{run: "'Hello, ' ~ args.name ~ '!'"}}
      report: {{ok: null}}
    expect:
      status: completed
      done: [greet, report]
      output: {{greetings: ["Hello, Ada!", "Hello, Grace!"]}}
  - name: a failure that stays is a failure of the execution
    workload: {{names: [Ada]}}
    tools:
      greet: {{error: {{kind: connection, message: nobody is there}}}}
    expect:
      status: failed
      attempts: {{greet: 3}}
      never: [report]
"""


@click.command("init")
@click.argument("name")
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@as_json
def command(name: str, output: str, *, force: bool) -> None:
    """Write a first playbook NAME.yaml, its test, and the schema for your editor."""
    stem = name.removesuffix(".yaml").removesuffix(".yml")
    folder, name = Path(stem).parent, Path(stem).name
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise click.UsageError(f"'{name}' is no good name; use letters, digits, '-' and '_'")
    files = {
        folder / f"{name}.yaml": PLAYBOOK.format(name=name, schema=SCHEMA_FILE),
        folder / f"{name}.test.yaml": TEST.format(name=name),
        folder / SCHEMA_FILE: json.dumps(json_schema(), indent=1) + "\n",
    }
    taken = [str(path) for path in files if path.exists() and path.name != SCHEMA_FILE]
    if taken and not force:
        tell(
            f"error: {', '.join(taken)} already there; choose another name or use --force", err=True
        )
        sys.exit(1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
            if output == "text":
                tell(f"wrote {path}")
    except OSError as error:
        tell(f"error: cannot write {error.filename}: {error.strerror}", err=True)
        sys.exit(1)
    if output == "json":
        print_json({"wrote": [str(path) for path in files]})
        return
    tell(f"\nnext: petra check {folder / (name + '.yaml')}")
