"""``petra logs``: what the tasks of an execution printed and logged."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from petra.cli.executions import execution_argument
from petra.cli.home import full_id, look
from petra.cli.moments import Days, clock
from petra.cli.output import Quoted, as_json, print_text, tell
from petra.cli.place import home_option
from petra.cli.show import coloured, place_of
from petra.cli.tail import POLL_S, tail_of
from petra.engine.cache import Cache
from petra.engine.news import OVER
from petra.store.base import Store
from petra.wire.frames import LogLine


@click.command("logs")
@execution_argument
@click.option("--step", help="Only what this step said.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the execution has ended.")
@home_option
@as_json
def command(execution: str, step: str | None, *, follow: bool, home: Path, output: str) -> None:
    """Show what the tasks of an execution printed and logged."""

    async def reading(store: Store, _cache: Cache) -> None:
        chosen = await full_id(store, execution)
        tail = tail_of(home, chosen)
        over, quoted, days = not follow, Quoted(), Days()
        while True:
            for raw, line in await tail.news():
                if step is None or line.step == step:
                    _print(raw, line, output, quoted, days)
            if over:
                return
            stored = await store.execution(chosen)
            over = stored is None or stored.row.status in OVER
            await asyncio.sleep(POLL_S)  # the last lines may be on their way to the file

    look(home, reading)


def _print(raw: bytes, line: LogLine, output: str, quoted: Quoted, days: Days) -> None:
    if output == "json":
        print_text(raw.decode())
    elif line.stream == "dropped" and not line.step:
        tell(click.style(f"… {line.text}", fg="yellow"))
    else:
        if day := days.heading(line.at):
            tell(day)
        shown = quoted.line(f"{clock(line.at)}  {place_of(line)}/{line.task}  ", coloured(line))
        if shown is not None:
            tell(shown)
