"""Dispatch: step runs go to workers that have room, under leases (architecture: ownership and leases).

Rule 1: a run is handed out under a fresh lease. A heartbeat prolongs it; without one it runs out, and the
kernel decides about redelivery.
Rule 2: workers offer room; nothing is sent beyond it.
Rule 3: what workers hold is memory, not truth: after a restart every assignment that is out is handed out
anew, and late reports of old deliveries are rejected by the kernel.
"""

from __future__ import annotations

import itertools
import logging
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from petra.clock import Clock
from petra.engine.entries import Entries, Entry
from petra.kernel import assignment
from petra.playbook import to_yaml
from petra.store.errors import StoreError
from petra.store.rows import PendingRow
from petra.wire import Assignment, frames

LEASE_S = 30.0
SWEEP_S = 1.0
ASSIGN_MAX = 256

_log = logging.getLogger(__name__)


class Link(Protocol):
    """The engine's end of a connection to a worker."""

    def send(self, frame: frames.AnyFrame) -> None:
        """Send a frame, in order, without waiting; a broken connection is noticed elsewhere."""


@dataclass(slots=True, eq=False)
class _Worker:
    """A worker as the engine sees it."""

    link: Link
    name: str
    pool: str
    credit: int
    playbooks: set[str] = field(default_factory=set)
    leases: set[str] = field(default_factory=set)
    drains: bool = False


@dataclass(slots=True)
class Lease:
    """The right of a worker to do an assignment, until it runs out."""

    id: str
    row: PendingRow
    worker: _Worker
    expires: float


