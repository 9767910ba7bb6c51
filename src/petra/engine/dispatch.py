"""Dispatch: step runs go to workers that have room, under leases (architecture: ownership and leases).

Rule 1: a run is handed out under a fresh lease (``petra.engine.custody`` says how that ends).
Rule 2: workers offer room; nothing is sent beyond it (``petra.engine.roster``).
Rule 3: the lease of a worker elsewhere is written down before it gets its assignment, since it may outlive us.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

import msgspec

from petra.engine import late_assignments
from petra.engine.custody import Custody
from petra.engine.ground import Ground
from petra.engine.limits import (
    ASSIGN_MAX,
    FRAME_BYTES,
    FRAME_SPARE,
    RETRY_S,
    SHARED_MIN,
)
from petra.engine.manners import BreachError
from petra.engine.parcels import further_frames, size_of, unfit
from petra.engine.reports import ReportIntake
from petra.engine.workers import Acks, Link, Queued, WorkerSeen, remember
from petra.errors import PetraError
from petra.store.errors import FullError, UnavailableError, UncertainError
from petra.wire import Assignment, frames
from petra.wire.connection import send_together


class Dispatcher:
    """Hands assignments to workers."""

    def __init__(
        self, ground: Ground, custody: Custody, reports: ReportIntake, *, gives: bool
    ) -> None:
        """Make one; ``gives`` says that workers may ask for stored credentials."""
        self._gives = gives
        self._store, self._clock, self._life = ground.store, ground.clock, ground.life
        self._shards, self._cache = ground.shards, ground.cache
        self._custody = custody
        self._roster = custody.roster
        self._leases = custody.leases
        self._offers = custody.offers
        self._parcels = custody.parcels
        self._reports = reports

    # Handing out

    async def pump(self, acks: Acks | None = None) -> None:
        """Send what workers have room for, unless our shards may be somebody else's by now.

        ``acks`` go with the first of it that their worker gets, or by themselves.
        """
        offers = self._offers
        try:
            if offers.more or any(offers.waiting.values()):  # which is not so most times
                await self._hand_out(acks or {})
        finally:
            for link, parts in acks.items() if acks else ():
                link.send(frames.Ack(parts=parts))

    async def _hand_out(self, acks: Acks) -> None:
        offers = self._offers
        if not (self._shards.sure and self._life.goes_on()):
            return
        for queue, waiting in offers.by_rank():
            while waiting or queue in offers.more:
                worker = self._roster.free(queue)
                if worker is None:
                    break
                if queue in offers.more:
                    await offers.refill(queue, waiting)
                if not waiting or not await self._fill(worker, waiting, acks):
                    break

    async def _fill(self, worker: WorkerSeen, waiting: deque[Queued], acks: Acks) -> bool:
        """Send a worker what it has room for; return False when there is no more to be had now.

        An assignment that cannot be made yet goes behind the others. At most so many of these are looked through as fit into a
        frame: one execution that is decided about all the time may have every offer that waits.
        """
        leaving: list[Assignment] = []
        size = 0
        kept: list[Queued] = []
        until = self._custody.until()
        if waiting[0].given is None:
            most = min(worker.credit, ASSIGN_MAX)
            await late_assignments.read_ahead(self._cache, waiting, most)
        while waiting and worker.credit > 0 and max(len(leaving), len(kept)) < ASSIGN_MAX:
            offer = waiting.popleft()
            if offer.given is None and not await late_assignments.make(self._cache, offer):
                kept.append(offer)
                continue
            if worker.credit <= 0:  # somebody else filled it meanwhile
                waiting.appendleft(offer)
                break
            leased = self._leased(worker, offer, until)
            if leased is None:
                continue
            fitting = self._fits(worker, leased)
            if fitting is None:
                continue
            lean, bytes_ = fitting
            worker.credit -= 1
            if leaving and size + bytes_ > FRAME_BYTES:
                self._send(worker, leaving, acks)
                leaving, size = [], 0
            leaving.append(lean)
            size += bytes_
        waiting.extend(kept)
        if leaving:
            self._send(worker, leaving, acks)
        return not kept

    def _leased(self, worker: WorkerSeen, offer: Queued, until: float) -> Assignment | None:
        """Give an assignment its lease, unless nobody wants it any more."""
        row, assignment = offer.row, offer.given
        execution = row.execution
        self._offers.let_go(offer)
        if (
            offer.gone
            or assignment is None
            or not self._shards.hands_out(execution)
            or self._leases.is_out(row)
        ):
            return None
        program = self._cache.latest(assignment.playbook, offer.program)
        if (told := (assignment.playbook, program.origins_key)) not in worker.playbooks:
            worker.playbooks.add(told)
            text = program.text
            worker.link.send(
                frames.PlaybookText(digest=assignment.playbook, text=text, gives=self._gives)
            )
        if execution not in worker.served:
            remember(worker.served, execution)
        lease = self._leases.give(row, worker, assignment, until)
        return msgspec.structs.replace(assignment, lease=lease, lease_s=self._custody.lease_s)

    def _fits(self, worker: WorkerSeen, assignment: Assignment) -> tuple[Assignment, int] | None:
        """Return an assignment as it is sent, and its size; None: no frame can hold it, and its run fails of that."""
        if not self._parcels.knows(assignment) and (size := size_of(assignment)) <= SHARED_MIN:
            return assignment, size  # which most are
        lean, shared = self._parcels.lean(assignment, worker.shared)
        size = size_of(lean)
        most = max([size, *(value.size for value in shared)])
        if most > frames.MAX_FRAME - FRAME_SPARE:
            self._reports.take(worker.link, unfit(assignment, most))
            return None
        for value in shared:
            worker.link.send(value)
        return lean, size

    # Sending

    def _send(self, worker: WorkerSeen, leaving: list[Assignment], acks: Acks) -> None:
        link = worker.link
        if worker.session:
            self._life.errand("lease", self._place(link, leaving))
        elif (parts := acks.pop(link, None)) is not None:
            send_together(link, (frames.Ack(parts=parts), frames.Assignments(assignments=leaving)))
        else:
            link.send(frames.Assignments(assignments=leaving))

    async def _place(self, link: Link, leaving: Sequence[Assignment]) -> None:
        """Write the leases of a worker elsewhere down before it gets its assignments: it may outlive us."""
        names = [assignment.lease for assignment in leaving]
        leases = [self._leases[name] for name in names if name in self._leases]
        unplaced = [msgspec.structs.replace(lease.row, lease=lease.id) for lease in leases]
        try:
            written = await self._store.lease(unplaced)
        except (UnavailableError, UncertainError, FullError):
            self._take_back(link, leaving)
            await self._clock.sleep(RETRY_S)
        else:
            self._send_written(link, leaving, written)

    def _send_written(
        self, link: Link, leaving: Sequence[Assignment], written: Collection[str]
    ) -> None:
        """Send assignments whose leases are written down; what was stopped meanwhile is left out, and what could not be written down is taken back."""
        going = [
            assignment
            for assignment in leaving
            if assignment.lease in written and assignment.lease in self._leases
        ]
        for assignment in leaving:
            if assignment.lease not in written:
                self._custody.done(assignment.lease)
        if going:
            link.send(frames.Assignments(assignments=going))
        self._roster.give_back(link, len(leaving) - len(going))

    def _take_back(self, link: Link, leaving: Sequence[Assignment]) -> None:
        """Put assignments up again whose leases could not be written down."""
        for assignment in leaving:
            lease = self._leases.get(assignment.lease)
            if lease is not None:
                self._custody.done(assignment.lease)
                self._offers.add(lease.row)
        self._roster.give_back(link, len(leaving))

    # Sending again

    async def know_again(self, link: Link) -> None:
        """Send a worker what it may lack of the chunks that were adopted with it."""
        worker = self._roster.workers.get(link)
        held = worker.leases if worker is not None else ()
        for lease in [self._leases[lease_id] for lease_id in held]:
            if lease.adopted and lease.row.pending.chunk:
                offer = Queued(lease.row, None, None)
                assignment = await late_assignments.make(self._cache, offer)
                if not assignment or offer.given is None or not offer.given.more:
                    continue
                iterations = offer.given.iterations
                lease.more, lease.out = (
                    True,
                    {iteration.path: iteration for iteration in iterations},
                )
                for frame in further_frames(lease.id, iterations, more=True):
                    link.send(frame)

    async def forgot(self, link: Link, digests: list[str], shared: Sequence[str] = ()) -> None:
        """A worker needs playbooks again, or values that its assignments share."""
        worker = self._roster.workers.get(link)
        if worker is not None and shared:
            for value in self._parcels.again(worker.leases, list(dict.fromkeys(shared))):
                link.send(value)
        for digest in dict.fromkeys(digests):  # named many times, it is sent once
            try:
                program = await self._cache.program(digest)
            except UnavailableError:
                raise
            except PetraError as error:
                raise BreachError(f"it wants what nobody gave it: {error}") from None
            if worker is not None and not await self._is_theirs(worker, digest):
                raise BreachError("it wants a playbook of another namespace")
            text = program.text
            link.send(frames.PlaybookText(digest=digest, text=text, gives=self._gives))

    async def _is_theirs(self, worker: WorkerSeen, digest: str) -> bool:
        """Tell whether a playbook is of a namespace whose runs a worker may do."""
        allowed = worker.bounds.namespaces
        if allowed is None:
            return True
        rows = [await self._store.playbook(digest, namespace) for namespace in sorted(allowed)]
        return any(row is not None for row in rows)
