"""``-o json`` everywhere: one document on stdout, with the values that an execution has and not where they lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from petra.cli import petra

PROCESSES = {"lsp", "worker", "mcp", "login", "logout"}
"""Verbs that print no result: they go on until they are stopped, or ask a person."""
LARGE = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: large}
executor: {spec: {output: {rows: "{{ ctx.rows }}", first: "{{ ctx.rows[0] }}"}}}
workflow:
  - step: make
    set_ctx: {rows: "{{ make.rows }}", held: {inside: "{{ make.rows }}"}}
    tool: {kind: python, code: "result = {'rows': ['x' * 100] * 1000}"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "large.yaml").write_text(LARGE)
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(petra, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def leaves(group: click.Group, *names: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        verb = group.get_command(context, name)
        assert verb is not None
        if isinstance(verb, click.Group):
            yield from leaves(verb, *names, name)
        else:
            yield " ".join((*names, name)), verb


def test_every_verb_with_a_result_prints_it_as_json() -> None:
    without = {
        name
        for name, verb in leaves(petra)
        if not any("--output" in option.opts for option in verb.params)
    }
    assert without == PROCESSES


@pytest.mark.spec("S18")
@pytest.mark.usefixtures("folder")
def test_what_an_output_hands_on_is_fetched_wherever_it_stands_in_it() -> None:
    assert run("run", "large.yaml").exit_code == 0
    (execution,) = (one["id"] for one in json.loads(run("ps", "-o", "json").stdout))
    rows = ["x" * 100] * 1000
    assert json.loads(run("result", execution).stdout) == {"rows": rows, "first": rows[0]}
    assert json.loads(run("result", execution, "--ctx", "held", "-o", "json").stdout) == {
        "inside": rows
    }


@pytest.mark.spec("S18")
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", ["run", "get", "replay"])
def test_in_words_a_value_that_is_stored_apart_has_a_size_and_no_address(verb: str) -> None:
    words = run("run", "large.yaml").stdout
    if verb != "run":
        (execution,) = (one["id"] for one in json.loads(run("ps", "-o", "json").stdout))
        words = run(verb, execution).stdout
    assert "bytes, stored apart" in words
    assert "schema_hint" not in words


def test_the_json_of_an_export_goes_where_that_of_every_verb_goes(folder: Path) -> None:
    run("run", "large.yaml")
    (execution,) = (one["id"] for one in json.loads(run("ps", "-o", "json").stdout))
    exported = run("export", execution, "-o", "json").stdout
    assert json.loads(exported) == json.loads(run("export", execution).stdout)
    refused = run("export", execution, "-f", "xes", "-o", "csv")
    assert refused.exit_code == 2
    assert "'-o' names a file here, and 'csv' is a form; write '-f csv'" in refused.stderr
    assert not list(folder.glob("*csv*"))


def test_a_drawing_as_json_says_what_it_is_and_what_is_wrong(folder: Path) -> None:
    drawn = json.loads(run("graph", "large.yaml", "-o", "json").stdout)
    assert (drawn["of"], drawn["format"]) == ("large.yaml", "mermaid")
    assert drawn["text"] == run("graph", "large.yaml").stdout
    (folder / "wrong.yaml").write_text(LARGE.replace("workflow:", "workflw:"))
    found = run("graph", "wrong.yaml", "-o", "json")
    assert found.exit_code == 1
    assert "P101" in {problem["code"] for problem in json.loads(found.stdout)["problems"]}
    assert run("graph", "wrong.yaml").stdout == ""


def test_what_init_wrote_is_listed(folder: Path) -> None:
    wrote = json.loads(run("init", "hello", "-o", "json").stdout)["wrote"]
    assert wrote == ["hello.yaml", "hello.test.yaml", "playbook.schema.json"]
    assert all((folder / name).exists() for name in wrote)


@pytest.mark.spec("S15")
def test_the_answer_to_a_signal_says_whether_somebody_waited(folder: Path) -> None:
    (folder / "waits.yaml").write_text(
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: waits}\nworkflow:\n"
        "- {step: one, tool: {kind: wait, signal: {name: first}}, next: {arcs: [{step: two}]}}\n"
        "- {step: two, tool: {kind: wait, signal: {name: second}}}\n"
    )
    execution = json.loads(run("run", "waits.yaml", "-o", "json").stdout)["id"]
    answers = [
        json.loads(run("signal", execution, name, "-o", "json").stdout)
        for name in ("second", "first")
    ]
    assert [(one["waited"], one["refused"]) for one in answers] == [(False, None), (True, None)]
    assert answers[-1]["status"] == "completed"