class Dispatcher:
    """Hands assignments to workers and keeps their leases."""

    def __init__(
        self,
        entries: Entries,
        clock: Clock,
        expired: Callable[[PendingRow], None],
        lease_s: float = LEASE_S,
    ) -> None:
        self._entries = entries
        self._clock = clock
        self._expired = expired
        self._lease_s = lease_s
        # A lease of this dispatcher is never taken for one of another, which had the store before.
        self._name = secrets.token_hex(6)
        self._numbers = itertools.count(1)
        self._waiting: dict[str, deque[PendingRow]] = {}
        self._workers: dict[Link, _Worker] = {}
        self._leases: dict[str, Lease] = {}
        self._by_run: dict[tuple[str, str], set[str]] = {}

    # From the engine

    def offer(self, row: PendingRow) -> None:
        """Put an assignment up for the workers of its pool."""
        self._waiting.setdefault(row.pending.pool, deque()).append(row)

    async def pump(self) -> None:
        """Send what workers have room for; what the store cannot give now waits for the next sweep."""
        for pool, waiting in list(self._waiting.items()):
            while waiting and (worker := self._free(pool)) is not None:
                try:
                    await self._fill(worker, waiting)
                except StoreError as error:
                    _log.warning("assignments wait: %s", error)
                    break

    def _free(self, pool: str) -> _Worker | None:
        ready = [
            w for w in self._workers.values() if w.pool == pool and w.credit > 0 and not w.drains
        ]
        return max(ready, key=lambda worker: worker.credit, default=None)

    async def _fill(self, worker: _Worker, waiting: deque[PendingRow]) -> None:
        made: list[Assignment] = []
        try:
            while waiting and worker.credit > 0 and len(made) < ASSIGN_MAX:
                entry = self._entries.cached(waiting[0].execution)
                if entry is None:
                    await self._entries.load(waiting[0].execution)  # others may take it meanwhile
                    continue
                given = self._assignment(worker, waiting.popleft(), entry)
                if given is not None:
                    worker.credit -= 1
                    made.append(given)
        finally:
            if made:
                worker.link.send(frames.Assign(assignments=made))

    def _assignment(self, worker: _Worker, row: PendingRow, entry: Entry) -> Assignment | None:
        pending = row.pending
        run = entry.state.runs.get(pending.run)
        if run is None or (pending.chunk and pending.chunk not in run.chunks):
            return None  # it was withdrawn before a worker had room
        current = run.chunks[pending.chunk] if pending.chunk else run
        if current.delivery != pending.delivery:
            return None  # a later delivery is waiting too
        digest = entry.program.digest
        if digest not in worker.playbooks:
            worker.playbooks.add(digest)
            worker.link.send(frames.Playbook(digest=digest, text=to_yaml(entry.program.playbook)))
        lease = f"{self._name}-{next(self._numbers)}"
        expires = self._clock.monotonic() + self._lease_s
        self._leases[lease] = Lease(lease, row, worker, expires)
        worker.leases.add(lease)
        self._by_run.setdefault((row.execution, pending.run), set()).add(lease)
        return assignment(
            entry.program,
            entry.state,
            pending.run,
            pending.chunk,
            lease=lease,
            lease_s=self._lease_s,
        )

    def stop(self, execution: str, run: str, reason: str) -> None:
        """Tell whoever does a run to stop; its leases end here."""
        stopped: dict[Link, list[str]] = {}
        for lease_id in self._by_run.pop((execution, run), set()):
            lease = self._end(lease_id)
            if lease is not None:
                stopped.setdefault(lease.worker.link, []).append(lease_id)
        for link, leases in stopped.items():
            link.send(frames.Cancel(leases=leases, reason=reason))

    # From workers

    def hello(self, link: Link, hello: frames.Hello) -> None:
        """Take in a worker; what it still works on and is no longer its own is cancelled."""
        worker = _Worker(link, hello.worker, hello.pool, hello.credit or hello.slots)
        self._workers[link] = worker
        lost = [lease for lease in hello.leases if lease not in self._leases]
        for lease_id in set(hello.leases) - set(lost):
            lease = self._leases[lease_id]
            lease.worker.leases.discard(lease_id)  # else the end of the old connection would take it
            lease.worker = worker
            lease.expires = self._clock.monotonic() + self._lease_s
            worker.leases.add(lease_id)
        if lost:
            link.send(frames.Cancel(leases=lost, reason="the lease has run out"))

    def credit(self, link: Link, slots: int) -> None:
        """A worker has more room."""
        if link in self._workers:
            self._workers[link].credit += slots

    def heartbeat(self, link: Link, leases: list[str]) -> None:
        """A worker is alive; only its own leases are prolonged."""
        expires = self._clock.monotonic() + self._lease_s
        for lease_id in leases:
            lease = self._leases.get(lease_id)
            if lease is not None and lease.worker.link is link:
                lease.expires = expires

    def reported(self, lease_id: str) -> None:
        """The work under a lease is done."""
        lease = self._end(lease_id)
        if lease is not None:
            key = (lease.row.execution, lease.row.pending.run)
            known = self._by_run.get(key)
            if known is not None:
                known.discard(lease_id)
                if not known:
                    del self._by_run[key]

    async def forgot(self, link: Link, digests: list[str]) -> None:
        """A worker needs playbooks again."""
        for digest in digests:
            program = await self._entries.program(digest)
            link.send(frames.Playbook(digest=digest, text=to_yaml(program.playbook)))

    def drain(self, link: Link) -> None:
        """A worker wants nothing more."""
        if link in self._workers:
            self._workers[link].drains = True

    def gone(self, link: Link) -> None:
        """A worker is gone for good; what it had is lost at once."""
        worker = self._workers.pop(link, None)
        for lease_id in sorted(worker.leases) if worker is not None else ():
            self._lose(lease_id)

    def sweep(self) -> None:
        """Take back the leases that have run out."""
        now = self._clock.monotonic()
        for lease_id in [key for key, lease in self._leases.items() if lease.expires <= now]:
            self._lose(lease_id)

    def _lose(self, lease_id: str) -> None:
        lease = self._leases.get(lease_id)
        if lease is not None:
            self.reported(lease_id)
            self._expired(lease.row)

    def _end(self, lease_id: str) -> Lease | None:
        lease = self._leases.pop(lease_id, None)
        if lease is not None:
            lease.worker.leases.discard(lease_id)
        return lease
