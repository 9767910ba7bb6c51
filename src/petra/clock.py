"""The injected clock: shells ask it for the time and let it wait for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that will be called, unless cancelled."""

    def cancel(self) -> None:
        """Do not call it."""


class Clock(Protocol):
    """Tells the time and wakes those who wait."""

    def now(self) -> float:
        """Return the seconds since 1970; may jump."""

    def monotonic(self) -> float:
        """Return seconds that only grow, for intervals."""

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call a function on the running loop, that much later."""


async def doze(clock: Clock, seconds: float, woken: asyncio.Event) -> None:
    """Sleep that long, or until an event is set."""
    sleep = asyncio.ensure_future(clock.sleep(seconds))
    wait = asyncio.ensure_future(woken.wait())
    try:
        await asyncio.wait({sleep, wait}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        sleep.cancel()
        wait.cancel()


class SystemClock:
    """The clock of the machine."""

    monotonic = staticmethod(time.monotonic)  # asked several times for every step

    def now(self) -> float:
        """Return the seconds since 1970."""
        return time.time()  # noqa: TID251 - this is the one place that asks

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call a function on the running loop, that much later."""
        return asyncio.get_running_loop().call_later(seconds, call)
