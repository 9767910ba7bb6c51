"""Leases: which worker has which run, until when; and what those that have ended were for.

All of it is memory (``petra.engine.custody``, rule 4), but for the leases of workers elsewhere, which are written down before such a
worker gets its run: they outlive the engine that gave them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from petra.engine.lease_names import Mint
from petra.engine.workers import AWAY, Lease, WorkerSeen
from petra.store.rows import PendingRow, shard_of
from petra.wire import Assignment, frames


class Leases:
    """The leases that have not ended, by their names and by their runs."""

    def __init__(self) -> None:
        self.mint = Mint()
        self._known: dict[str, Lease] = {}
        self._by_run: dict[tuple[str, str], set[str]] = {}
        self.get: Callable[[str], Lease | None] = self._known.get
        """Returns a lease, unless it has ended; asked several times for every run, so it is the dict's own."""

    def __contains__(self, lease_id: object) -> bool:
        return lease_id in self._known

    def __getitem__(self, lease_id: str) -> Lease:
        return self._known[lease_id]

    def __iter__(self) -> Iterator[Lease]:
        return iter(tuple(self._known.values()))

    # Giving and ending

    def give(
        self, row: PendingRow, worker: WorkerSeen, assignment: Assignment, expires: float
    ) -> str:
        """Give a worker the right to do an assignment; return its name."""
        out = (
            {iteration.path: iteration for iteration in assignment.iterations}
            if assignment.more
            else {}
        )
        lease = Lease(
            self.mint.make(shard_of(row.execution)), row, worker, expires, assignment.more, out
        )
        self._put(lease)
        return lease.id

    def adopt(self, row: PendingRow, expires: float) -> None:
        """Take over the lease of a worker elsewhere, who has not come back yet, from an engine that is gone."""
        away = WorkerSeen(_Nowhere(), AWAY, row.pending.pool, 0)
        self._put(Lease(row.lease, row, away, expires, adopted=True))

    def _put(self, lease: Lease) -> None:
        self._known[lease.id] = lease
        lease.worker.leases.add(lease.id)
        run = lease.row.execution, lease.row.pending.run
        if (others := self._by_run.get(run)) is None:
            self._by_run[run] = {lease.id}
        else:
            others.add(lease.id)

    def end(self, lease_id: str) -> Lease | None:
        """End a lease, and return it; None if it had ended."""
        lease = self._known.pop(lease_id, None)
        if lease is not None:
            lease.worker.leases.discard(lease_id)
            self.mint.end(lease_id, lease.row)
            run = lease.row.execution, lease.row.pending.run
            others = self._by_run[run]
            if len(others) == 1:
                del self._by_run[run]
            else:
                others.discard(lease_id)
        return lease

    # Asking

    def of(self, execution: str, run: str) -> list[Lease]:
        """Return the leases of a run."""
        known = self._by_run.get((execution, run))
        return [self._known[lease] for lease in known] if known else []

    def is_out(self, row: PendingRow) -> bool:
        """Tell whether a worker has this very delivery already."""
        known = self._by_run.get((row.execution, row.pending.run))
        return known is not None and any(
            self._known[lease].row.pending.is_same(row.pending) for lease in known
        )

    def unreported(self) -> Iterable[Lease]:
        """Return those under which nothing final has been reported."""
        return [lease for lease in self._known.values() if lease.reporter is None]

    def by_shard(self) -> Counter[int]:
        """Count the runs that are with workers, by shard."""
        return Counter(shard_of(lease.row.execution) for lease in self.unreported())


class _Nowhere:
    """The connection of a worker that has not come back."""

    def send(self, frame: frames.AnyFrame) -> None:
        """Send nothing."""
