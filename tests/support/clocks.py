"""A clock for tests: its time passes only when told to, and nothing really sleeps."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from typing import TypeVar

from petra.clock import Timer

T = TypeVar("T")

_SETTLE_ROUNDS = 25  # rounds of the loop in which everything that can happen now has happened


class _FakeTimer:
    """A call that is due at a moment of a fake clock."""

    __slots__ = ("call", "cancelled")

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call
        self.cancelled = False

    def cancel(self) -> None:
        """Do not call it."""
        self.cancelled = True


class FakeClock:
    """A clock for tests. Time stands still until ``advance`` or ``run`` moves it.

    It cannot see threads or sockets: a test that uses those needs the real clock.
    """

    def __init__(self, now: float = 1_767_225_600.0) -> None:
        self._start = self._now = now
        self._timers: list[tuple[float, int, _FakeTimer]] = []
        self._made = 0

    def now(self) -> float:
        """Return the seconds since 1970."""
        return self._now

    def monotonic(self) -> float:
        """Return the seconds since the clock was made."""
        return self._now - self._start

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        timer = self.call_later(seconds, lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            timer.cancel()

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call a function once the clock has been moved that far."""
        timer = _FakeTimer(call)
        self._made += 1
        heapq.heappush(self._timers, (self._now + seconds, self._made, timer))
        return timer

    async def advance(self, seconds: float) -> None:
        """Let time pass; whoever is due on the way is woken in order."""
        end = self._now + seconds
        await settle()
        while (due := self._next_due()) is not None and due <= end:
            self._fire(due)
            await settle()
        self._now = end

    async def run(self, awaitable: Awaitable[T]) -> T:
        """Return what an awaitable comes to, moving the clock whenever only time can help.

        Raises:
            RuntimeError: nobody waits for time, and it still does not end.
        """
        task = asyncio.ensure_future(awaitable)
        while not task.done():
            await settle()
            if task.done():
                break
            due = self._next_due()
            if due is None:
                task.cancel()
                raise RuntimeError("it waits for something that no clock can bring")
            self._fire(due)
        return await task

    def _next_due(self) -> float | None:
        while self._timers and self._timers[0][2].cancelled:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _fire(self, due: float) -> None:
        _, _, timer = heapq.heappop(self._timers)
        self._now = max(self._now, due)
        timer.call()


async def settle() -> None:
    """Let everything happen that needs no time."""
    for _ in range(_SETTLE_ROUNDS):
        await asyncio.sleep(0)
