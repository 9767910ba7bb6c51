"""The further engines of ``petra serve --engines N``: processes that a server keeps beside itself, each with its share of the work.

Rule 1: one that ends is started again, each time later if it did not last. Meanwhile the others take its share over, as of any
engine that dies.
Rule 2: none outlives the server: they end in order with it, and are killed with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from petra.clock import Clock, doze
from petra.embedded import Home
from petra.embedded.folder import Folder
from petra.embedded.hands import how_ended
from petra.engine.limits import CLOSE_S
from petra.engine.workers import Bounds
from petra.errors import UsageError
from petra.worker.stream import Stream

AGAIN_S: Final = 0.2
AGAIN_MOST_S: Final = 15.0
"""Seconds after which one that ended is started again: at first, and at most when it did not last time after time."""
ASKED_AGAIN_S: Final = 0.1
"""Seconds after which one that has not read what it was asked is asked again."""
LASTING_S: Final = 10.0
"""One that lived so long was started well."""
GONE_S: Final = 2 * CLOSE_S
"""Seconds that they get, when their workers are done, to end in order before they are killed."""

_log = logging.getLogger("petra.engines")


def refuse_alone(home: Path, engines: int) -> None:
    """Let nobody have several engines on what one alone can hold.

    Raises:
        UsageError: the executions are in a file of the folder.
    """
    if engines > 1 and not Folder(home).shared:
        raise UsageError(
            f"{engines} engines share a PostgreSQL database, and the executions of {home} are in one file, which one engine "
            "holds; add --store postgresql://user@host/database, or leave --engines out"
        )


class FurtherEngines:
    """Keeps processes running."""

    def __init__(self, count: int, home: Path, how: Mapping[str, Any], finish_s: float) -> None:
        self._count = count
        self._gone_s = finish_s + GONE_S
        self._arguments = (
            "--home", str(home), "--slots", str(how["slots"]), "--workers", str(how["workers"]), "--lease", str(how["lease_s"]),
            "--finish", str(finish_s),
        ) if count else ()  # fmt: skip
        self._ending = asyncio.Event()
        self._keeping: list[asyncio.Task[None]] = []
        self._running: dict[Process, socket.socket] = {}
        self._named: dict[str, socket.socket] = {}
        """Those that are there, by the names of their engines."""
        self._came = asyncio.Event()
        self._again: asyncio.TimerHandle | None = None

    def begin(self, local: Home) -> None:
        """Have them started beside the engine that is here; what begins here is then anybody's."""
        if self._count:
            local.desk.begins_here = lambda _: True
        for number in range(self._count):
            task = asyncio.create_task(self._keep(number + 2, local.clock))
            task.add_done_callback(lambda done: _broke(local, done))
            self._keeping.append(task)

    def end_soon(self) -> None:
        """Tell all of them to end in order."""
        self._ending.set()
        for control in self._running.values():
            with suppress(OSError):
                control.shutdown(socket.SHUT_RDWR)

    def hurry(self) -> None:
        """Have them wait for no run any more."""
        for process in self._running:
            with suppress(ProcessLookupError):
                process.terminate()

    async def gone(self) -> None:
        """Wait until none is there any more; who takes too long is killed."""
        self.end_soon()
        if self._keeping:
            await asyncio.wait(self._keeping, timeout=self._gone_s)
        for process in self._running:
            with suppress(ProcessLookupError):
                process.kill()
        await asyncio.gather(*self._keeping, return_exceptions=True)

    # The workers that they share with the engine here

    def ways(self, bounds: Bounds, known: Collection[str]) -> dict[str, Stream]:
        """Make a connection for a worker elsewhere to each engine that is there and not known to it, by its name."""
        ways: dict[str, Stream] = {}
        asked = msgspec.json.encode(bounds) + b"\n"
        for name in self._named.keys() - known:
            control = self._named[name]
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    socket.send_fds(control, [asked], [theirs.fileno()])
                except ConnectionError:  # it ends, and whoever comes after it is another
                    ours.close()
                except OSError:  # very many came at once, and it has not read of them all
                    ours.close()
                    self._ask_again()
                else:
                    ways[name] = Stream(ours)
        return ways

    def coming(self) -> asyncio.Event:
        """Return what is set when the next engine has come."""
        return self._came

    async def _hear(self, control: socket.socket) -> None:
        """Hear how an engine is called that is there now; workers come to it from then on."""
        text, loop = b"", asyncio.get_running_loop()
        while not text.endswith(b"\n"):
            piece = await loop.sock_recv(control, 4096)
            if not piece:
                return
            text += piece
        self._named[text.decode().strip()] = control
        self._tell_of_it()

    def _tell_of_it(self) -> None:
        """Have those look again who wait for the next engine."""
        came, self._came = self._came, asyncio.Event()
        came.set()

    def _ask_again(self) -> None:
        if self._again is None:
            self._again = asyncio.get_running_loop().call_later(ASKED_AGAIN_S, self._asked_again)

    def _asked_again(self) -> None:
        self._again = None
        self._tell_of_it()

    # Keeping them

    async def _keep(self, number: int, clock: Clock) -> None:
        """See to it that there is one, until the end."""
        failures = 0
        while not self._ending.is_set():
            began = clock.monotonic()
            try:
                how = how_ended(await self._run(number))
            except OSError as error:
                how = f"cannot be started: {error.strerror or error}"
            if self._ending.is_set():
                return
            failures = 0 if clock.monotonic() - began >= LASTING_S else failures + 1
            _log.warning("engine %d %s; it is started again", number, how)
            await doze(clock, min(AGAIN_MOST_S, AGAIN_S * 2**failures), self._ending)

    async def _run(self, number: int) -> int:
        """Run one to its end; return its exit code."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "petra.cli.further_engine", "--control", str(theirs.fileno()),
                    "--parent", str(os.getpid()), *self._arguments,
                    stdin=DEVNULL, pass_fds=(theirs.fileno(),), start_new_session=True,
                )  # fmt: skip
            self._running[process] = ours
            if self._ending.is_set():
                ours.shutdown(socket.SHUT_RDWR)
            _log.info("engine %d is process %d", number, process.pid)
            ours.setblocking(False)  # noqa: FBT003 - so it is called
            hearing = asyncio.create_task(self._hear(ours))
            try:
                return await process.wait()
            finally:
                del self._running[process]
                self._named = {
                    name: engine for name, engine in self._named.items() if engine is not ours
                }
                hearing.cancel()
                await asyncio.gather(hearing, return_exceptions=True)


def _broke(local: Home, task: asyncio.Task[None]) -> None:
    """Have the server stop with the reason if nobody keeps them any more."""
    if not task.cancelled() and (error := task.exception()) is not None:
        local.engine.life.broke(error)


@asynccontextmanager
async def further_engines(
    engines: int, home: Path, how: Mapping[str, Any], finish_s: float
) -> AsyncIterator[FurtherEngines]:
    """Give what keeps all engines but the first; at the end there is none of them.

    Raises:
        UsageError: they cannot share what the executions are kept in.
    """
    refuse_alone(home, engines)
    further = FurtherEngines(engines - 1, home, how, finish_s)
    try:
        yield further
    finally:
        await further.gone()
