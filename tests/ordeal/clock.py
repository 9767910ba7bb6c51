"""The clock of the engine's machine in an ordeal: virtual time, and jumps."""

from __future__ import annotations

import asyncio
from typing import Any

from ordeal.loop import VirtualLoop
from petra.clock import Timer

EPOCH = 1_767_225_600.0


class JumpingClock:
    """The clock of the engine's machine: virtual time, and jumps."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._highest = EPOCH
        self.ahead_s = 0.0

    def jump(self, seconds: float) -> None:
        """Show another time from now on."""
        self._highest = self.latest()
        self.ahead_s += seconds

    def latest(self) -> float:
        """Return the latest time that was ever shown, here or by the store, by which engines that share it go."""
        return max(self._highest, self.now(), EPOCH + self._loop.time())

    def now(self) -> float:
        """Return the seconds since 1970, as this machine believes."""
        return EPOCH + self._loop.time() + self.ahead_s

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, call: Any) -> Timer:
        """Call a function that much later."""
        return self._loop.call_later(seconds, call)
