"""How many executions there are, for streams: many readers of one filter share one count, and counting takes little of the time.

Counts over a million rows take a while; who is told of them as they change must not keep the store busy with it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec

from petra.clock import Clock
from petra.server.parameters import LOOKED_AT_MAX
from petra.store.base import Store
from petra.store.rows import ExecutionFilter

PAUSE_S: Final = 1.0
"""So long counts are not made anew, at least."""
SHARE: Final = 20
"""Counting takes at most one part in so many of the time."""
KEPT_MAX: Final = 100


class SharedCounts:
    """Counts of executions by status, each made for all who want it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._kept: dict[bytes, tuple[float, asyncio.Future[dict[str, Any]]]] = {}
        self.pause_s = PAUSE_S

    async def of(self, wanted: ExecutionFilter) -> dict[str, Any]:
        """Return the counts that a filter finds; those of a moment ago, where they were asked for then."""
        key, now = msgspec.json.encode(wanted), self._clock.monotonic()
        kept = self._kept.get(key)
        if kept is None or now - kept[0] >= self.pause_s or _failed(kept[1]):
            if len(self._kept) >= KEPT_MAX:
                self._kept.clear()
            kept = self._kept[key] = now, asyncio.ensure_future(self._count(wanted))
        return await asyncio.shield(kept[1])  # others may wait for it too

    async def _count(self, wanted: ExecutionFilter) -> dict[str, Any]:
        begun = self._clock.monotonic()
        counted = await self._store.count_executions(wanted, "status", look_at=LOOKED_AT_MAX)
        self.pause_s = max(PAUSE_S, SHARE * (self._clock.monotonic() - begun))
        counts = {row.key: row.count for row in counted.rows}
        more = {"next": counted.cursor} if counted.cursor is not None else {}
        return {"by": "status", "total": sum(counts.values()), "counts": counts, **more}


def _failed(future: asyncio.Future[dict[str, Any]]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
