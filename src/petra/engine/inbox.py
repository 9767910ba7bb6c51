"""The inbox: what waits to be decided.

Rule 1: whoever asks from outside waits for room. What the engine itself has to do next (timers, leases that
ran out, what was decided against an old state) is never held back and never refused: it is bounded by what it
stems from.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from petra.engine.limits import INBOX_MAX
from petra.engine.submissions import Submission


class Inbox:
    """A queue of submissions with one reader."""

    def __init__(self, most: int = INBOX_MAX) -> None:
        self._most = most
        self._waiting: deque[Submission] = deque()
        self._reader: asyncio.Future[None] | None = None
        """Where the reader waits for something, or waited last."""
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False

    def __iter__(self) -> Iterator[Submission]:
        yield from self._waiting

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, request: Submission) -> None:
        """Take a request at once, full or not."""
        if not self._waiting:  # else the reader knows
            self._wake()
        self._waiting.append(request)
        if len(self._waiting) >= self._most:
            self._room.clear()

    def push_back(self, requests: list[Submission]) -> None:
        """Take requests before all others, in their order: they had been taken from here before."""
        self._waiting.extendleft(reversed(requests))
        if requests:
            self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    @property
    def is_full(self) -> bool:
        """Whether those from outside have to wait; at the end, they do not."""
        return len(self._waiting) >= self._most and not self._ended

    async def room(self) -> None:
        """Wait until there is room."""
        while self.is_full:
            await self._room.wait()

    async def take(self, most: int) -> list[Submission]:
        """Wait for something, then return up to ``most`` requests, oldest first; nothing: it is the end."""
        while not self._waiting and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        waiting = self._waiting
        taken = [waiting.popleft() for _ in range(min(most, len(waiting)))]
        if len(waiting) < self._most:
            self._room.set()
        return taken

    def end(self) -> None:
        """Let the reader go once it has taken what waits."""
        self._ended = True
        self._wake()
        self._room.set()

    def drain(self) -> list[Submission]:
        """Return everything that waits; nobody will decide it."""
        taken = list(self._waiting)
        self._waiting.clear()
        self._room.set()
        return taken
