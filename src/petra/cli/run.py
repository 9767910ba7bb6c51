"""``petra run``: start a playbook here and follow it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from petra.cli.files import load
from petra.cli.home import EXIT, act, comes_soon, find, home_option, result_data
from petra.cli.output import as_json, print_json, print_problem
from petra.cli.show import Teller, status_text, summary
from petra.cli.workload import with_workload, workload_of
from petra.embedded import Local, Result
from petra.engine.entries import Entry
from petra.kernel import Record
from petra.playbook import Playbook


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@with_workload
@click.option("--detach", is_flag=True, help="Start it and leave; 'petra watch' goes on with it.")
@home_option
@as_json
def command(
    file: Path, home: Path, output: str, *, workload: str, sets: tuple[str, ...], detach: bool
) -> None:
    """Start a playbook here, durably, and follow it until it ends or waits.

    Exit codes: 0 completed, 1 failed, 3 waiting, 4 stuck. What is interrupted goes on with 'petra watch'.
    """
    playbook = checked(file)
    given = workload_of(workload, sets)
    quiet = output == "json"
    try:
        result = act(home, lambda local: _run(local, playbook, given, detach=detach, quiet=quiet))
    except KeyboardInterrupt:
        click.echo("\nnothing is lost: 'petra ps' lists it, 'petra watch ID' goes on", err=True)
        raise
    if output == "json":
        print_json(result_data(result))
    else:
        click.echo(summary(result))
        hint(result)
    sys.exit(0 if detach else EXIT.get(result.status, 1))


def checked(file: Path) -> Playbook:
    """Read a playbook that may run; otherwise say why not and leave."""
    reading = load(file)
    if reading.playbook is None or not reading.ok:
        for problem in reading.problems:
            if problem.severity == "error":
                print_problem(problem, reading.text.splitlines(), reading.name)
        sys.exit(1)
    return reading.playbook


async def _run(
    local: Local, playbook: Playbook, workload: dict[str, Any], *, detach: bool, quiet: bool
) -> Result:
    execution = local.new_id()
    if not quiet:
        click.echo(f"{playbook.metadata.name}  {execution}  {status_text('running')}")
        follow(local, execution)
    if detach:
        await local.engine.start(playbook, workload, execution=execution)
        return await local.rest(execution, lambda _: True)
    return await local.run(playbook, workload, execution=execution, until=comes_soon(local))


def follow(local: Local, execution: str) -> None:
    """Print what happens in an execution as it happens."""
    teller = Teller()

    def tell(entry: Entry, records: list[Record]) -> None:
        if entry.state.id == execution:
            for line in teller.lines(records):
                click.echo(line)  # a reader that has gone ends the telling, not the execution

    local.engine.listeners.append(tell)


def hint(result: Result) -> None:
    """Say what a person can do next."""
    short = result.id
    if result.status == "waiting" and result.reason == "human":
        click.echo(f"  next: petra task list; petra task complete {short} STEP ACTION")
    elif result.status in ("waiting", "stuck"):
        click.echo(f"  why: petra explain {short}")


@click.command("watch")
@click.argument("execution", metavar="ID")
@home_option
@as_json
def watch(execution: str, home: Path, output: str) -> None:
    """Go on with an execution that was interrupted or detached, and follow it."""

    async def following(local: Local) -> Result:
        chosen = (await find(local.engine.store, local.engine.entries, execution)).state.id
        if output != "json":
            follow(local, chosen)
        return await local.rest(chosen, comes_soon(local))

    result = act(home, following)
    if output == "json":
        print_json(result_data(result))
    else:
        click.echo(summary(result))
        hint(result)
    sys.exit(EXIT.get(result.status, 1))
