"""Dispatch: step runs go to workers that have room, under leases (architecture: ownership and leases).

Rule 1: a run is handed out under a fresh lease. A heartbeat prolongs it; without one it runs out, and the
kernel decides about redelivery.
Rule 2: workers offer room; nothing is sent beyond it.
Rule 3: a run that was lost with a worker process may have killed it: it is handed out again to a worker that has nothing
else, where the pool has such.
Rule 4: what workers hold is memory, not truth: after a restart every assignment that is out is handed out
anew, and late reports of old deliveries are rejected by the kernel.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence

import msgspec

from petra.clock import Clock
from petra.engine.backlog import Backlog
from petra.engine.cache import Cache
from petra.engine.inbox import Inbox
from petra.engine.leases import Leases
from petra.engine.life import Life
from petra.engine.limits import (
    ASSIGN_MAX,
    CREDIT_PER_SLOT,
    FRAME_BYTES,
    FRAME_SPARE,
    LEASE_S,
    RETRY_S,
    SHARED_MIN,
    STALE_S,
    STRANGE_MAX,
)
from petra.engine.manners import BreachError
from petra.engine.offers import Offers
from petra.engine.parcels import Parcels, further_frames, size_of, unfit
from petra.engine.shards import Shards
from petra.engine.submissions import of_lost_delivery, of_report
from petra.engine.workers import Acks, Lease, Link, Queued, Seen, WorkerSeen, is_of, remember
from petra.errors import PetraError
from petra.kernel import assignment
from petra.playbook import to_yaml
from petra.store.base import Store
from petra.store.errors import FullError, UnavailableError, UncertainError
from petra.store.rows import PendingRow
from petra.wire import Assignment, Iteration, frames
from petra.wire.connection import send_together


class Dispatcher:
    """Hands assignments to workers and keeps their leases."""

    def __init__(  # noqa: PLR0913 - the parts of an engine that it works with
        self,
        *,
        store: Store,
        cache: Cache,
        clock: Clock,
        inbox: Inbox,
        shards: Shards,
        backlog: Backlog,
        life: Life,
        lease_s: float = LEASE_S,
    ) -> None:
        self._parcels = Parcels()
        self._inbox = inbox
        self._shards = shards
        self._life = life
        self._cache = cache
        self._clock = clock
        self.lease_s = lease_s
        self._store = store
        self._leases = Leases()
        self.offers = Offers(self._leases, backlog)
        self._workers: dict[Link, WorkerSeen] = {}
        self._kept: dict[Link, Callable[[], None]] = {}
        self.troubles: dict[str, str] = {}
        """What their keeper saw last, by pool."""

    # From the engine

    def holders(self, execution: str, run: str) -> list[str]:
        """Return the names of the workers that have a run."""
        return sorted({lease.worker.name for lease in self._leases.of(execution, run)})

    def seen(self) -> list[Seen]:
        """Return the workers that are there."""
        there = sorted(self._workers.values(), key=lambda one: (one.pool, one.name))
        return [one.seen() for one in there]

    def is_served(self, pool: str) -> bool:
        """Tell whether a pool has a worker that takes work."""
        return any(one.pool == pool and not one.drains for one in self._workers.values())

    def unserved(self) -> list[str]:
        """Return the pools in which runs wait, and no worker takes any."""
        waiting = self.offers.waiting
        return [pool for pool, found in waiting.items() if found and not self.is_served(pool)]

    def at_work(self, pool: str) -> int:
        """Return how many runs are with workers of a pool."""
        return sum(len(one.leases) for one in self._workers.values() if one.pool == pool)

    def executions_at(self, link: Link) -> set[str]:
        """Return the executions that a worker has runs of."""
        worker = self._workers.get(link)
        return {self._leases[one].row.execution for one in worker.leases} if worker else set()

    async def pump(self, acks: Acks | None = None) -> None:
        """Send what workers have room for, unless our shards may be somebody else's by now.

        ``acks`` go with the first of it that their worker gets, or by themselves.
        """
        offers = self.offers
        try:
            if offers.more or any(offers.waiting.values()):  # which is not so most times
                await self._hand_out(acks or {})
        finally:
            for link, parts in acks.items() if acks else ():
                link.send(frames.Ack(parts=parts))

    async def _hand_out(self, acks: Acks) -> None:
        offers = self.offers
        if not (self._shards.sure and self._life.goes_on()):
            return
        for pool, waiting in tuple(offers.waiting.items()):
            while waiting or pool in offers.more:
                worker = self._free(pool)
                if worker is None:
                    break
                if pool in offers.more:
                    await offers.refill(pool, waiting)
                if not waiting or not await self._fill(worker, waiting, acks):
                    break

    def _free(self, pool: str) -> WorkerSeen | None:
        stale = self._clock.monotonic() - STALE_S if self._kept else 0.0
        ready = [
            w
            for w in self._workers.values()
            if w.pool == pool and w.credit > 0 and not w.drains and not w.silent
            and w.heard >= stale
        ]  # fmt: skip
        return max(ready, key=lambda worker: worker.credit, default=None)

    async def _fill(self, worker: WorkerSeen, waiting: deque[Queued], acks: Acks) -> bool:
        """Send a worker what it has room for; return False when there is no more to be had now."""
        made: list[Assignment] = []
        size = 0
        kept: list[Queued] = []
        if waiting[0].given is None:
            await self._read_ahead(waiting, min(worker.credit, ASSIGN_MAX))
        while waiting and worker.credit > 0 and len(made) < ASSIGN_MAX:
            offer = waiting.popleft()
            if offer.given is None and not await self._made(offer):
                kept.append(offer)
                continue
            if worker.credit <= 0:  # somebody else filled it meanwhile
                waiting.appendleft(offer)
                break
            given = self._leased(worker, offer)
            if given is None:
                continue
            own = self._fits(worker, given)
            if own is None:
                continue
            lean, bytes_ = own
            worker.credit -= 1
            if made and size + bytes_ > FRAME_BYTES:
                self._send(worker, made, acks)
                made, size = [], 0
            made.append(lean)
            size += bytes_
        waiting.extend(kept)
        if made:
            self._send(worker, made, acks)
        return not kept

    def _send(self, worker: WorkerSeen, made: list[Assignment], acks: Acks) -> None:
        link = worker.link
        if worker.session:
            self._life.errand("lease", self._place(link, made))
        elif (parts := acks.pop(link, None)) is not None:
            send_together(link, (frames.Ack(parts=parts), frames.Assignments(assignments=made)))
        else:
            link.send(frames.Assignments(assignments=made))

    async def _place(self, link: Link, made: Sequence[Assignment]) -> None:
        """Write the leases of a worker elsewhere down before it gets its assignments: it may outlive us."""
        leases = [self._leases[one.lease] for one in made if one.lease in self._leases]
        unplaced = [msgspec.structs.replace(one.row, lease=one.id) for one in leases]
        try:
            written = await self._store.lease(unplaced)
        except (UnavailableError, UncertainError, FullError):
            self._take_back(link, made)
            await self._clock.sleep(RETRY_S)
        else:
            self._placed(link, made, written)

    def _placed(self, link: Link, made: Sequence[Assignment], written: Collection[str]) -> None:
        """Send assignments whose leases are written down; what was stopped meanwhile is not sent, and the rest is not its own."""
        going = [one for one in made if one.lease in written and one.lease in self._leases]
        for one in made:
            if one.lease not in written:
                self._done(one.lease)
        if going:
            link.send(frames.Assignments(assignments=going))
        self._not_sent(link, len(made) - len(going))

    def _take_back(self, link: Link, made: Sequence[Assignment]) -> None:
        """Put assignments up again whose leases could not be written down."""
        for one in made:
            lease = self._leases.get(one.lease)
            if lease is not None:
                self._done(one.lease)
                self.offers.add(lease.row)
        self._not_sent(link, len(made))

    def _not_sent(self, link: Link, count: int) -> None:
        """A worker has the room still that was meant for so many assignments."""
        if link in self._workers:
            self._workers[link].credit += count

    def adopt(self, row: PendingRow) -> None:
        """Take over a run that a worker elsewhere had from an engine that is gone: it is its own until its lease runs out."""
        self._leases.adopt(row, self._clock.monotonic() + self.lease_s)

    async def know_again(self, link: Link) -> None:
        """Send a worker what it may lack of the chunks that were adopted with it."""
        worker = self._workers.get(link)
        for lease in [self._leases[one] for one in worker.leases] if worker is not None else ():
            if lease.adopted and lease.row.pending.chunk:
                offer = Queued(lease.row, None, None)
                if not await self._made(offer) or offer.given is None or not offer.given.more:
                    continue
                lease.more, lease.out = True, {one.path: one for one in offer.given.iterations}
                for frame in further_frames(lease.id, offer.given.iterations, more=True):
                    link.send(frame)

    def _fits(self, worker: WorkerSeen, given: Assignment) -> tuple[Assignment, int] | None:
        """Return an assignment as it is sent, and its size; None: no frame can hold it, and its run fails of that."""
        if not self._parcels.knows(given) and (size := size_of(given)) <= SHARED_MIN:
            return given, size  # which most are
        lean, shared = self._parcels.lean(given, worker.shared)
        size = size_of(lean)
        most = max([size, *(one.size for one in shared)])
        if most > frames.MAX_FRAME - FRAME_SPARE:
            self.report(worker.link, unfit(given, most))
            return None
        for one in shared:
            worker.link.send(one)
        return lean, size

    async def _read_ahead(self, waiting: deque[Queued], most: int) -> None:
        """Read the executions of the next offers at once, as after a restart, when none is in memory."""
        some = [one.row.execution for one in itertools.islice(waiting, most) if one.given is None]
        with contextlib.suppress(UnavailableError):
            await self._cache.warm(some)

    async def _made(self, offer: Queued) -> bool:
        """Make an assignment from the state as it is; False where that cannot be done now.

        A state that is ahead of what is durable is not shown: then the offer waits for the commit.
        """
        if offer.gone:
            return True
        row, pending = offer.row, offer.row.pending
        try:
            entry = self._cache.get(row.execution) or await self._cache.load(row.execution)
        except UnavailableError:
            return False
        if entry.busy:
            return False
        run = entry.state.runs.get(pending.run)
        chunk = run.chunks.get(pending.chunk) if run is not None and pending.chunk else None
        holder = chunk if pending.chunk else run
        if holder is None or holder.incident or holder.delivery != pending.delivery:
            offer.gone = True  # it was withdrawn, or a later delivery is waiting too
        else:
            offer.program = entry.program
            offer.given = assignment(entry.program, entry.state, pending.run, pending.chunk)
        return True

    def _leased(self, worker: WorkerSeen, offer: Queued) -> Assignment | None:
        """Give an assignment its lease, unless nobody wants it any more."""
        row, given = offer.row, offer.given
        execution = row.execution
        self.offers.taken(offer)
        if (
            offer.gone
            or given is None
            or not self._shards.hands_out(execution)
            or self._leases.is_out(row)
        ):
            return None
        program = self._cache.latest(given.playbook, offer.program)
        if (told := (given.playbook, program.origins_key)) not in worker.playbooks:
            worker.playbooks.add(told)
            text = to_yaml(program.playbook)
            worker.link.send(frames.PlaybookText(digest=given.playbook, text=text))
        if execution not in worker.served:
            remember(worker.served, execution)
        expires = self._clock.monotonic() + self.lease_s
        lease = self._leases.give(row, worker, given, expires)
        return msgspec.structs.replace(given, lease=lease, lease_s=self.lease_s)

    def out(self) -> Counter[int]:
        """Count the runs that are with workers, by shard."""
        return self._leases.by_shard()

    def stop(self, execution: str, run: str, reason: str) -> None:
        """Tell whoever does a run to stop, or was to do it; its leases end here."""
        self.offers.withdraw(execution, run)
        stopped: dict[Link, list[str]] = {}
        for lease in self._leases.of(execution, run):
            self._end(lease.id)
            stopped.setdefault(lease.worker.link, []).append(lease.id)
        for link, leases in stopped.items():
            link.send(frames.CancelRuns(leases=leases, reason=reason))

    def extend(self, row: PendingRow, further: list[Iteration], *, more: bool) -> None:
        """Send further iterations to the worker that has their chunk; one that gets it later gets them with it."""
        for lease in self._leases.of(row.execution, row.pending.run):
            if lease.row.pending == row.pending:
                lease.out.update((one.path, one) for one in further)
                lease.more = more
                for frame in further_frames(lease.id, further, more=more):
                    lease.worker.link.send(frame)

    def keep(self, link: Link, overdue: Callable[[], None]) -> None:
        """A worker is kept: one of its leases that runs out is not lost before ``overdue`` has ended the worker."""
        self._kept[link] = overdue

    # From workers

    def hello(self, link: Link, hello: frames.Hello) -> None:
        """Take in a worker; what it still works on and is no longer its own is cancelled.

        Raises:
            BreachError: it makes up leases.
        """
        lost = [lease for lease in hello.leases if lease not in self._leases]
        if any(self._leases.mint.is_made_up(lease) for lease in lost):
            raise BreachError("it says that it has a lease which nobody gave")
        worker = WorkerSeen(
            link, hello.worker, hello.pool, hello.credit, slots=hello.slots, session=hello.session
        )  # fmt: skip
        self._workers[link] = worker
        for lease_id in [lease for lease in hello.leases if lease in self._leases]:
            lease = self._leases[lease_id]
            lease.worker.leases.discard(lease_id)  # the end of the old connection does not take it
            lease.worker = worker
            lease.expires = self._clock.monotonic() + self.lease_s
            worker.leases.add(lease_id)
            remember(worker.served, lease.row.execution)
            if lease.out:  # what was sent on the last connection may be lost
                out = list(lease.out.values())
                for frame in further_frames(lease_id, out, more=lease.more):
                    link.send(frame)
        if hello.session:
            self._back(worker)
        if lost:
            worker.claimed = frozenset(lost)
            link.send(frames.CancelRuns(leases=lost, reason="the lease has run out"))

    def _back(self, worker: WorkerSeen) -> None:
        """Take leave of the earlier connections of a worker that is back: what it does not name never reached it."""
        for link in [
            one.link
            for one in self._workers.values()
            if one is not worker and one.session == worker.session
        ]:
            self.away(link)
        for lease in [
            one
            for one in self._leases
            if one.worker is not worker and one.worker.session == worker.session
        ]:
            if lease.reporter is None:
                self._lose(lease.id)

    def away(self, link: Link) -> None:
        """A connection is gone, and its worker may come back: it keeps its leases until they run out."""
        self._workers.pop(link, None)

    def greeted(self, link: Link) -> bool:
        """Tell whether a worker has said hello on a connection, and not goodbye."""
        return link in self._workers

    def serves(self, link: Link, execution: str) -> bool:
        """Tell whether a worker has, or had, a run of an execution."""
        worker = self._workers.get(link)
        return worker is not None and execution in worker.served

    def report(self, link: Link, given: frames.RunReport) -> None:
        """Take a report of a worker: it is submitted, unless it is not worth a record.

        Raises:
            BreachError: the lease is, or was, for something else; or it makes up leases.
        """
        if self._reporting(link, given) is None:
            link.send(frames.Ack(parts=[(given.lease, given.part)]))
        else:
            self._inbox.push(of_report(link, given, self.holds))

    def _reporting(self, link: Link, given: frames.RunReport) -> bool | None:
        """Take note of a report; False: it counts for nothing. None: it is not worth a record.

        Raises:
            BreachError: the lease is, or was, for something else; or it makes up leases.
        """
        worker, lease = self._workers[link], self._leases.get(given.lease)
        if lease is None:
            return self._late(worker, given)
        if not is_of(lease.row, given):
            raise BreachError("it reported something else than what its lease is for")
        if lease.worker is not worker:
            return False
        if given.more:
            self._part(lease, given)
        else:
            lease.reporter, lease.last, lease.claim = link, given.part, given
        return True

    def _late(self, worker: WorkerSeen, given: frames.RunReport) -> bool | None:
        """Take note of a report under a lease that has ended: it is recorded if it is of what we gave that lease for."""
        row = self._leases.mint.was_for(given.lease)
        if row is not None:
            if not is_of(row, given):
                raise BreachError("it reported something else than what its lease was for")
            return False
        if not self._leases.mint.gave(given.lease) and given.lease not in worker.claimed:
            worker.strange += 1
            if worker.strange > STRANGE_MAX:
                raise BreachError(f"{worker.strange} reports under leases that it never had")
        return None

    def holds(self, link: Link, given: frames.RunReport) -> bool:
        """Tell whether a report counts: it came from who held the lease, which still is the one that is out."""
        lease = self._leases.get(given.lease)
        return (
            lease is not None
            and (link is lease.reporter or link is lease.worker.link)
            and (given is lease.claim or lease.is_for(given))
        )

    def settled(self, link: Link, lease_id: str, part: int) -> None:
        """A part of a report is durable, or nothing can come of it: with the last one the lease ends."""
        lease = self._leases.get(lease_id)
        if lease is not None and lease.reporter is link and lease.last == part:
            self._done(lease_id)

    def heard(self, link: Link) -> None:
        """A worker has said something, so it is there."""
        worker = self._workers.get(link)
        if worker is not None:
            worker.silent = False
            if link in self._kept:
                worker.heard = self._clock.monotonic()

    def credit(self, link: Link, slots: int) -> None:
        """A worker has more room."""
        worker = self._workers[link]
        worker.credit += slots
        if worker.credit > CREDIT_PER_SLOT * worker.slots:
            raise BreachError(
                f"it offers room for {worker.credit:,} runs and has {worker.slots} slots"
            )

    def heartbeat(self, link: Link, leases: list[str]) -> None:
        """A worker is alive; only its own leases are prolonged."""
        expires = self._clock.monotonic() + self.lease_s
        for lease_id in leases:
            lease = self._leases.get(lease_id)
            if lease is not None and lease.worker.link is link:
                lease.expires = expires

    def _part(self, lease: Lease, given: frames.RunReport) -> None:
        """A part of the work under a lease is done; the rest goes on."""
        lease.expires = self._clock.monotonic() + self.lease_s
        if lease.out:
            for one in given.iterations:
                lease.out.pop(one.path, None)

    def held(self) -> list[PendingRow]:
        """Return what workers have now and have not reported, and what ends with us: not what workers elsewhere have."""
        return [
            lease.row
            for lease in self._leases.unreported()
            if not (lease.worker.session or lease.adopted)
        ]

    def _done(self, lease_id: str) -> None:
        """The work under a lease is done."""
        lease = self._end(lease_id)
        if lease is not None:
            self.offers.done(lease.row)

    async def forgot(self, link: Link, digests: list[str], shared: Sequence[str] = ()) -> None:
        """A worker needs playbooks again, or values that its assignments share."""
        worker = self._workers.get(link)
        if worker is not None and shared:
            for value in self._parcels.again(worker.leases, shared):
                link.send(value)
        for digest in digests:
            try:
                program = await self._cache.program(digest)
            except UnavailableError:
                raise
            except PetraError as error:
                raise BreachError(f"it wants what nobody gave it: {error}") from None
            link.send(frames.PlaybookText(digest=digest, text=to_yaml(program.playbook)))

    def drain(self, link: Link) -> None:
        """A worker wants nothing more."""
        if link in self._workers:
            self._workers[link].drains = True

    def name_of(self, link: Link) -> str:
        """Return what the worker of a connection is called, if there is one."""
        worker = self._workers.get(link)
        return worker.name if worker is not None else ""

    def gone(self, link: Link, *, in_order: bool = False) -> None:
        """A worker is gone for good; what it had and did not report is lost at once."""
        worker = self._workers.pop(link, None)
        kept = self._kept.pop(link, None)
        for lease_id in sorted(worker.leases) if worker is not None else ():
            if self._leases[lease_id].reporter is not None:
                continue
            if kept is not None and not in_order:
                self.offers.suspect(self._leases[lease_id].row)
            self._lose(lease_id)

    def sweep(self) -> None:
        """Take back the leases that have run out."""
        now = self._clock.monotonic()
        for lease_id in [one.id for one in self._leases.unreported() if one.expires <= now]:
            worker = self._leases[lease_id].worker
            worker.silent = True  # it gets nothing more until it speaks
            if worker.link in self._kept:
                self._kept[worker.link]()  # what it runs must be dead before it is handed out again
            else:
                self._lose(lease_id)

    def _lose(self, lease_id: str) -> None:
        lease = self._leases.get(lease_id)
        if lease is not None:
            self._done(lease_id)
            self.offers.lost(lease.row)
            self._inbox.push(of_lost_delivery(lease.row))

    def _end(self, lease_id: str) -> Lease | None:
        lease = self._leases.end(lease_id)
        if lease is not None:
            self._parcels.end(lease_id)
        return lease
