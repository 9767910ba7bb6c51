"""What an engine knows of workers while they are there: links, leases, and what waits for them.

All of it is memory, not truth (``petra.engine.custody``, rule 4).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec import Struct, field

from petra.engine.limits import REMEMBERED_MAX
from petra.engine.parcels import SentValues
from petra.kernel import Program
from petra.namespaces import DEFAULT
from petra.store.rows import PendingRow
from petra.wire import Assignment, Iteration, frames
from petra.wire.connection import Skipped

OWN_POOL: Final = "default"
"""The pool of the workers that an engine keeps itself, which end with it."""
ALONE: Final = " (alone)"
"""What follows the name of a pool in that of its workers who do one run at a time, and nothing else."""


AWAY: Final = "a worker that has not come back yet"
"""What is said of whoever has a run that was taken over."""


NO_KINDS: Final[frozenset[str]] = frozenset()


class Queue(NamedTuple):
    """What waits for the same workers: those of a pool that may do runs of a namespace, and know some kinds of tools."""

    pool: str
    namespace: str = DEFAULT
    kinds: frozenset[str] = NO_KINDS


class Bounds(NamedTuple):
    """What a worker may do, as whoever let it in says."""

    pool: str | None = None
    """The pool that it may serve; None: any."""
    namespaces: frozenset[str] | None = None
    """The namespaces whose runs it may do; None: all."""
    account: str = ""
    """Who it is; nothing, for one that is kept here."""


ANYTHING: Final = Bounds()


class Link(Protocol):
    """The engine's end of a connection to a worker."""

    def send(self, frame: frames.AnyFrame) -> None:
        """Send a frame, in order, without waiting; a broken connection is noticed elsewhere."""


class HeardLink(Link, Protocol):
    """A connection that is listened to."""

    async def receive(self) -> list[frames.AnyFrame]:
        """Return the frames that have arrived, at least one.

        Raises:
            LostError: the connection is gone.
            NonsenseError: the worker says what is no frame.
        """


Acks = dict[Link, list[tuple[str, int]]]
"""Parts of reports that are durable, for whoever sent them."""


class Seen(msgspec.Struct, frozen=True):
    """A worker as others are told of it."""

    name: str
    pool: str
    slots: int
    busy: int
    """Runs that it has."""
    state: str
    """``ready``, ``drains``, or ``silent``: a lease of it ran out, and nothing was heard of it since."""
    namespaces: list[str] | None = None
    """Whose runs it may do; None: all."""
    kinds: list[str] | None = None
    """The kinds of tools that it knows; None: it did not say."""
    version: str = ""
    labels: dict[str, str] = {}


class WorkerSeen(Struct, eq=False):
    """A worker as the engine sees it."""

    link: Link
    name: str
    pool: str
    credit: int
    playbooks: set[tuple[str, str]] = field(default_factory=set)
    shared: SentValues = field(default_factory=SentValues)
    leases: set[str] = field(default_factory=set)
    slots: int = 1
    bounds: Bounds = ANYTHING
    kinds: frozenset[str] | None = None
    """The kinds of tools that it knows; None: it did not say, and gets runs of any."""
    version: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    session: str = ""
    """By which it is known when it comes back on another connection; nothing, if it cannot come back."""
    served: OrderedDict[str, None] = field(default_factory=OrderedDict)
    """Executions that it has had runs of."""
    claimed: frozenset[str] = frozenset()
    """Leases of engines that are gone, as it said: what it reports under them is taken from it and forgotten."""
    awaited: dict[str, float] = field(default_factory=dict)
    """Leases that another engine gave it, as it said, and until when we wait to become the one that acts for their runs."""
    guests: dict[str, PendingRow] = field(default_factory=dict)
    """Leases that another engine gave it and looks after still, and what they are for."""
    strange: int = 0
    """Reports under leases that nobody knows."""
    skipped: Skipped = field(default_factory=Skipped)
    """What it says that this version does not know."""
    drains: bool = False
    silent: bool = False
    """A lease of it ran out, and nothing was heard of it since."""
    heard: float = math.inf
    """When it was heard of last, of one that is kept: it beats often, and gets nothing while it does not."""

    def is_let(self, queue: Queue) -> bool:
        """Tell whether it serves a pool, and may do runs of a namespace, whatever tools they need."""
        allowed = self.bounds.namespaces
        return self.pool == queue.pool and (allowed is None or queue.namespace in allowed)

    def may_do(self, queue: Queue) -> bool:
        """Tell whether it is let to do what waits there, and knows the tools for it."""
        return self.is_let(queue) and (self.kinds is None or queue.kinds <= self.kinds)

    def seen(self) -> Seen:
        """Say what others are told of it."""
        state = "drains" if self.drains else "silent" if self.silent else "ready"
        allowed = self.bounds.namespaces
        namespaces = None if allowed is None else sorted(allowed)
        kinds = None if self.kinds is None else sorted(self.kinds)
        return Seen(
            self.name, self.pool, self.slots, len(self.leases), state, namespaces, kinds, self.version, self.labels
        )  # fmt: skip


class Lease(msgspec.Struct, eq=False):
    """The right of a worker to do an assignment, until it runs out.

    Of a chunk that is sent bit by bit, ``out`` are the iterations that were sent and not reported.
    """

    id: str
    row: PendingRow
    worker: WorkerSeen
    expires: float
    more: bool = False
    out: dict[tuple[int, ...], Iteration] = {}
    reporter: Link | None = None
    """Who has reported the last part of it, which is not durable yet; then it cannot run out."""
    last: int = 0
    """The number of that part."""

    adopted: bool = False
    """An engine that is gone gave it, to a worker elsewhere."""

    claim: frames.RunReport | None = None
    """That part itself: it is of what this is the right to, which need not be asked again."""

    def is_for(self, report: frames.RunReport) -> bool:
        """Tell whether a report is of what this is the right to."""
        return is_of(self.row, report)


def is_of(row: PendingRow, report: frames.RunReport) -> bool:
    """Tell whether a report is of the very delivery that a row is."""
    pending = row.pending
    return (
        report.run == pending.run
        and report.delivery == pending.delivery
        and report.execution == row.execution
        and report.chunk == pending.chunk
    )


class Queued(msgspec.Struct, eq=False):
    """An assignment that waits for a worker with room.

    It was made by the decision that handed it out, so it shows what is durable, and the same whenever it goes.
    """

    row: PendingRow
    given: Assignment | None
    program: Program | None
    rank: float = 0.0
    """Where it stands in its queue: the lowest goes out first."""
    gone: bool = False


def remember(known: OrderedDict[str, None], name: str) -> None:
    """Keep a name among those that came lately."""
    known[name] = None
    if len(known) > REMEMBERED_MAX:
        known.popitem(last=False)


def mark(row: PendingRow) -> str:
    """Return the name of a delivery."""
    pending = row.pending
    return f"{row.execution}/{pending.run}/{pending.chunk}/{pending.delivery}"
