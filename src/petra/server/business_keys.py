"""Business keys: of the executions of a playbook that have not ended, one at most has a key of the caller's (server.md §7).

Rule 1: who has a key is found by the label of the execution, from an index; it is free again when that one has ended.
Rule 2: between looking and the first record stands a claim, a row that one of two can write, at whatever server. It is
good for ten minutes: then the execution is there, or will never be.
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

import msgspec

from petra.clock import Clock
from petra.engine.admit import BUSINESS_KEY
from petra.server.problems import ProblemError
from petra.store.accounts import Account
from petra.store.base import Store
from petra.store.rows import ExecutionFilter

CLAIM: Final = "business-key"
CLAIM_S: Final = 600.0
LIVE: Final = ("running", "waiting", "stuck", "paused", "compensating")


class BusinessKey(NamedTuple):
    """A key, and where it is unique."""

    namespace: str
    playbook: str
    key: str


class Claim(msgspec.Struct, frozen=True):
    """Who is about to start something under a key: as which execution, by which command."""

    execution: str
    command: str
    until: float


class BusinessKeys:
    """Knows who has which key."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def holder(self, key: BusinessKey) -> str:
        """Return the execution that has a key and has not ended; nothing where it is free."""
        wanted = ExecutionFilter(
            namespace=key.namespace, playbook=key.playbook, labels=((BUSINESS_KEY, key.key),), statuses=LIVE
        )  # fmt: skip
        page = await self._store.executions(wanted, limit=1)
        return page.rows[0].row.id if page.rows else ""

    async def claim(self, key: BusinessKey, execution: str, command: str) -> str:
        """Claim a key for an execution that is about to start; return that, or the one that the same command claimed.

        Raises:
            ProblemError: somebody else has it, or is about to.
        """
        name = _name(key)
        accounts, now = self._store.accounts, self._clock.now()
        known = await accounts.account(CLAIM, name)
        if known is not None:
            claim = msgspec.json.decode(known.body, type=Claim)
            if command and claim.command == command:
                return claim.execution
            begun = await self._store.execution(claim.execution)
            if begun is None and claim.until > now:
                raise ProblemError(
                    "taken", f"execution '{claim.execution}' is being started with it"
                )
        fresh = Claim(execution, command, now + CLAIM_S)
        row = Account(
            kind=CLAIM, name=name, version=known.version + 1 if known is not None else 1,
            body=msgspec.json.encode(fresh), until=fresh.until,
        )  # fmt: skip
        if not await accounts.keep(row):
            raise ProblemError("taken", "somebody else starts one with it at this moment")
        taken = await self.holder(key)  # it may have begun since somebody looked
        if taken:
            raise ProblemError("taken", f"execution '{taken}' has it, and has not ended")
        return execution

    async def release(self, key: BusinessKey, execution: str) -> None:
        """Give a claim back: what it was for did not start."""
        known = await self._store.accounts.account(CLAIM, _name(key))
        if known is not None and msgspec.json.decode(known.body, type=Claim).execution == execution:
            await self._store.accounts.forget(CLAIM, known.name)


def _name(key: BusinessKey) -> str:
    return hashlib.sha256("\0".join(key).encode()).hexdigest()
