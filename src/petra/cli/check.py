"""``petra check``: every problem of every file, at once."""

from __future__ import annotations

import sys
from typing import Any

import click

from petra.cli.files import load, playbook_files
from petra.cli.output import as_json, count, print_json, print_problem
from petra.playbook import Problem, Reading

_SHOWN_PER_FILE = 50


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option("--strict", is_flag=True, help="Warnings are errors too.")
@as_json
def command(paths: tuple[str, ...], *, strict: bool, output: str) -> None:
    """Check playbooks: every problem, with its place and its fix.

    Folders are searched for *.yaml and *.yml. Exits with 1 when a problem keeps a playbook from running.
    """
    files = list(playbook_files(paths))
    if not files:
        raise click.UsageError(f"no playbook in {', '.join(paths)}; they end in .yaml or .yml")
    readings = [load(path) for path in files]
    failed = any(_fails(problem, strict=strict) for r in readings for problem in r.problems)
    if output == "json":
        print_json({"files": [_as_data(reading) for reading in readings]})
    else:
        for reading in readings:
            _print(reading)
        _summary(readings)
    sys.exit(1 if failed else 0)


def _fails(problem: Problem, *, strict: bool) -> bool:
    return strict or problem.severity == "error"


def _as_data(reading: Reading) -> dict[str, Any]:
    return {
        "file": reading.name,
        "problems": [
            {
                "severity": problem.severity,
                "code": problem.code,
                "line": problem.line,
                "column": problem.column,
                "message": problem.message,
                "hint": problem.hint,
            }
            for problem in reading.problems
        ],
    }


def _print(reading: Reading) -> None:
    lines = reading.text.splitlines()
    # errors first to be shown where there are very many; the order of the text otherwise
    shown = sorted(reading.problems, key=lambda problem: problem.severity != "error")[
        :_SHOWN_PER_FILE
    ]
    for problem in sorted(shown, key=lambda problem: problem.mark):
        print_problem(problem, lines, reading.name)
    if left := len(reading.problems) - len(shown):
        click.echo(f"{reading.name}: and {count(left, 'more problem')}; '-o json' shows all")


def _summary(readings: list[Reading]) -> None:
    found = [problem for reading in readings for problem in reading.problems]
    errors = sum(problem.severity == "error" for problem in found)
    warnings = len(found) - errors
    if found:
        click.echo()
    words = [count(errors, "error")] if errors else []
    words += [count(warnings, "warning")] if warnings else []
    mark = click.style("✗", fg="red") if errors else click.style("✓", fg="green")
    files = readings[0].name if len(readings) == 1 else count(len(readings), "file")
    click.echo(f"{mark} {files}: {', '.join(words) or 'no problems'}")
