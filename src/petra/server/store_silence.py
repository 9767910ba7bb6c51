"""A store that does not answer: who asks meanwhile is told to come again, instead of waiting for as long as that lasts.

Rule 1: it is silent when an engine that shares it could not renew its shards for as long as they were its own: then nothing that
anybody wants can be done here. An engine that is alone has its store beside it.
Rule 2: what was begun goes on, and is noted with what comes of it; only its answer is not waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from petra.clock import Clock
from petra.engine.shards import Shards

LOOK_S: Final = 1.0
SILENT: Final = "the store does not answer"
GiveUp = Callable[[], Awaitable[None]]
"""Tells somebody who waits for an answer that none comes."""


class StoreSilence:
    """Knows whether the store is silent, and who waits for an answer."""

    def __init__(self, shards: Shards, clock: Clock) -> None:
        self._shards = shards
        self._clock = clock
        self._waiting: set[GiveUp] = set()
        self._looking: asyncio.Task[None] | None = None

    @property
    def lasts(self) -> bool:
        """Whether it is silent now."""
        return not self._shards.sure

    def begin(self, give_up: GiveUp) -> None:
        """Somebody begins to wait for an answer."""
        if self._shards.epochs is None:
            return
        self._waiting.add(give_up)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())

    def end(self, give_up: GiveUp) -> None:
        """They have their answer."""
        self._waiting.discard(give_up)

    async def _look(self) -> None:
        while True:
            await self._clock.sleep(LOOK_S)
            for give_up in tuple(self._waiting) if self.lasts else ():
                self._waiting.discard(give_up)
                with suppress(Exception):  # whoever waited is gone
                    await give_up()

    async def close(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
