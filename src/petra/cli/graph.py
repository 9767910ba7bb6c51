"""``petra graph``: a playbook or a net as a drawing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from petra.cli.files import load
from petra.cli.nets import SUFFIX, read_net
from petra.cli.output import print_problem
from petra.net import draw
from petra.net.compile import compile  # noqa: A004 - the word of the trade
from petra.net.net import Net
from petra.net.pnml import write_pnml
from petra.playbook import Playbook
from petra.playbook import draw as steps

_STEPS: dict[str, Callable[[Playbook], str]] = {
    "mermaid": steps.mermaid,
    "dot": steps.dot,
    "svg": draw.steps_svg,
    "pnml": lambda playbook: write_pnml(_net_of(playbook)),
}
_NETS: dict[str, Callable[[Net], str]] = {
    "mermaid": draw.net_mermaid,
    "dot": draw.net_dot,
    "svg": draw.net_svg,
    "pnml": write_pnml,
}


@click.command("graph")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(list(_STEPS)),
    default="mermaid",
    help="The language of the drawing.",
)
@click.option("--net", "as_net", is_flag=True, help="The Petri net that the playbook means.")
def command(file: Path, *, form: str, as_net: bool) -> None:
    """Draw the steps of a playbook and the arcs between them, or its Petri net.

    PNML is always the net: places and transitions of every step, guards left open. A .pnml file is drawn as the
    net that it is.
    """
    if file.suffix == SUFFIX:
        drawn = _NETS[form](read_net(file))
    elif as_net:
        drawn = _NETS[form](_net_of(_playbook(file)))
    else:
        drawn = _STEPS[form](_playbook(file))
    click.echo(drawn, nl=not drawn.endswith("\n"))


def _net_of(playbook: Playbook) -> Net:
    """Compile a playbook; its net ends where its executions do, behind the final step if there is one."""
    compiled = compile(playbook)
    return replace(compiled.net, final=compiled.ends)


def _playbook(file: Path) -> Playbook:
    reading = load(file)
    if reading.playbook is None or not reading.ok:
        lines = reading.text.splitlines()
        for problem in reading.problems:
            if problem.severity == "error":
                print_problem(problem, lines, reading.name)
        sys.exit(1)
    return reading.playbook
