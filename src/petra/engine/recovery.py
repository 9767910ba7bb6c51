"""Coming back: what was out with workers when an engine left, or died.

Rule 1: there is no replay of everything. Rows say which runs were out; an execution is read when one of its
runs is handed out again, a few at a time, so that the first goes out at once however many there are.
Rule 2: what was left in order is handed out as it is. Of an engine that died every delivery is lost, and the
kernel decides about the next one.
Rule 3: what a worker elsewhere has lives on without the engine that gave it: it is adopted, and lost only when nothing is heard
of its worker for as long as a lease lasts.
Rule 4: rows are read before the engine acts for their executions, so that none of them is its own.
Timers come back by their wake-up rows, children and commands by letters: none of them needs anything here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from itertools import islice

from petra.engine.backlog import Backlog
from petra.engine.custody import Custody
from petra.engine.decider import Decider
from petra.engine.limits import RECOVER_MAX
from petra.engine.scope import Scope
from petra.engine.submissions import of_lost_delivery
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
        self._lost = backlog.lost
        self._elsewhere: deque[PendingRow] = deque()
        self._some = asyncio.Event()

    @property
    def is_done(self) -> bool:
        """Whether every delivery that was lost has been decided about."""
        return not self._lost

    async def find(self, shards: Collection[int] | None, *, in_order: bool) -> None:
        """Find out which runs of some shards are out, before acting for them."""
        after = ("", "", "")
        here = self._left if in_order else self._lost
        while page := await self._store.pending(shards=shards, after=after):
            for row in page:
                if self._scope.holds(row.execution):
                    (self._elsewhere if row.lease else here).append(row)
            last = page[-1]
            after = (last.execution, last.pending.run, last.pending.chunk)

    def begin(self) -> None:
        """Hand out what was found."""
        while self._elsewhere:
            self._custody.adopt(self._elsewhere.popleft())
        while self._left:
            self._custody.offers.add(self._left.popleft())
        if self._lost:
            self._some.set()

    async def run(self) -> None:
        """Take up lost deliveries, a few at a time, for ever."""
        while True:
            while self._lost:
                rows = list(islice(self._lost, RECOVER_MAX))
                await self._lose(rows)  # when this fails, they are still to be done
                for _ in rows:
                    self._lost.popleft()
            self._some.clear()
            await self._some.wait()

    async def _lose(self, lost: Sequence[PendingRow]) -> None:
        """Have the kernel decide about deliveries that are lost."""
        await self._decider.through([of_lost_delivery(row) for row in lost])
