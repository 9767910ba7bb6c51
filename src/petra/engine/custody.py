"""Custody: the runs that workers have, from the lease that is given until it ends.

Rule 1: a heartbeat prolongs a lease. Without one it runs out, and the kernel decides about redelivery. A beat for one that
has ended is answered with a cancel, so that the worker stops what it still runs under it.
Rule 2: a worker that comes back on another connection keeps what it names; what it does not name never reached it.
What it had from another engine of the same store goes on too: whoever takes the shard over adopts it, and its reports wait
for that. If nobody does so within ``patience_s``, it is cancelled.
Rule 3: a run that was lost with a worker process may have killed it: it is handed out again to a worker that has nothing
else, where the pool has such.
Rule 4: what workers have is memory, not truth: after a restart every assignment that is out is handed out
anew, and late reports of old deliveries are rejected by the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from petra.clock import Clock
from petra.engine.backlog import Backlog
from petra.engine.inbox import Inbox
from petra.engine.leases import Leases
from petra.engine.manners import BreachError
from petra.engine.offers import Offers
from petra.engine.parcels import Parcels, further_frames
from petra.engine.roster import Roster
from petra.engine.submissions import of_lost_delivery
from petra.engine.workers import ANYTHING, Bounds, Lease, Link, Queue, WorkerSeen, remember
from petra.store.rows import PendingRow
from petra.wire import Iteration, frames

RUN_OUT: Final = "the lease has run out"


class Custody:
    """Ends leases: the work is done, or nobody wants it, or its worker is gone."""

    def __init__(
        self, clock: Clock, inbox: Inbox, backlog: Backlog, lease_s: float, patience_s: float = 0.0
    ) -> None:  # fmt: skip
        self.roster = Roster(clock)
        self.leases = Leases()
        self.offers = Offers(self.leases, backlog)
        self.parcels = Parcels()
        self._inbox = inbox
        self._clock = clock
        self.lease_s = lease_s
        self._patience_s = patience_s
        self.found_again: Callable[[Link], None] = lambda _: None
        """Told of a worker that has a run which we adopted after it came."""
        self.lost = 0
        """Leases that ended without a report, since the engine began."""

    # Asking

    def holders(self, execution: str, run: str) -> list[str]:
        """Return the names of the workers that have a run."""
        return sorted({lease.worker.name for lease in self.leases.of(execution, run)})

    def executions_at(self, link: Link) -> set[str]:
        """Return the executions that a worker has runs of."""
        worker = self.roster.workers.get(link)
        held = worker.leases if worker else ()
        return {self.leases[lease_id].row.execution for lease_id in held}

    def executions_of(self, worker: WorkerSeen, namespace: str) -> list[str]:
        """Return the executions of a namespace that a worker has runs of, by name."""
        rows = (self.leases[lease_id].row for lease_id in worker.leases)
        return sorted({row.execution for row in rows if row.namespace == namespace})

    def unserved(self) -> list[Queue]:
        """Return where runs wait, and no worker takes any."""
        waiting = self.offers.waiting
        return [queue for queue, up in waiting.items() if up and not self.roster.is_served(*queue)]

    def out(self) -> Counter[int]:
        """Count the runs that are with workers, by shard."""
        return self.leases.by_shard()

    def held(self) -> list[PendingRow]:
        """Return what workers have now and have not reported, and what ends with us: not what workers elsewhere have."""
        return [
            lease.row
            for lease in self.leases.unreported()
            if not (lease.worker.session or lease.adopted)
        ]

    # Workers come, beat and go

    def adopt(self, row: PendingRow) -> None:
        """Take over a run that a worker elsewhere had from an engine that is gone: it is its own until its lease runs out."""
        self.leases.adopt(row, self.until())
        for worker in self.roster.workers.values():
            if row.lease in worker.awaited or row.lease in worker.guests:
                worker.awaited.pop(row.lease, None)
                worker.guests.pop(row.lease, None)
                if self._may_go_on(row.lease, worker):
                    self._goes_on(self.leases[row.lease], worker)
                    self.found_again(worker.link)

    def held_elsewhere(self, lease_id: str) -> None:
        """Another engine says that the worker of a lease is there, and works.

        One that waits for further iterations would wait for ever: nobody there can send them.
        """
        lease = self.leases.get(lease_id)
        if lease is not None and not lease.more:
            lease.expires = self.until()

    def reported_elsewhere(self, execution: str, run: str, chunk: str) -> None:
        """What was done under a lease came by letter: the worker is with another engine."""
        for lease in self.leases.of(execution, run):
            if lease.row.pending.chunk == chunk and lease.reporter is None:
                self.done(lease.id)

    def dismiss(self, lease_id: str) -> None:
        """Whoever acts for a run says that its lease has ended: a worker that has it here stops."""
        for worker in self.roster.workers.values():
            if worker.guests.pop(lease_id, None) is not None:
                self._cancel(worker, [lease_id])

    def until(self) -> float:
        """Return when a lease runs out that is given or prolonged now."""
        return self._clock.monotonic() + self.lease_s

    def hello(self, link: Link, hello: frames.Hello, bounds: Bounds = ANYTHING) -> None:
        """Take in a worker, which may do what its ``bounds`` say; what it still works on and is no longer its own is cancelled.

        Raises:
            BreachError: it makes up leases.
        """
        worker = WorkerSeen(
            link, hello.worker, hello.pool, hello.credit, slots=hello.slots, session=hello.session, bounds=bounds,
            kinds=frozenset(hello.kinds) or None, version=hello.version, labels=hello.labels,
        )  # fmt: skip
        lost = [lease for lease in hello.leases if not self._may_go_on(lease, worker)]
        if any(self.leases.mint.is_made_up(lease) for lease in lost):
            raise BreachError("it says that it has a lease which nobody gave")
        self.roster.add(worker)
        for lease_id in [lease for lease in hello.leases if lease not in lost]:
            self._goes_on(self.leases[lease_id], worker)
        if hello.session:
            self._back(worker)
        if self._patience_s and hello.session:
            waited = [lease for lease in lost if self._is_elsewhere(lease)]
            worker.awaited = dict.fromkeys(waited, self._clock.monotonic() + self._patience_s)
        self._cancel(worker, [lease for lease in lost if lease not in worker.awaited])

    def _is_elsewhere(self, lease_id: str) -> bool:
        """Tell whether another engine may have given a lease: we know nothing of it."""
        mint = self.leases.mint
        return (
            lease_id not in self.leases
            and not mint.gave(lease_id)
            and mint.was_for(lease_id) is None
        )

    def _cancel(self, worker: WorkerSeen, lost: list[str]) -> None:
        """Have a worker stop what is not its own any more; what it reports of it is taken from it and forgotten."""
        if lost:
            worker.claimed |= frozenset(lost)
            worker.link.send(frames.CancelRuns(leases=lost, reason=RUN_OUT))

    def _may_go_on(self, lease_id: str, worker: WorkerSeen) -> bool:
        """Tell whether a lease is known, and of what a worker may do."""
        lease = self.leases.get(lease_id)
        if lease is None:
            return False
        return worker.may_do(Queue(lease.row.pending.pool, lease.row.namespace))

    def _goes_on(self, lease: Lease, worker: WorkerSeen) -> None:
        """A worker that is back on another connection goes on with a run."""
        lease.worker.leases.discard(lease.id)  # the end of the old connection does not take it
        lease.worker = worker
        lease.expires = self.until()
        worker.leases.add(lease.id)
        remember(worker.served, lease.row.execution)
        if lease.out:  # what was sent on the last connection may be lost
            for frame in further_frames(lease.id, list(lease.out.values()), more=lease.more):
                worker.link.send(frame)

    def _back(self, worker: WorkerSeen) -> None:
        """Take leave of the earlier connections of a worker that is back: what it does not name never reached it."""
        earlier = [
            other.link
            for other in self.roster.workers.values()
            if other is not worker and other.session == worker.session
        ]
        for link in earlier:
            self.away(link)
        unnamed = [
            lease
            for lease in self.leases
            if lease.worker is not worker and lease.worker.session == worker.session
        ]
        for lease in unnamed:
            if lease.reporter is None:
                self._lose(lease.id)

    def heartbeat(self, link: Link, leases: list[str]) -> None:
        """A worker is alive: only its own leases are prolonged, and it stops what it has under those that have ended.

        One that was frozen beyond a lease does not know that its run is at another by now.
        """
        expires, ended = self.until(), list[str]()
        for lease_id in leases:
            lease = self.leases.get(lease_id)
            if lease is None:
                ended.append(lease_id)
            elif lease.worker.link is link:
                lease.expires = expires
        if ended:
            self._stop_ended(link, ended)

    def _stop_ended(self, link: Link, ended: list[str]) -> None:
        """Have a worker stop what it has under leases of which we know that they have ended; of others we know nothing."""
        worker = self.roster.workers.get(link)
        if worker is not None:
            known = [
                lease
                for lease in ended
                if self.leases.mint.was_for(lease) is not None
                and not (lease in worker.awaited or lease in worker.guests)
            ]
            if known:
                link.send(frames.CancelRuns(leases=known, reason=RUN_OUT))

    def away(self, link: Link) -> None:
        """A connection is gone, and its worker may come back: it keeps its leases until they run out."""
        self.roster.remove(link)

    def gone(self, link: Link, *, in_order: bool = False) -> None:
        """A worker is gone for good; what it had and did not report is lost at once."""
        worker = self.roster.remove(link)
        kept = self.roster.kept.pop(link, None)
        for lease_id in sorted(worker.leases) if worker is not None else ():
            if self.leases[lease_id].reporter is not None:
                continue
            if kept is not None and not in_order:
                self.offers.suspect(self.leases[lease_id].row)
            self._lose(lease_id)

    def sweep(self) -> None:
        """Take back the leases that have run out."""
        now = self._clock.monotonic()
        for worker in self.roster.workers.values() if self._patience_s else ():
            over = [lease for lease, until in worker.awaited.items() if until <= now]
            for lease_id in over:
                del worker.awaited[lease_id]
            self._cancel(worker, over)
        kept = self.roster.kept
        for lease in [lease for lease in self.leases.unreported() if lease.expires <= now]:
            worker = lease.worker
            worker.silent = True  # it gets nothing more until it speaks
            if worker.link in kept:
                kept[worker.link]()  # what it runs must be dead before it is handed out again
            else:
                self._lose(lease.id)

    # Runs change, and end

    def extend(self, row: PendingRow, further: list[Iteration], *, more: bool) -> None:
        """Send further iterations to the worker that has their chunk; one that gets it later gets them with it."""
        for lease in self.leases.of(row.execution, row.pending.run):
            if lease.row.pending.is_same(row.pending):
                lease.out.update((iteration.path, iteration) for iteration in further)
                lease.more = more
                for frame in further_frames(lease.id, further, more=more):
                    lease.worker.link.send(frame)

    def stop(self, execution: str, run: str, reason: str) -> None:
        """Tell whoever does a run to stop, or was to do it; its leases end here."""
        self.offers.withdraw(execution, run)
        stopped: dict[Link, list[str]] = {}
        for lease in self.leases.of(execution, run):
            self.leases.end(lease.id)
            self.parcels.end(lease.id)
            stopped.setdefault(lease.worker.link, []).append(lease.id)
        for link, leases in stopped.items():
            link.send(frames.CancelRuns(leases=leases, reason=reason))

    def done(self, lease_id: str) -> None:
        """The work under a lease is done."""
        lease = self.leases.end(lease_id)
        if lease is not None:
            self.parcels.end(lease_id)
            self.offers.done(lease.row)

    def _lose(self, lease_id: str) -> None:
        lease = self.leases.get(lease_id)
        if lease is not None:
            self.done(lease_id)
            self.offers.lost(lease.row)
            self.lost += 1
            self._inbox.push(of_lost_delivery(lease.row))
