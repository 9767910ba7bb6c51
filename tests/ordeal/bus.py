"""A bus as bad as a bus may be: hints are lost, doubled, and overtake each other."""

from __future__ import annotations

import asyncio
from random import Random  # noqa: TID251 - seeded, and only in tests

from petra.store.bus import Bus, Heard


class RoughBus:
    """Passes hints on, or not, or twice, or some seconds late."""

    def __init__(self, inner: Bus, chance: Random) -> None:
        self._inner = inner
        self._chance = chance
        self._lost = chance.choice((0.0, 0.1, 0.5, 1.0))
        self.dropped = 0

    def tell(self, *hints: str) -> None:
        """Tell some of it."""
        for hint in hints:
            if self._chance.random() < self._lost:
                self.dropped += 1
                continue
            for _ in range(self._chance.choice((1, 1, 1, 2))):
                self._pass_on(hint)

    def _pass_on(self, hint: str) -> None:
        if self._chance.random() < 0.2:
            late_s = 20 * self._chance.random()
            asyncio.get_running_loop().call_later(late_s, self._inner.tell, hint)
        else:
            self._inner.tell(hint)

    async def hear(self, heard: Heard) -> None:
        """Hear what gets through."""
        await self._inner.hear(heard)
