"""Wake-ups: which execution wants to be ticked, and when. The store keeps the same as rows."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator

from petra.clock import Clock

POLL_S = 1.0
"""No wait is longer, so that a clock that jumped is noticed."""


class Wakes:
    """The moments at which executions want to be ticked: one each, the earliest."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._woken = asyncio.Event()

    def set(self, execution: str, due: float | None) -> None:
        """Say when an execution wants to be ticked; None: not at all."""
        if due is None:
            self._due.pop(execution, None)
        elif self._due.get(execution) != due:
            self._due[execution] = due
            heapq.heappush(self._heap, (due, execution))
            if self._heap[0] == (due, execution):
                self._woken.set()

    async def due(self) -> AsyncIterator[str]:
        """Yield executions as their time comes, each once per time that was set."""
        while True:
            while self._heap and self._heap[0][0] <= self._clock.now():
                due, execution = heapq.heappop(self._heap)
                if self._due.get(execution) == due:
                    del self._due[execution]
                    yield execution
            await self._wait(self._heap[0][0] - self._clock.now() if self._heap else POLL_S)

    async def _wait(self, seconds: float) -> None:
        """Wait that long, or until an earlier time was set."""
        self._woken.clear()
        sleep = asyncio.ensure_future(self._clock.sleep(min(max(seconds, 0.0), POLL_S)))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait({sleep, woken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            woken.cancel()
