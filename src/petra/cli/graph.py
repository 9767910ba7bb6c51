"""``petra graph``: a playbook, a net or an execution as a drawing."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click
from msgspec.structs import replace

from petra.cli.files import load
from petra.cli.home import find, look
from petra.cli.nets import SUFFIX, read_net
from petra.cli.output import as_json, print_json, print_problem, print_text
from petra.cli.place import home_option
from petra.embedded import records_of
from petra.engine.cache import Cache, Entry
from petra.export.life import ExportedLog, life, step_runs
from petra.kernel import Record
from petra.kernel import events as e
from petra.kinds import SERVER_KINDS
from petra.net import draw
from petra.net.compile import compile  # noqa: A004 - the word of the trade
from petra.net.net import Net
from petra.net.pnml import write_pnml
from petra.playbook import Playbook
from petra.playbook import draw as steps
from petra.playbook.problems import problem_data
from petra.store.base import Store

_LOOKS_LIKE_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._~-]*")
_WORSE = ("", "withdrawn", "done", "running", "waiting", "failed")
"""Of several runs of a step, the state that is shown: the later here."""

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
@click.argument("file", metavar="FILE|ID", type=click.Path(path_type=Path))
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(list(_STEPS)),
    help="The language of the drawing: mermaid for a file, svg for an execution.",
)
@click.option("--net", "as_net", is_flag=True, help="The Petri net that the playbook means.")
@home_option
@as_json
def command(file: Path, home: Path, output: str, *, form: str | None, as_net: bool) -> None:
    """Draw the steps of a playbook and the arcs between them, or its Petri net.

    PNML is always the net: places and transitions of every step, guards left open. A .pnml file is drawn as the
    net that it is. With the id of an execution, its steps are drawn as it left them: their states, how often each
    ran, and the way it took.
    """
    named = not file.exists() and not as_net and _LOOKS_LIKE_ID.fullmatch(str(file))
    if named and form not in (None, "svg"):
        raise click.UsageError(f"an execution is drawn as svg, not as {form}; leave '-f' out")
    form = form or ("svg" if named else "mermaid")
    if file.suffix == SUFFIX:
        drawn = _NETS[form](read_net(file))
    elif named:
        drawn = _execution(home, str(file))
    elif as_net:
        drawn = _NETS[form](_net_of(_playbook(file, output)))
    else:
        drawn = _STEPS[form](_playbook(file, output))
    if output == "json":
        print_json({"of": str(file), "format": form, "text": drawn})
        return
    print_text(drawn, end="" if drawn.endswith("\n") else "\n")


def _execution(home: Path, execution: str) -> str:
    """Draw an execution over its playbook."""

    async def asking(store: Store, cache: Cache) -> tuple[Entry, list[Record]]:
        entry = await find(store, cache, execution)
        return entry, await records_of(store, entry.state.id)

    entry, records = look(home, asking)
    playbook = entry.program.playbook
    return draw.steps_svg(playbook, traced(ExportedLog(entry.state.id, playbook, records)))


def traced(log: ExportedLog) -> draw.Trace:
    """Return what a log says of each step and each arc: the worst of the states, and how often."""
    steps: dict[str, tuple[str, int]] = {}
    for run in step_runs(log):
        state = "waiting" if run.status == "running" and run.kind in SERVER_KINDS else run.status
        known, number = steps.get(run.step, ("", 0))
        steps[run.step] = max(state, known, key=_WORSE.index), number + 1
    arcs: Counter[tuple[str, int]] = Counter()
    for moment in life(log.records):
        if isinstance(moment.event, e.StepEnded):
            arcs.update((moment.event.step, token.arc) for token in moment.event.produced)
    return draw.Trace(steps, arcs)


def _net_of(playbook: Playbook) -> Net:
    """Compile a playbook; its net ends where its executions do, behind the final step if there is one."""
    compiled = compile(playbook)
    return replace(compiled.net, final=compiled.ends)


def _playbook(file: Path, output: str) -> Playbook:
    reading = load(file)
    if reading.playbook is not None and reading.ok:
        return reading.playbook
    errors = [problem for problem in reading.problems if problem.severity == "error"]
    if output == "json":
        print_json({"of": reading.name, "problems": [problem_data(one) for one in errors]})
    else:
        for problem in errors:
            print_problem(problem, reading.lines, reading.name, err=True)
    sys.exit(1)
