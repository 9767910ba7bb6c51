"""Accounts and the audit in SQLite."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import apsw

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
from petra.store.queries import load_queries
from petra.store.remembered import Remembered
from petra.store.rows import AuditNote

T = TypeVar("T")
_SQL = load_queries("sqlite")


class Run(Protocol):
    """How a store runs something on a connection, in a transaction."""

    def __call__(self, work: Callable[[apsw.Connection], T], /) -> Awaitable[T]:
        """Run it."""


class SqliteAccounts:
    """See ``petra.store.accounts``."""

    def __init__(self, read: Run, write: Run, *, shared: bool) -> None:
        """Make it; where the file is ``shared``, others write it, too, and nothing of it is remembered."""
        self._read = read
        self._write = write
        self._known = Remembered[tuple[str, str], Account](shared=shared)

    async def account(self, kind: str, name: str) -> Account | None:
        """Return an account, or None."""
        ask: Callable[[apsw.Connection], Account | None] = lambda c: _account(c, kind, name)  # noqa: E731 - typed
        return await self._known.get((kind, name), lambda: self._read(ask))

    async def accounts(
        self, kind: str, *, after: str = "", limit: int = ACCOUNTS_MAX
    ) -> list[Account]:
        """List accounts of a kind by name."""
        arguments = (kind, after, limit)
        return await self._read(
            lambda c: [account_of(row) for row in c.execute(_SQL["accounts"], arguments)]
        )

    async def keep(self, account: Account, note: AuditNote | None = None) -> bool:
        """Store an account; False where it is not at the version before this one."""

        def work(connection: apsw.Connection) -> bool:
            known = _account(connection, account.kind, account.name)
            if (known.version if known is not None else 0) != account.version - 1:
                return False
            row = (account.kind, account.name, account.version, account.body, account.until)
            connection.execute(_SQL["keep_account"], row)
            append_notes(connection, note)
            return True

        with self._known.changing((account.kind, account.name)):
            return await self._write(work)

    async def forget(self, kind: str, name: str, note: AuditNote | None = None) -> bool:
        """Delete an account."""

        def work(connection: apsw.Connection) -> bool:
            known = bool(_changed(connection, "forget_account", (kind, name)))
            append_notes(connection, note if known else None)
            return known

        with self._known.changing((kind, name)):
            return await self._write(work)

    async def forget_old(self, before: float) -> int:
        """Delete the accounts that were good until then."""
        with self._known.changing():
            return await self._write(lambda c: _changed(c, "forget_old_accounts", (before,)))

    async def note(self, notes: Sequence[AuditNote], *, again: bool = False) -> None:
        """Append to the audit."""

        def work(connection: apsw.Connection) -> None:
            if not (again and has_noted(connection, notes[0])):
                append_notes(connection, *notes)

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
        arguments = {
            "after": after,
            "limit": limit,
            "namespace": namespace,
            "actor": actor,
            "before": before,
        }
        query = _SQL["audit" if before is None else "audit_backwards"]
        return await self._read(lambda c: [note_of(row) for row in c.execute(query, arguments)])


def append_notes(connection: apsw.Connection, *notes: AuditNote | None) -> None:
    """Append what is to be noted, if anything is, in a transaction that the caller began."""
    fresh = [note for note in notes if note is not None]
    if fresh:
        last = connection.execute(_SQL["audit_end"]).fetchone()
        rows = chained(note_of(last) if last else None, fresh)
        connection.executemany(_SQL["note"], [note_columns(row) for row in rows])


def has_noted(connection: apsw.Connection, note: AuditNote) -> bool:
    """Tell whether something was noted lately."""
    arguments = (RECENT, note.at, note.body)
    return connection.execute(_SQL["has_noted"], arguments).fetchone() is not None


def _account(connection: apsw.Connection, kind: str, name: str) -> Account | None:
    row = connection.execute(_SQL["account"], (kind, name)).fetchone()
    return account_of(row) if row else None


def _changed(connection: apsw.Connection, query: str, arguments: tuple[Any, ...]) -> int:
    connection.execute(_SQL[query], arguments)
    return connection.changes()
