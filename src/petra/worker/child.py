"""A worker as a child process: ``python -m petra.worker`` with one end of a socketpair.

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

from petra.worker.stream import Stream


class Child:
    """The parent's handle on a worker process."""

    def __init__(self, process: asyncio.subprocess.Process, transport: Stream) -> None:
        self._process = process
        self.transport = transport

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def terminate(self) -> None:
        """Ask it to drain and leave."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once; its leases run out."""
        self._signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Return its exit code once it has ended."""
        return await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            # Not by asyncio's own method: that one takes the exit code away from whoever waits for it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)


async def start_child(
    arguments: Sequence[str] = (), *, environ: Mapping[str, str] | None = None
) -> Child:
    """Start a worker process; ``arguments`` are those of ``python -m petra.worker``, beside ``--fd``."""
    ours, theirs = socket.socketpair()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "petra.worker", "--fd", str(theirs.fileno()), *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env=dict(os.environ if environ is None else environ),
            start_new_session=True,  # ^C in a terminal is for the parent, which then drains its workers
        )  # fmt: skip
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return Child(process, Stream(ours))
