"""Giving stored credentials to workers (S20).

Rule 1: a worker gets one only while it holds a lease of an execution whose playbook declares that name, of the namespace of
that execution, in a pool that the secret allows. The worker beside the engine is no exception.
Rule 2: a worker that asks for a name which none of its playbooks declares breaks the protocol, and is dropped.
Rule 3: that it was given, or refused to a pool, is noted before the value goes out.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from petra.engine.cache import Cache
from petra.engine.leases import Leases
from petra.engine.manners import BreachError
from petra.engine.workers import Lease, Link
from petra.errors import PetraError
from petra.keychain import KeychainError
from petra.keychain.stored import STORED_KINDS, stored_as
from petra.playbook import Playbook
from petra.wire import frames


class Delivery(NamedTuple):
    """A credential that a worker asks for, and what for."""

    namespace: str
    name: str
    version: int | None
    pool: str
    execution: str
    run: str
    worker: str
    account: str


class SecretKeeper(Protocol):
    """Who has the stored credentials of a server."""

    async def lacks(self, namespace: str, pool: str, name: str, version: int | None = None) -> str:
        """Say why workers of a pool do not get a credential of a namespace; nothing, if they do."""

    async def give(self, delivery: Delivery) -> Any:
        """Return a credential, once it is noted that it was given.

        Raises:
            KeychainError: there is none, or not for that pool.
        """

    async def reveal(self, namespace: str, name: str) -> Any:
        """Return a credential for what the server itself does: verify a webhook, listen to a database.

        Raises:
            KeychainError: there is none.
        """


class Giving:
    """Answers workers that ask for stored credentials."""

    def __init__(self, keeper: SecretKeeper | None, leases: Leases, cache: Cache) -> None:
        self.keeper = keeper
        self._leases = leases
        self._cache = cache

    async def answer(self, link: Link, frame: frames.Reveal) -> frames.Revealed:
        """Return the answer to a worker.

        Raises:
            BreachError: no honest worker asks for that.
        """
        lease = self._leases.get(frame.lease)
        if lease is None or lease.worker.link is not link:
            return _refused(frame, "the lease has run out", "connection")
        try:
            entry = await self._cache.load(lease.row.execution)
        except PetraError as error:
            return _refused(frame, str(error), "connection")
        if frame.name not in declared(entry.program.playbook):
            raise BreachError(
                f"it wants credential '{frame.name[:100]}', which no playbook of its runs names"
            )
        try:
            value = await self._had(frame, lease, entry.state.namespace)
        except KeychainError as error:
            return _refused(frame, str(error), error.kind)
        except PetraError as error:  # the store is away, or nothing can be noted
            return _refused(
                frame, f"credential '{frame.name}' cannot be had now: {error}", "connection"
            )
        if self._leases.get(frame.lease) is not lease:
            return _refused(frame, "the lease has run out", "connection")
        return frames.Revealed(number=frame.number, value=value)

    async def _had(self, frame: frames.Reveal, lease: Lease, namespace: str) -> Any:
        if self.keeper is None:
            raise KeychainError(f"this server has no credential '{frame.name}'", "not_found")
        pool, worker = lease.row.pending.pool, lease.worker
        if frame.dry:
            why = await self.keeper.lacks(namespace, pool, frame.name, frame.version)
            if why:
                raise KeychainError(why, "not_found")
            return None
        return await self.keeper.give(
            Delivery(
                namespace=namespace, name=frame.name, version=frame.version, pool=pool, execution=lease.row.execution,
                run=lease.row.pending.run, worker=worker.name, account=worker.bounds.account,
            )
        )  # fmt: skip


def declared(playbook: Playbook) -> frozenset[str]:
    """Return the names of the stored credentials that a playbook may need."""
    return frozenset(stored_as(entry) for entry in playbook.keychain if entry.kind in STORED_KINDS)


def _refused(frame: frames.Reveal, problem: str, kind: str) -> frames.Revealed:
    return frames.Revealed(number=frame.number, problem=problem, kind=kind)
