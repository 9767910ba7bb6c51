"""``petra graph``: a playbook as a drawing."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from petra.cli.files import load
from petra.cli.output import print_problem
from petra.playbook import draw

_FORMATS = {"mermaid": draw.mermaid, "dot": draw.dot}


@click.command("graph")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(list(_FORMATS)),
    default="mermaid",
    help="The language of the drawing.",
)
def command(file: Path, *, form: str) -> None:
    """Draw the steps of a playbook and the arcs between them."""
    reading = load(file)
    if reading.playbook is None or not reading.ok:
        lines = reading.text.splitlines()
        for problem in reading.problems:
            if problem.severity == "error":
                print_problem(problem, lines, reading.name)
        sys.exit(1)
    click.echo(_FORMATS[form](reading.playbook), nl=False)
