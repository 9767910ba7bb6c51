"""Offers: assignments that wait for a worker of their pool.

Rule 1: memory holds so many for each pool; what is beyond that is a row of the store, and is read when there is room.
Rule 2: an offer that nobody wants any more is marked, and left out when its turn comes.
Rule 3: what is of another pool or namespace, or needs other kinds of tools, waits apart: no worker is held up by what it may not do.
Rule 4: a run that was lost with its worker is for a worker that has nothing else, where the pool has such.
Rule 5: whoever waits longest goes out first, of all namespaces that a worker serves; a step of priority is worth an hour of
waiting, as at limits (S15). Of rows that had no room nobody knows the priority: they come behind those that had.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Collection

from petra.engine.backlog import Backlog
from petra.engine.leases import Leases
from petra.engine.limits import OFFERS_MAX, SUSPECTS_MAX
from petra.engine.workers import ALONE, NO_KINDS, Queue, Queued, mark, remember
from petra.kernel import Program
from petra.store.errors import UnavailableError
from petra.store.rows import PendingRow, shard_of
from petra.wire import Assignment


def _rank(offer: Queued) -> float:
    return offer.rank


class Offers:
    """What is up for the workers of each pool."""

    def __init__(self, leases: Leases, backlog: Backlog) -> None:
        self._leases = leases
        self._backlog = backlog
        self.waiting: dict[Queue, deque[Queued]] = {}
        self._queues: dict[tuple[str, str, str], Queue] = {}
        self.more: set[Queue] = set()
        """Where there are rows that had no room."""
        self.alone: set[str] = set()
        """Pools that have workers for one run at a time."""
        self._by_run: dict[tuple[str, str], list[Queued]] = {}
        self._losing: OrderedDict[str, None] = OrderedDict()
        """Deliveries that were lost; what is decided about them may not be durable yet."""
        self._suspects: OrderedDict[tuple[str, str], None] = OrderedDict()

    # Asking

    def waits(
        self, pool: str, namespace: str | None = None, kinds: frozenset[str] | None = None
    ) -> int:
        """Return how many assignments wait for a worker of a pool: of all namespaces and kinds, or of these."""
        return sum(
            len(waiting)
            for queue, waiting in self.waiting.items()
            if queue.pool == pool
            and namespace in (None, queue.namespace)
            and kinds in (None, queue.kinds)
        )

    def waits_in(self, execution: str, run: str) -> Queue | None:
        """Return where a run waits for a worker, if it does."""
        offers = self._by_run.get((execution, run))
        return self._queue_of(offers[0].row) if offers else None

    def _queue_of(self, row: PendingRow) -> Queue:
        pool = self._pool_of(row) if self._suspects else row.pending.pool
        key = (pool, row.namespace, kinds := row.pending.kinds)
        if (known := self._queues.get(key)) is None:
            needs = frozenset(kinds.split("\n")) if kinds else NO_KINDS
            known = self._queues[key] = Queue(pool, row.namespace, needs)
        return known

    def _pool_of(self, row: PendingRow) -> str:
        """Return the pool that serves a run: one that may have killed a worker is for those who do nothing else."""
        pool = row.pending.pool
        if pool in self.alone:
            return pool + ALONE if (row.execution, row.pending.run) in self._suspects else pool
        return pool

    # Putting up and taking away

    def add(
        self,
        row: PendingRow,
        assignment: Assignment | None = None,
        program: Program | None = None,
        rank: float | None = None,
    ) -> None:
        """Put an assignment up for the workers of its pool, at its rank; without ``assignment`` it is made when it goes out."""
        queue = self._queue_of(row)
        waiting = self.waiting.get(queue)
        if waiting is None:
            waiting = self.waiting[queue] = deque()
        last = waiting[-1].rank if waiting else -math.inf
        offer = Queued(row, assignment, program, last if rank is None else rank)
        if len(waiting) >= OFFERS_MAX:
            self.more.add(queue)  # what has no room is a row, and will be found there
            if offer.rank >= last:
                return
            self.let_go(waiting.pop())
        if offer.rank >= last:
            waiting.append(offer)  # which most do
        else:
            waiting.insert(bisect_right(waiting, offer.rank, key=_rank), offer)
        key = (row.execution, row.pending.run)
        if (beside := self._by_run.get(key)) is None:
            self._by_run[key] = [offer]
        else:
            beside.append(offer)

    def by_rank(self) -> list[tuple[Queue, deque[Queued]]]:
        """Return the queues: rows that had no room first, then by who has waited longest at the head of each."""
        queues = list(self.waiting.items())
        if len(queues) > 1:
            queues.sort(key=lambda queue: queue[1][0].rank if queue[1] else -math.inf)
        return queues

    async def refill(self, queue: Queue, waiting: deque[Queued]) -> None:
        """Take up rows that there was no room for, if half of what waited is gone.

        Whoever looks meanwhile sees what there is so far.
        """
        if len(waiting) >= OFFERS_MAX // 2:
            return
        self.more.discard(queue)
        after = ("", "", "")
        try:
            while len(waiting) < OFFERS_MAX and (page := await self._backlog.behind(after)):
                for row in page:
                    if self._queue_of(row) == queue and self._is_left(row):
                        self.add(row)  # beyond the room there is, it is left for another time
                after = (page[-1].execution, page[-1].pending.run, page[-1].pending.chunk)
            if page:
                self.more.add(queue)
        except UnavailableError:
            self.more.add(queue)

    def _is_left(self, row: PendingRow) -> bool:
        """Tell whether a row is neither with a worker nor up for one, nor was just lost."""
        offers = self._by_run.get((row.execution, row.pending.run), ())
        up = any(offer.row.pending.is_same(row.pending) and not offer.gone for offer in offers)
        return not up and not self._leases.is_out(row) and mark(row) not in self._losing

    def let_go(self, offer: Queued) -> None:
        """An offer has left its queue."""
        key = (offer.row.execution, offer.row.pending.run)
        beside = self._by_run[key]
        if len(beside) == 1:
            del self._by_run[key]
        else:
            beside.remove(offer)

    def withdraw(self, execution: str, run: str) -> None:
        """Nobody wants a run any more."""
        for offer in self._by_run.get((execution, run), ()):
            offer.gone = True

    def done(self, row: PendingRow) -> None:
        """The work is done: so is the same delivery, if it was found again among the rows."""
        for offer in self._by_run.get((row.execution, row.pending.run), ()):
            offer.gone = offer.gone or offer.row.pending.is_same(row.pending)

    def forget(self, shards: Collection[int]) -> None:
        """Withdraw what another engine hands out now; it may be done when a shard comes back."""
        for (execution, _), offers in self._by_run.items():
            if shard_of(execution) in shards:
                for offer in offers:
                    offer.gone = True

    # Losing

    def lost(self, row: PendingRow) -> None:
        """A delivery was lost: it is not to be found again among the rows before the kernel has decided about it."""
        remember(self._losing, mark(row))

    def suspect(self, row: PendingRow) -> None:
        """Note that a run was lost with its worker, which may be its doing."""
        self._suspects[row.execution, row.pending.run] = None
        while len(self._suspects) > SUSPECTS_MAX:
            self._suspects.popitem(last=False)
