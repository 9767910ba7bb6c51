"""A further engine of ``petra serve --engines N``: it acts for its share of the executions, with a worker of its own.

    python -m petra.cli.further_engine --control FD --parent PID --home FOLDER --slots N --workers N --lease S --finish S

Rule 1: it listens nowhere. What it has to know comes by way of the database, as between any engines that share one.
Rule 2: it ends in order on SIGTERM, and when the other end of its control socket is closed: its worker has ``--finish``
seconds for what it has, or until SIGTERM comes once more. Where the server is killed it is killed too, on Linux, or else ends in order.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import socket
import sys
from collections import deque
from pathlib import Path
from typing import Final

import msgspec

from petra import event_loop
from petra.cli.ending import heed_signals, until_ended
from petra.embedded import Home
from petra.engine import Engine
from petra.engine.workers import Bounds
from petra.errors import PetraError
from petra.server.json_logs import set_up_logs
from petra.server.tracing import traced
from petra.worker.stream import Stream
from petra.worker.warden import die_with

ASKED_MAX: Final = 65_536
"""Bytes that are read at once of what the server asks."""
HANDED_MAX: Final = 16
"""Connections that may come with them."""

_log = logging.getLogger("petra.engines")


def main(argv: list[str]) -> int:
    """Be an engine until told to end."""
    parser = argparse.ArgumentParser(prog="python -m petra.cli.further_engine")
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--lease", type=float, required=True)
    parser.add_argument("--finish", type=float, required=True)
    options = parser.parse_args(argv)
    control = socket.socket(fileno=options.control)
    die_with(options.parent, signal.SIGKILL)
    set_up_logs()
    try:
        event_loop.run(_run(options, control))
    except PetraError as error:
        _log.error("a further engine has ended: %s", error)
        return 1
    return 0


async def _run(options: argparse.Namespace, control: socket.socket) -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    hurry = heed_signals(ended)
    how = {"slots": options.slots, "workers": options.workers, "lease_s": options.lease}
    async with Home.open(options.home, **how) as local, traced(local.engine):
        control.setblocking(False)  # noqa: FBT003 - so it is called
        visitors = Visitors(local.engine, control, ended)
        loop.add_reader(control, visitors.hear)
        await loop.run_in_executor(
            None, control.sendall, local.engine.shards.holder.encode() + b"\n"
        )
        await until_ended(ended, local.engine)
        loop.remove_reader(control)
        await visitors.gone()
        local.engine.check()  # one that broke says why
        local.engine.roster.closed = True
        await local.keeper.drain(local.clock.monotonic() + options.finish, hurry)


class Visitors:
    """The workers elsewhere that the server shares with this engine: with what each may do comes a connection to it."""

    def __init__(self, engine: Engine, control: socket.socket, ended: asyncio.Event) -> None:
        self._engine, self._control, self._ended = engine, control, ended
        self._text = b""
        self._handed: deque[int] = deque()
        self._talking: set[asyncio.Task[None]] = set()

    def hear(self) -> None:
        """Take what the server says; nothing is the end."""
        try:
            text, handed, _, _ = socket.recv_fds(self._control, ASKED_MAX, HANDED_MAX)
        except BlockingIOError:
            return
        except OSError:
            text, handed = b"", []
        self._handed.extend(handed)
        if not text:
            self._ended.set()
            asyncio.get_running_loop().remove_reader(self._control)
        *lines, self._text = (self._text + text).split(b"\n")
        for line in lines:
            bounds = msgspec.json.decode(line, type=Bounds)
            way = Stream(socket.socket(fileno=self._handed.popleft()))
            task = asyncio.create_task(self._talk(way, bounds))
            self._talking.add(task)
            task.add_done_callback(self._talking.discard)

    async def gone(self) -> None:
        """End all conversations: the workers come again, and keep what they have."""
        for task in self._talking:
            task.cancel()
        await asyncio.gather(*self._talking, return_exceptions=True)

    async def _talk(self, way: Stream, bounds: Bounds) -> None:
        why = ""
        try:
            why = await self._engine.connections.converse(way, bounds=bounds)
        finally:
            self._engine.connections.ended(way, why)
            way.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
