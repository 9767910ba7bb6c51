"""Accounts and the audit in PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

from petra.store.accounts import (
    ACCOUNTS_MAX,
    RECENT,
    Account,
    AuditRow,
    account_of,
    chained,
    note_columns,
    note_of,
)
from petra.store.queries import Fetch, load_queries
from petra.store.rows import AuditNote

T = TypeVar("T")
_SQL = load_queries("postgres")


class Writing(Protocol):
    """How a store runs something on a connection, in a transaction; again where another one was quicker."""

    def __call__(self, work: Callable[[Any], Awaitable[T]], /) -> Awaitable[T]:
        """Run it."""


class PostgresAccounts:
    """See ``petra.store.accounts``."""

    def __init__(self, fetch: Fetch, write: Writing) -> None:
        self._fetch = fetch
        self._write = write

    async def account(self, kind: str, name: str) -> Account | None:
        """Return an account, or None."""
        rows = await self._fetch("account", kind, name)
        return account_of(rows[0]) if rows else None

    async def accounts(
        self, kind: str, *, after: str = "", limit: int = ACCOUNTS_MAX
    ) -> list[Account]:
        """List accounts of a kind by name."""
        return [account_of(row) for row in await self._fetch("accounts", kind, after, limit)]

    async def keep(self, account: Account, note: AuditNote | None = None) -> bool:
        """Store an account; False where it is not at the version before this one."""

        async def work(connection: Any) -> bool:
            new = account.version == 1
            done = await connection.fetchval(
                _SQL["insert_account" if new else "update_account"],
                account.kind, account.name, account.version, account.body, account.until,
            )  # fmt: skip
            await append_notes(connection, note if done is not None else None)
            return done is not None

        return await self._write(work)

    async def forget(self, kind: str, name: str, note: AuditNote | None = None) -> bool:
        """Delete an account."""

        async def work(connection: Any) -> bool:
            known = await connection.fetchval(_SQL["forget_account"], kind, name) is not None
            await append_notes(connection, note if known else None)
            return known

        return await self._write(work)

    async def forget_old(self, before: float) -> int:
        """Delete the accounts that were good until then."""

        async def work(connection: Any) -> int:
            return len(await connection.fetch(_SQL["forget_old_accounts"], before))

        return await self._write(work)

    async def note(self, notes: Sequence[AuditNote], *, again: bool = False) -> None:
        """Append to the audit."""

        async def work(connection: Any) -> None:
            if not (again and await has_noted(connection, notes[0])):
                await append_notes(connection, *notes)

        await self._write(work)

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
        query, end = ("audit", after) if before is None else ("audit_backwards", before)
        rows = await self._fetch(query, end, limit, namespace, actor)
        return [note_of(row) for row in rows]


async def append_notes(connection: Any, *notes: AuditNote | None) -> None:
    """Append what is to be noted, if anything is; last in its transaction, for others who note something wait."""
    fresh = [note for note in notes if note is not None]
    if fresh:
        await connection.execute(_SQL["lock_audit"])
        last = await connection.fetchrow(_SQL["audit_end"])
        rows = chained(note_of(last) if last else None, fresh)
        await connection.executemany(_SQL["note"], [note_columns(row) for row in rows])


async def has_noted(connection: Any, note: AuditNote) -> bool:
    """Tell whether something was noted lately."""
    arguments = (RECENT, note.at, note.body)
    return await connection.fetchval(_SQL["has_noted"], *arguments) is not None
