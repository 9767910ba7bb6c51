"""``petra logs``: what the tasks of an execution printed and logged."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from petra.cli.executions import execution_argument
from petra.cli.home import find, home_option, look
from petra.cli.output import as_json
from petra.embedded import LOGS
from petra.engine.entries import Entries
from petra.engine.logs import file_of
from petra.store.base import Store

POLL_S = 0.2


class Line(msgspec.Struct, frozen=True):
    """A line as it is written down."""

    at: float
    step: str
    task: str
    stream: str
    text: str
    path: tuple[int, ...] = ()


_decode = msgspec.json.Decoder(Line).decode


@click.command("logs")
@execution_argument
@click.option("--step", help="Only what this step said.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the execution has ended.")
@home_option
@as_json
def command(execution: str, step: str | None, *, follow: bool, home: Path, output: str) -> None:
    """Show what the tasks of an execution printed and logged."""
    found, _ = _look(home, execution)
    for raw, line in _lines(home, found, follow=follow):
        if step is None or line.step == step:
            click.echo(raw.decode() if output == "json" else _shown(line))


def _look(home: Path, execution: str) -> tuple[str, bool]:
    """Return the whole id of an execution, and whether it has ended."""

    async def asking(store: Store, entries: Entries) -> tuple[str, bool]:
        state = (await find(store, entries, execution)).state
        return state.id, bool(state.terminal)

    return look(home, asking)


def _lines(home: Path, execution: str, *, follow: bool) -> Iterator[tuple[bytes, Line]]:
    """Yield the lines there are; to follow is to read on until the execution has ended and all is read."""
    path, rest = file_of(home / LOGS, execution), b""
    at = 0
    while True:
        over = not follow or _look(home, execution)[1]
        for piece in _read(path, at):
            at += len(piece)
            *whole, rest = (rest + piece).split(b"\n")
            yield from ((raw, _decode(raw)) for raw in whole)
        if over:
            return
        time.sleep(POLL_S)


def _read(path: Path, at: int) -> Iterator[bytes]:
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(at)
        while piece := file.read(256 * 1024):
            yield piece


def _shown(line: Line) -> str:
    if line.stream == "dropped" and not line.step:
        return click.style(f"… {line.text}", fg="yellow")
    at = datetime.fromtimestamp(line.at, UTC).strftime("%H:%M:%S.%f")[:-3]
    index = "".join(f"[{number}]" for number in line.path)
    colour: dict[str, Any] = {"fg": "red"} if line.stream == "stderr" else {}
    return f"{at}  {line.step}{index}/{line.task}  {click.style(line.text, **colour)}"
