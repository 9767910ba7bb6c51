"""Coming back: what was out with workers when an engine left, or died.

Rule 1: there is no replay of everything. Rows say which runs were out; an execution is read when one of its
runs is handed out again, a few at a time, so that the first goes out at once however many there are.
Rule 2: what was left in order is handed out as it is. Of an engine that died every delivery is lost that its own workers
may have had, and the kernel decides about the next one. A run of another pool that has no lease was with nobody: it is
handed out again, and nothing of it was lost.
Rule 3: what a worker elsewhere has lives on without the engine that gave it: it is adopted, and lost only when nothing is heard
of its worker for as long as a lease lasts.
Rule 4: rows are read before the engine acts for their executions, so that none of them is its own; those that were lost wait
packed, as there may be very many.
Timers come back by their wake-up rows, children and commands by letters: none of them needs anything here.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Collection, Sequence

from petra.engine.backlog import Backlog
from petra.engine.custody import Custody
from petra.engine.decider import Decider
from petra.engine.limits import OFFERS_MAX, RECOVER_MAX
from petra.engine.scope import Scope
from petra.engine.submissions import of_lost_delivery, of_taken_back
from petra.engine.workers import OWN_POOL
from petra.store.base import Store
from petra.store.rows import PendingRow


class Recovery:
    """Takes up the runs that were out."""

    def __init__(
        self, store: Store, backlog: Backlog, custody: Custody, decider: Decider, scope: Scope
    ) -> None:
        """Make one; what is not in the scope is left as it is."""
        self._scope = scope
        self._store = store
        self._custody = custody
        self._decider = decider
        self._left: deque[PendingRow] = deque()
        self._many: Counter[tuple[str, str, str]] = Counter()
        """How many rows were left in order, by pool, namespace and kinds of tools."""
        self._lost = backlog.lost
        self._elsewhere: deque[PendingRow] = deque()
        self._some = asyncio.Event()
        self.has_come_back = False
        """Whether it was done once since the engine began: a shard that comes later is one thing among others."""

    @property
    def is_done(self) -> bool:
        """Whether every delivery that was lost has been decided about."""
        return not self._lost

    @property
    def left(self) -> int:
        """How many deliveries that were lost are still to be decided about."""
        return len(self._lost)

    async def find(self, shards: Collection[int] | None, *, in_order: bool) -> None:
        """Find out which runs of some shards are out, before acting for them."""
        after = ("", "", "")
        while page := await self._store.pending(shards=shards, after=after):
            ours = [row for row in page if self._scope.holds(row.execution)]
            self._elsewhere.extend(row for row in ours if row.lease)
            without = [row for row in ours if not row.lease]
            if in_order:
                self._keep_some(without)
            else:
                self._lost.add(without)
            last = page[-1]
            after = (last.execution, last.pending.run, last.pending.chunk)

    def _keep_some(self, rows: Sequence[PendingRow]) -> None:
        """Keep what there is room for among the offers; the rest is rows."""
        for row in rows:
            queue = (row.pending.pool, row.namespace, row.pending.kinds)
            self._many[queue] += 1
            if self._many[queue] <= OFFERS_MAX + 1:  # one more, which says that there are more
                self._left.append(row)

    def begin(self) -> None:
        """Hand out what was found."""
        while self._elsewhere:
            self._custody.adopt(self._elsewhere.popleft())
        while self._left:
            self._custody.offers.add(self._left.popleft())
        self._many.clear()
        if self._lost:
            self._some.set()
        else:
            self.has_come_back = True

    async def run(self) -> None:
        """Take up lost deliveries, a few at a time, for ever."""
        while True:
            while self._lost:
                rows = self._lost.first(RECOVER_MAX)
                await self._lose(rows)  # when this fails, they are still to be done
                self._lost.drop(len(rows))
            self.has_come_back = True
            self._some.clear()
            await self._some.wait()

    async def _lose(self, lost: Sequence[PendingRow]) -> None:
        """Have the kernel decide about deliveries that are lost, or that nobody had."""
        await self._decider.through(
            [
                of_lost_delivery(row) if row.pending.pool == OWN_POOL else of_taken_back(row)
                for row in lost
            ]
        )
