"""What nobody waits for is brought up to date beside what goes on: when somebody asks for it, in pieces, one at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from petra.store.errors import StoreError


class Upkeep:
    """Brings something up to date; what is killed half-way goes on from where it was."""

    def __init__(
        self, behind: Callable[[], Awaitable[bool]], some: Callable[[], Awaitable[bool]]
    ) -> None:
        """Make one: ``behind`` tells whether it is worth while, ``some`` does a piece and tells whether there may be more."""
        self._behind = behind
        self._some = some
        self._task: asyncio.Task[None] | None = None

    async def tend(self) -> None:
        """Begin, if it is behind."""
        if (self._task is None or self._task.done()) and await self._behind():
            self._task = asyncio.create_task(self._all())

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _all(self) -> None:
        with contextlib.suppress(StoreError):  # who asks next begins again
            while await self._some():
                pass
