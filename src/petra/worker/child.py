"""A worker as a child process: with one end of a socketpair, under a warden that lets nothing of it live on.

User code then runs outside the server, and the death of either is seen by the other at once: the socket closes. Workers
are forked of one process that has loaded what they need (``petra.worker.stem``): the first one costs the start of a
program, each further one some milliseconds, also on a machine that has much else to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from asyncio import Future, Task
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from subprocess import Popen
from typing import Final

from petra import early_stem
from petra.errors import PetraError
from petra.worker.stream import Stream
from petra.worker.warden import SAID_MAX

LOAD_S: Final = 120.0
"""Seconds in which a worker process must have begun."""
SAY_S: Final = 1.0
"""Seconds in which it is known why none has."""


class NotStartedError(PetraError):
    """A worker process could not be started; the message says why."""


class Child:
    """The parent's handle on a worker process; ``pid`` is the worker's, not the warden's."""

    def __init__(
        self,
        transport: Stream,
        leash: socket.socket,
        pids: tuple[int, int],
        ended: Future[int | None],
    ) -> None:
        self._leash = leash
        self._warden, self.pid = pids
        self._ended = ended
        self.transport = transport

    def terminate(self) -> None:
        """Ask it to drain and leave."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, with everything it has started; its leases run out."""
        with contextlib.suppress(OSError):
            self._leash.shutdown(socket.SHUT_WR)

    async def wait(self) -> int:
        """Return its exit code once it has ended, and everything below it."""
        code = await asyncio.shield(self._ended)
        if code is None:  # whoever could say it is gone, and the warden ends for that
            while await asyncio.get_running_loop().sock_recv(self._leash, SAID_MAX):
                pass
            return -signal.SIGKILL
        return code

    def destroy(self) -> None:
        """Kill the warden, should it be stopped; its worker dies with it."""
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Close the connection, which ends what is still there."""
        self.transport.close()
        self._leash.close()

    def last_words(self) -> str:
        """Return what a worker that could not start has said about that."""
        try:
            return self._leash.recv(SAID_MAX, socket.MSG_DONTWAIT).decode("utf-8", "replace")
        except OSError:
            return ""

    def _signal(self, number: signal.Signals) -> None:
        if not self._ended.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._warden, number)


class Stem:
    """Starts worker processes: the process that they are forked of is started with the first of them, and again when it is gone."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = environ
        self._control: socket.socket | None = None
        self._hearing: Task[None] | None = None
        self._failed = ""
        self._number = 0
        self._ended: dict[int, Future[int | None]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def fork(self, arguments: Sequence[str] = ()) -> Child:
        """Start a worker process; ``arguments`` are those of ``python -m petra.worker``, beside ``--fd``.

        Raises:
            NotStartedError: it cannot be started.
        """
        ours, theirs = socket.socketpair()
        leash, held = socket.socketpair()
        try:
            async with self._one_at_a_time:
                control = self._grown()
                self._number += 1
                number, ended = self._number, asyncio.get_running_loop().create_future()
                self._ended[number] = ended
                asked = json.dumps({"number": number, "arguments": list(arguments)}) + "\n"
                with contextlib.suppress(OSError):  # it is gone: the leash says so
                    socket.send_fds(control, [asked.encode()], [theirs.fileno(), held.fileno()])
            theirs.close()
            held.close()
            pids = await self._read_pids(leash)
        except BaseException:
            for end in (leash, ours, theirs, held):
                end.close()  # a warden that has begun ends
            raise
        return Child(Stream(ours), leash, pids, ended)

    async def close(self) -> None:
        """End the process that workers are forked of, and all that are left."""
        if self._control is not None:
            with contextlib.suppress(OSError):  # it is gone already
                self._control.shutdown(socket.SHUT_RDWR)
        if self._hearing is not None:
            await self._hearing

    def _grown(self) -> socket.socket:
        """Return the socket of the process that workers are forked of, which is there from now on."""
        if self._control is not None:
            return self._control
        self._failed = ""
        stem = early_stem.take() if self._environ is None else None
        try:
            process, ours = stem or early_stem.started(self._environ)
        except OSError as error:
            raise NotStartedError(
                f"{sys.executable} cannot be started: {error.strerror}"
            ) from error
        ours.setblocking(False)  # noqa: FBT003 - so it is called
        self._control = ours
        self._hearing = asyncio.create_task(self._hear(ours, process))
        return ours

    async def _hear(self, control: socket.socket, process: Popen[bytes]) -> None:
        """Hear which workers have ended, until nobody can say that any more."""
        try:
            await self._ends(control)
        finally:  # also when everything is cancelled at once: whoever waits for a worker asks its leash then
            self._control = None
            control.close()
            for ended in self._ended.values():
                ended.set_result(None)
            self._ended.clear()
            await asyncio.to_thread(process.wait)

    async def _ends(self, control: socket.socket) -> None:
        loop, text = asyncio.get_running_loop(), b""
        with contextlib.suppress(OSError):
            while piece := await loop.sock_recv(control, 65_536):
                *lines, text = (text + piece).split(b"\n")
                for said in map(json.loads, lines):
                    self._failed = said.get("failed", "")
                    ended = self._ended.pop(said.get("ended", 0), None)
                    if ended is not None:
                        ended.set_result(os.waitstatus_to_exitcode(said["status"]))

    async def _read_pids(self, leash: socket.socket) -> tuple[int, int]:
        """Read from the leash which processes warden and worker are."""
        leash.setblocking(False)  # noqa: FBT003 - so it is called
        line = b""
        try:
            async with asyncio.timeout(LOAD_S):
                while not line.endswith(b"\n"):
                    piece = await asyncio.get_running_loop().sock_recv(leash, 1)
                    if not piece:
                        await asyncio.wait({*filter(None, [self._hearing])}, timeout=SAY_S)
                        why = f": {self._failed}" if self._failed else ""
                        raise NotStartedError(f"a worker process ended before it had begun{why}")
                    line += piece
        except TimeoutError:
            raise NotStartedError(f"a worker process did not begin within {LOAD_S:g} s") from None
        warden, worker = map(int, line.split())
        return warden, worker


@asynccontextmanager
async def grown(environ: Mapping[str, str] | None = None) -> AsyncIterator[Stem]:
    """Give what starts worker processes; at the end there is none of them."""
    stem = Stem(environ)
    try:
        yield stem
    finally:
        await stem.close()
