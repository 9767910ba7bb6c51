"""Wake-ups: which execution wants to be ticked, and when.

Rule 1: the store has a row for each. Memory holds those of the near future only, so that a million
executions may wait.
Rule 2: those that are due come in batches, and the next batch after the one before is committed: however many
are due at once, each is ticked once, in bounded memory.
Rule 3: one whose tick came to nothing (it cannot be read, say) is not ticked again at once.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator

from petra.clock import Clock, doze
from petra.engine.limits import AGAIN_S, DUE_MAX, NEAR_S, POLL_S
from petra.engine.meters import Histogram
from petra.engine.scope import Scope
from petra.engine.shards import Shards
from petra.store.base import READ_LIMIT, Store
from petra.store.rows import WakeUp


class Wakes:
    """The moments at which executions want to be ticked: one each, the earliest."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        shards: Shards,
        scope: Scope | None = None,
    ) -> None:
        self._scope = scope or Scope()
        self._store = store
        self._clock = clock
        self._shards = shards
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._woken = asyncio.Event()
        self._looked = float("-inf")
        self._ticked: dict[str, float] = {}
        self._forget_at = float("-inf")
        self.lag_s = Histogram()
        """How much later than they wanted executions were ticked."""

    def __len__(self) -> int:
        return len(self._due)

    def set(self, execution: str, due: float | None) -> None:
        """Say when an execution wants to be ticked; None: not at all. What is far away is a row only."""
        if self._ticked:
            self._ticked.pop(execution, None)
        if due is None or due > self._clock.now() + NEAR_S:
            if self._due:
                self._due.pop(execution, None)
        elif self._due.get(execution) != due:
            self._due[execution] = due
            heapq.heappush(self._heap, (due, execution))
            if self._heap[0] == (due, execution):
                self._woken.set()

    async def due(self) -> AsyncIterator[list[str]]:
        """Yield batches of executions as their time comes."""
        while True:
            batch = self._pop()
            if batch:
                yield batch
            elif self._clock.monotonic() - self._looked >= POLL_S:
                await self._look()
            else:
                await self._wait()

    def look_again(self) -> None:
        """Look into the store at once: there are more executions to care for."""
        self._ticked.clear()
        self._looked = float("-inf")
        self._woken.set()

    def _pop(self) -> list[str]:
        woken: list[str] = []
        now = self._clock.now()
        while self._heap and self._heap[0][0] <= now and len(woken) < DUE_MAX:
            due, execution = heapq.heappop(self._heap)
            if self._due.get(execution) == due:
                del self._due[execution]
                woken.append(execution)
                self.lag_s.observe(max(0.0, now - due))
                self._ticked[execution] = due
        return woken

    async def _look(self) -> None:
        """Fetch the near future; a full page means that there is more, once this one has been ticked."""
        now, until = self._clock.monotonic(), self._clock.now() + NEAR_S
        rows = await self._due_rows(until)
        if now >= self._forget_at:
            self._ticked.clear()
            self._forget_at = now + AGAIN_S
        new = [row for row in rows if self._ticked.get(row.execution) != row.due]
        for row in new:
            self.set(row.execution, row.due)
        full = len(rows) == DUE_MAX and rows[-1].due <= self._clock.now()
        self._looked = float("-inf") if full and new else now

    async def _due_rows(self, until: float) -> list[WakeUp]:
        if self._scope.is_whole:
            return await self._store.due(until, shards=self._shards.mine(), limit=DUE_MAX)
        # those that are left alone stay due, and must not hide ours
        rows = await self._store.due(until, shards=self._shards.mine(), limit=READ_LIMIT)
        return [row for row in rows if self._scope.holds(row.execution)][:DUE_MAX]

    async def _wait(self) -> None:
        """Wait for the next time, the next look, or an earlier time that is set meanwhile."""
        seconds = POLL_S - (self._clock.monotonic() - self._looked)
        if self._heap:
            seconds = min(seconds, self._heap[0][0] - self._clock.now())
        self._woken.clear()
        await doze(self._clock, max(seconds, 0.0), self._woken)
