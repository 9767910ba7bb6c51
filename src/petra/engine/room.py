"""Who has most room: the workers of each pool in a heap, so that one is found at once however many there are.

Rule 1: a worker is in the heap at most once that counts; what is there of it from before is skipped when it comes up.
Workers that know the same tools, of the same pool and for the same namespaces, are in the same heap.
Rule 2: a worker that gets nothing now (it drains, is silent, is full) leaves, and comes back when it offers room or speaks.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from petra.engine.workers import Queue, WorkerSeen


class _Place(NamedTuple):
    """Where a worker stands: those with more room first, then those who came first."""

    room: int
    came: int
    number: int
    worker: WorkerSeen


class _Like(NamedTuple):
    """What workers have in common that may do the same."""

    pool: str
    namespaces: frozenset[str] | None
    kinds: frozenset[str] | None

    def may_do(self, queue: Queue) -> bool:
        return (
            self.pool == queue.pool
            and (self.namespaces is None or queue.namespace in self.namespaces)
            and (self.kinds is None or queue.kinds <= self.kinds)
        )


def _like(worker: WorkerSeen) -> _Like:
    return _Like(worker.pool, worker.bounds.namespaces, worker.kinds)


class RoomOffered:
    """The workers that have room, by what they may do."""

    def __init__(self) -> None:
        self._heaps: dict[_Like, list[_Place]] = {}
        self._valid: dict[WorkerSeen, tuple[int, int]] = {}
        self._came: dict[WorkerSeen, int] = {}
        self._there: Counter[_Like] = Counter()
        self._numbers = 0

    def offers(self, worker: WorkerSeen) -> None:
        """A worker came, or has room, or is heard of again."""
        known = self._valid.get(worker)
        if known is not None and known[0] <= -worker.credit:
            return  # it stands where it did when it had as much, or more: that is put right when it comes up
        self._numbers += 1
        came = self._came.get(worker)
        if came is None:
            came = self._came[worker] = self._numbers
            self._there[_like(worker)] += 1
        if worker.credit <= 0:
            return
        self._valid[worker] = -worker.credit, self._numbers
        heap = self._heaps.setdefault(_like(worker), [])
        heapq.heappush(heap, _Place(-worker.credit, came, self._numbers, worker))

    def gone(self, worker: WorkerSeen) -> None:
        """A worker is there no more."""
        self._valid.pop(worker, None)
        if self._came.pop(worker, None) is None:
            return
        like = _like(worker)
        self._there[like] -= 1
        if not self._there[like]:  # whoever comes with ever other names leaves nothing behind
            del self._there[like]
            self._heaps.pop(like, None)

    def most(self, queue: Queue, ready: Callable[[WorkerSeen], bool]) -> WorkerSeen | None:
        """Return the worker with most room of those that may do what waits, and are ready."""
        tops = [
            top
            for like, heap in self._heaps.items()
            if like.may_do(queue) and (top := self._top(heap, ready)) is not None
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
