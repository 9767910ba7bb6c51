"""A worker as a child process: with one end of a socketpair, under a warden that lets nothing of it live on.

User code then runs outside the server, and the death of either is seen by the other at once: the socket closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

from petra.errors import PetraError
from petra.worker.stream import Stream
from petra.worker.warden import SAID_MAX


class NotStartedError(PetraError):
    """A worker process could not be started; the message says why."""


class Child:
    """The parent's handle on a worker process; ``pid`` is the worker's, not the warden's."""

    def __init__(
        self, process: asyncio.subprocess.Process, transport: Stream, leash: socket.socket, pid: int
    ) -> None:
        self._process = process
        self._leash = leash
        self.transport = transport
        self.pid = pid

    def terminate(self) -> None:
        """Ask it to drain and leave."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, with everything it has started; its leases run out."""
        with contextlib.suppress(OSError):
            self._leash.shutdown(socket.SHUT_RDWR)

    async def wait(self) -> int:
        """Return its exit code once it has ended, and everything below it."""
        return await self._process.wait()

    def destroy(self) -> None:
        """Kill the warden, should it be stopped; its worker dies with it."""
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Close the connection, which ends what is still there."""
        self.transport.close()
        self._leash.close()

    def processor_s(self) -> float:
        """Return how long it has used a processor, in seconds; 0 where nobody knows."""
        try:
            with open(f"/proc/{self.pid}/stat") as file:  # noqa: PTH123 - read often
                user, system = file.read().rpartition(")")[2].split()[11:13]
        except (OSError, ValueError):
            return 0.0
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def said(self) -> str:
        """Return what a worker that could not start has said about that."""
        try:
            return self._leash.recv(SAID_MAX, socket.MSG_DONTWAIT).decode("utf-8", "replace")
        except OSError:
            return ""

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            # Not by asyncio's own method: that one takes the exit code away from whoever waits for it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)


async def start_child(
    arguments: Sequence[str] = (), *, environ: Mapping[str, str] | None = None
) -> Child:
    """Start a worker process; ``arguments`` are those of ``python -m petra.worker``, beside ``--fd``.

    Raises:
        NotStartedError: it cannot be started.
    """
    ours, theirs = socket.socketpair()
    leash, held = socket.socketpair()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "petra.worker.warden", "--leash", str(held.fileno()),
            "--parent", str(os.getpid()), "--fd", str(theirs.fileno()), *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), held.fileno()),
            env=dict(os.environ if environ is None else environ),
            start_new_session=True,  # ^C in a terminal is for the parent, which then drains its workers
        )  # fmt: skip
    except OSError as error:
        ours.close()
        leash.close()
        raise NotStartedError(f"{sys.executable} cannot be started: {error.strerror}") from error
    except BaseException:
        ours.close()
        leash.close()
        raise
    finally:
        theirs.close()
        held.close()
    try:
        pid = await _told(leash)
    except BaseException:
        leash.close()  # the warden ends what it has begun
        ours.close()
        await asyncio.shield(asyncio.ensure_future(process.wait()))
        raise
    return Child(process, Stream(ours), leash, pid)


async def _told(leash: socket.socket) -> int:
    """Read from the leash which process the worker is."""
    leash.setblocking(False)  # noqa: FBT003 - so it is called
    line = b""
    while not line.endswith(b"\n"):
        piece = await asyncio.get_running_loop().sock_recv(leash, 1)
        if not piece:
            raise NotStartedError("a worker process ended before it had begun")
        line += piece
    return int(line)
