"""Worker processes that an engine keeps: how they are started, and what their keeper knows of each."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import Task
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from signal import Signals
from typing import Final

from petra import __version__
from petra.embedded.pulse import Pulse
from petra.worker.child import Child, NotStartedError, grown

Start = Callable[..., Coroutine[None, None, Child]]
"""Starts a worker process; what it is given are further arguments."""
END_S: Final = 5.0
"""Seconds that a warden gets to end a worker with everything below it."""
PATIENT: Final = ("--drain-s", "86400")
"""What a worker is started with: one that another stands in for finishes what it has, however long that takes."""


@asynccontextmanager
async def starter(*arguments: str) -> AsyncIterator[Start]:
    """Give what starts worker processes with these arguments; at the end there is none of them."""
    async with grown() as stem:

        async def start(*more: str) -> Child:
            return await stem.fork([*PATIENT, "--version", __version__, *arguments, *more])

        yield start


@asynccontextmanager
async def begun(start: Start) -> AsyncIterator[Task[Child]]:
    """Have a first worker started, which loads while we do; at the end it is gone, whoever used it."""
    first = asyncio.create_task(start())
    try:
        yield first
    finally:
        with contextlib.suppress(NotStartedError):  # there is none; who waited for it knows
            await end(await first)


async def end(child: Child) -> int:
    """End a worker with everything it has started; return its exit code once all of that is gone.

    A cancellation meanwhile is told on, once there is nothing left behind.
    """
    child.kill()
    gone = asyncio.ensure_future(child.wait())
    cancelled = False
    while not gone.done():
        try:
            _, waiting = await asyncio.wait({gone}, timeout=END_S)
        except asyncio.CancelledError:
            cancelled = True
            continue
        if waiting:
            child.destroy()
    child.close()
    if cancelled:
        raise asyncio.CancelledError
    return gone.result()


def how_ended(code: int) -> str:
    """Say how a process ended."""
    if code < 0:
        return f"was killed by {Signals(-code).name}"
    return f"ended with exit code {code}"


class Hand:
    """A worker process as its keeper sees it."""

    def __init__(self, child: Child, now: float, *, cell: bool = False) -> None:
        self.child = child
        self.cell = cell
        self.used = now
        """When a cell was needed last."""
        self.faint: Pulse | None = None
        """What its threads looked like when it had not beaten for a while."""
        self.stalled: tuple[float, Pulse] | None = None
        """When its loop was first heard not to move, and what its threads looked like then."""
        self.began = now
        self.heard = now
        self.greeted = False
        self.leaves = ""
        """Why another one stands in for it, if one does."""
        self.killed = ""
        self.left = False
        """It has said goodbye."""
        self.spent = asyncio.Event()
        """Set when another one has to stand in for it."""

    def leave(self, why: str) -> None:
        """Let another worker stand in for this one."""
        if not self.leaves:
            self.leaves = why
            self.spent.set()

    def kill(self, why: str) -> None:
        """End it at once."""
        self.killed = self.killed or why
        self.leave(why)
        self.child.kill()
