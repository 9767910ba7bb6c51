"""Bells: whoever waits for an execution is woken when something happened to it, and looks for itself what that was."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from petra.errors import PetraError

if TYPE_CHECKING:
    from petra.engine.feed import Feed


class Bell:
    """Rings when an execution changed, and says nothing else; one that is not curious, when it no longer runs."""

    def __init__(self, feed: Feed, execution: str, *, curious: bool) -> None:
        self._feed = feed
        self._execution = execution
        self._curious = curious
        self._rung = False
        self._ended: PetraError | None = None
        self._woken: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        self._feed.hang(self._execution, self)
        return self

    def __exit__(self, *_: object) -> None:
        self._feed.take_down(self._execution, self)

    def ring(self, status: str) -> None:
        """Ring, if whoever waits wants to know of such a change."""
        if status != "running" or self._curious:
            self._rung = True
            if self._woken is not None and not self._woken.done():
                self._woken.set_result(None)

    def end(self, why: PetraError) -> None:
        """Ring for the last time."""
        self._ended = self._ended or why
        self.ring("")

    async def heard(self) -> None:
        """Wait until it rings, or has rung since it was heard last.

        Raises:
            PetraError: it will not ring any more, and why.
        """
        while not self._rung:
            self._woken = asyncio.get_running_loop().create_future()
            await self._woken
        self._rung = False
        if self._ended is not None:
            raise self._ended
