"""Who may come in, and what they did: rows beside the log that a store keeps and reads no meaning into.

Rule 1: an account changes only from the version that its writer saw: of two who change it at once, one is told.
Rule 2: the audit grows at its end, without gaps, each entry with the hash of the one before it; nothing in it is changed
or deleted. What is noted with a change is there exactly if that is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from petra.store.rows import AuditNote, Row

ACCOUNTS_MAX = 1_000
"""So many are listed at once."""
GENESIS: Final = b"\0" * 32
"""What the first entry of the audit follows."""
RECENT: Final = 1_000
"""An entry that was perhaps written is looked for among so many, the last ones."""


class Account(Row, frozen=True):
    """A user, a token, a session, a namespace. A new one has version 1, each change one more.

    ``until`` is when it may be forgotten.
    """

    kind: str
    name: str
    version: int
    body: bytes
    until: float | None = None


class AuditRow(Row, frozen=True):
    """One entry of the audit. ``previous`` is the hash of the entry before it."""

    number: int
    at: float
    namespace: str
    actor: str
    hash: bytes
    previous: bytes
    body: bytes


class Accounts(Protocol):
    """The part of a store that knows who may come in."""

    async def account(self, kind: str, name: str) -> Account | None:
        """Return an account, or None."""

    async def accounts(
        self, kind: str, *, after: str = "", limit: int = ACCOUNTS_MAX
    ) -> list[Account]:
        """List accounts of a kind by name, beginning behind ``after``."""

    async def keep(self, account: Account, note: AuditNote | None = None) -> bool:
        """Store an account durably, and note that; False where it is not at the version before this one."""

    async def forget(self, kind: str, name: str, note: AuditNote | None = None) -> bool:
        """Delete an account, and note that; False where there is none."""

    async def forget_old(self, before: float) -> int:
        """Delete the accounts that were good until then; return how many."""

    async def note(self, notes: Sequence[AuditNote], *, again: bool = False) -> None:
        """Append to the audit, durably; ``again`` says that the same were perhaps appended before."""

    async def audit(
        self,
        *,
        after: int = 0,
        limit: int = ACCOUNTS_MAX,
        namespace: str | None = None,
        actor: str | None = None,
        before: int | None = None,
    ) -> list[AuditRow]:
        """List entries behind a number, oldest first; with ``before`` those before that one, newest first."""


def chained(last: AuditRow | None, notes: Sequence[AuditNote]) -> list[AuditRow]:
    """Return entries that follow the last one."""
    rows: list[AuditRow] = []
    number, previous = (last.number, last.hash) if last is not None else (0, GENESIS)
    for note in notes:
        number += 1
        row = AuditRow(
            number=number, at=note.at, namespace=note.namespace, actor=note.actor, hash=b"", previous=previous,
            body=note.body,
        )  # fmt: skip
        previous = hash_of(row)
        rows.append(msgspec.structs.replace(row, hash=previous))
    return rows


def hash_of(row: AuditRow) -> bytes:
    """Return the hash of an entry: over all that it says and the hash before it."""
    head = msgspec.json.encode([row.number, row.at, row.namespace, row.actor])
    return hashlib.sha256(row.previous + head + b"\n" + row.body).digest()


def account_of(row: Sequence[Any]) -> Account:
    """Read an account as the databases give it back."""
    return Account(kind=row[0], name=row[1], version=row[2], body=row[3], until=row[4])


def note_of(row: Sequence[Any]) -> AuditRow:
    """Read an entry of the audit as the databases give it back."""
    return AuditRow(
        number=row[0], at=row[1], namespace=row[2], actor=row[3], hash=row[4], previous=row[5], body=row[6]
    )  # fmt: skip


def note_columns(row: AuditRow) -> tuple[Any, ...]:
    """Return an entry as the databases take it."""
    return (row.number, row.at, row.namespace, row.actor, row.hash, row.previous, row.body)
