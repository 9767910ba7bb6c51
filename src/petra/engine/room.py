"""Who has most room: the workers of each pool in a heap, so that one is found at once however many there are.

Rule 1: a worker is in the heap at most once that counts; what is there of it from before is skipped when it comes up.
Rule 2: a worker that gets nothing now (it drains, is silent, is full) leaves, and comes back when it offers room or speaks.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

from petra.engine.workers import Queue, WorkerSeen


class _Place(NamedTuple):
    """Where a worker stands: those with more room first, then those who came first."""

    room: int
    came: int
    number: int
    worker: WorkerSeen


_Like = tuple[str, frozenset[str] | None]


class RoomOffered:
    """The workers that have room, by pool and by the namespaces that they work for."""

    def __init__(self) -> None:
        self._heaps: dict[_Like, list[_Place]] = {}
        self._valid: dict[WorkerSeen, tuple[int, int]] = {}
        self._came: dict[WorkerSeen, int] = {}
        self._numbers = 0

    def offers(self, worker: WorkerSeen) -> None:
        """A worker came, or has room, or is heard of again."""
        self._numbers += 1
        came = self._came.setdefault(worker, self._numbers)
        known = self._valid.get(worker)
        if worker.credit <= 0 or (known is not None and known[0] == -worker.credit):
            return
        self._valid[worker] = -worker.credit, self._numbers
        heap = self._heaps.setdefault((worker.pool, worker.bounds.namespaces), [])
        heapq.heappush(heap, _Place(-worker.credit, came, self._numbers, worker))

    def gone(self, worker: WorkerSeen) -> None:
        """A worker is there no more."""
        self._valid.pop(worker, None)
        self._came.pop(worker, None)

    def most(self, queue: Queue, ready: Callable[[WorkerSeen], bool]) -> WorkerSeen | None:
        """Return the worker with most room of those that may do what waits, and are ready."""
        tops = [
            top
            for like, heap in self._heaps.items()
            if like[0] == queue.pool and (like[1] is None or queue.namespace in like[1])
            if (top := self._top(heap, ready)) is not None
        ]
        return min(tops, key=lambda place: place[:2]).worker if tops else None

    def _top(self, heap: list[_Place], ready: Callable[[WorkerSeen], bool]) -> _Place | None:
        while heap:
            top = heap[0]
            if self._valid.get(top.worker) != (top.room, top.number):
                heapq.heappop(heap)  # what it was before
            elif not ready(top.worker):
                heapq.heappop(heap)
                del self._valid[top.worker]
            elif top.worker.credit != -top.room:  # it was given something since
                heapq.heappop(heap)
                del self._valid[top.worker]
                self.offers(top.worker)
            else:
                return top
        return None
