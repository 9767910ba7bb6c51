"""Guests: runs that workers here have from another engine, which lives and acts for them still.

Rule 1: a worker may move while its engine lives: a proxy sends it elsewhere, or the way is broken. What it runs is its own as
long as whoever acts for it is told so: each beat is passed on as a hint, by the name of the lease, which nobody can guess.
Rule 2: what a guest reports is passed on as a letter, like anything that reaches the wrong engine, if the store says that
its lease is for that very delivery. It is acknowledged when the letter is durable.
Rule 3: whoever acts for a shard and does not know a lease of it says so, and the run is stopped. A hint that is lost costs a beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from petra.engine.custody import Custody
from petra.engine.lease_names import shard_named
from petra.engine.shards import Shards
from petra.engine.workers import Link, Queue, remember
from petra.store.base import Store
from petra.store.bus import Bus
from petra.store.errors import UnavailableError

HELD: Final = "held"
"""The hint that a worker still has a run under a lease."""
ENDED: Final = "ended"
"""The hint that a lease has ended."""


class Guests:
    """Looks after the runs that workers brought along from engines that live."""

    def __init__(self, store: Store, custody: Custody, shards: Shards, bus: Bus) -> None:
        self._store = store
        self._custody = custody
        self._shards = shards
        self._bus = bus

    # Where the worker is

    async def came(self, link: Link) -> None:
        """Find out which of the leases that a worker named are those of other engines."""
        worker = self._custody.roster.workers.get(link)
        if worker is None or not worker.awaited:
            return
        try:
            rows = await self._store.leased(worker.awaited)
        except UnavailableError:
            return  # they are waited for, as before
        for row in rows:
            may = worker.may_do(Queue(row.pending.pool, row.namespace))
            if may and not self._shards.owns(row.execution) and row.lease in worker.awaited:
                del worker.awaited[row.lease]
                worker.guests[row.lease] = row
                remember(worker.served, row.execution)
                self._bus.tell(f"{HELD} {row.lease}")

    def beat(self, link: Link, leases: Sequence[str]) -> None:
        """A worker is alive: say so to whoever acts for what it has from others."""
        worker = self._custody.roster.workers.get(link)
        if worker is not None and worker.guests:
            self._bus.tell(*(f"{HELD} {lease}" for lease in leases if lease in worker.guests))

    # Where its run is decided about

    def heard(self, hint: str) -> bool:
        """Take a hint of another engine; False where it is about something else."""
        what, _, lease = hint.partition(" ")
        if what == HELD:
            self._held(lease)
        elif what == ENDED:
            self._custody.dismiss(lease)
        return what in (HELD, ENDED)

    def _held(self, lease: str) -> None:
        if lease in self._custody.leases:
            self._custody.held_elsewhere(lease)
        elif self._shards.sure and shard_named(lease) in (self._shards.epochs or ()):
            self._bus.tell(f"{ENDED} {lease}")
