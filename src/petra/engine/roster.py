"""The roster: which workers are there, which pool they serve, and how much room they have.

Rule 1: a worker is there from its hello to the end of its connection; one that says nothing for too long gets nothing more.
Rule 2: workers offer room, at most so much as their slots allow.
"""

from __future__ import annotations

from collections.abc import Callable

from petra.clock import Clock
from petra.engine.limits import CREDIT_PER_SLOT, STALE_S
from petra.engine.manners import BreachError
from petra.engine.room import RoomOffered
from petra.engine.workers import NO_KINDS, Link, Queue, Seen, WorkerSeen
from petra.namespaces import DEFAULT
from petra.wire.connection import NonsenseError
from petra.wire.frames import Unknown


class Roster:
    """The workers that are there, by their connections."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.workers: dict[Link, WorkerSeen] = {}
        self._room = RoomOffered()
        self.kept: dict[Link, Callable[[], None]] = {}
        """What ends each worker that somebody here keeps."""
        self.unknown = 0
        """Frames that workers said and this version does not know."""
        self.troubles: dict[str, str] = {}
        """What their keeper saw last, by pool."""
        self.closed = False
        """Whether nobody is given anything more, since this process is about to end."""

    # Coming and going

    def add(self, worker: WorkerSeen) -> None:
        """A worker is there."""
        self.workers[worker.link] = worker
        self._room.offers(worker)

    def remove(self, link: Link) -> WorkerSeen | None:
        """The worker of a connection is there no more; return it."""
        worker = self.workers.pop(link, None)
        if worker is not None:
            self._room.gone(worker)
        return worker

    def keep(self, link: Link, overdue: Callable[[], None]) -> None:
        """A worker is kept: one of its leases that runs out is not lost before ``overdue`` has ended the worker."""
        self.kept[link] = overdue

    def heard(self, link: Link) -> None:
        """A worker has said something, so it is there."""
        worker = self.workers.get(link)
        if worker is not None:
            worker.silent = False
            worker.skipped.known()
            if link in self.kept:
                worker.heard = self._clock.monotonic()
            self._room.offers(worker)

    def skip(self, link: Link, frame: Unknown) -> bool:
        """A worker says what this version does not know; tell whether it is the first of its name from this one.

        Raises:
            BreachError: it is too much.
        """
        worker = self.workers.get(link)
        if worker is None:
            raise BreachError(f"it said '{frame}' before hello")
        self.unknown += 1
        try:
            return worker.skipped.take(frame)
        except NonsenseError as error:
            raise BreachError(str(error)) from None

    def credit(self, link: Link, slots: int) -> None:
        """A worker has more room."""
        worker = self.workers[link]
        worker.credit += slots
        if worker.credit > CREDIT_PER_SLOT * worker.slots:
            raise BreachError(
                f"it offers room for {worker.credit:,} runs and has {worker.slots} slots"
            )
        self._room.offers(worker)

    def give_back(self, link: Link, count: int) -> None:
        """A worker has the room again that was meant for so many assignments."""
        worker = self.workers.get(link)
        if worker is not None:
            worker.credit += count
            self._room.offers(worker)

    def drain(self, link: Link) -> None:
        """A worker wants nothing more."""
        if link in self.workers:
            self.workers[link].drains = True

    # Asking

    def free(self, queue: Queue) -> WorkerSeen | None:
        """Return the worker of a pool, for a namespace, that has most room, if any has."""
        if self.closed:
            return None
        stale = self._clock.monotonic() - STALE_S if self.kept else 0.0

        def ready(worker: WorkerSeen) -> bool:
            return (
                worker.credit > 0
                and not worker.drains
                and not worker.silent
                and worker.heard >= stale
            )

        return self._room.most(queue, ready)

    def there(self) -> list[WorkerSeen]:
        """Return the workers that are there, by pool and name."""
        return sorted(self.workers.values(), key=lambda worker: (worker.pool, worker.name))

    def seen(self) -> list[Seen]:
        """Return the workers as others are told of them."""
        return [worker.seen() for worker in self.there()]

    def is_served(
        self, pool: str, namespace: str = DEFAULT, kinds: frozenset[str] = NO_KINDS
    ) -> bool:
        """Tell whether a pool has a worker that takes runs of a namespace that need some kinds of tools."""
        queue = Queue(pool, namespace, kinds)
        return any(worker.may_do(queue) and not worker.drains for worker in self.workers.values())

    def let(self, queue: Queue) -> list[WorkerSeen]:
        """Return the workers that would take what waits there, if they knew the tools for it."""
        return [
            worker for worker in self.workers.values() if worker.is_let(queue) and not worker.drains
        ]

    def at_work(self, pool: str) -> int:
        """Return how many runs are with workers of a pool."""
        return sum(len(worker.leases) for worker in self.workers.values() if worker.pool == pool)

    def kept_at_work(self) -> int:
        """Return how many runs are with workers that somebody here keeps: they end with this process."""
        return sum(len(self.workers[link].leases) for link in self.kept if link in self.workers)

    def greeted(self, link: Link) -> bool:
        """Tell whether a worker has said hello on a connection, and not goodbye."""
        return link in self.workers

    def serves(self, link: Link, execution: str) -> bool:
        """Tell whether a worker has, or had, a run of an execution."""
        worker = self.workers.get(link)
        return worker is not None and execution in worker.served

    def name_of(self, link: Link) -> str:
        """Return what the worker of a connection is called, if there is one."""
        worker = self.workers.get(link)
        return worker.name if worker is not None else ""
