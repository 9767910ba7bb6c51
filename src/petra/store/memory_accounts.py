"""Accounts and the audit in memory: the reference of that part of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from petra.store.accounts import ACCOUNTS_MAX, RECENT, Account, AuditRow, chained
from petra.store.rows import AuditNote


class MemoryAccounts:
    """See ``petra.store.accounts``."""

    def __init__(self) -> None:
        self._accounts: dict[tuple[str, str], Account] = {}
        self._audit: list[AuditRow] = []

    async def account(self, kind: str, name: str) -> Account | None:
        """Return an account, or None."""
        return self._accounts.get((kind, name))

    async def accounts(
        self, kind: str, *, after: str = "", limit: int = ACCOUNTS_MAX
    ) -> list[Account]:
        """List accounts of a kind by name."""
        accounts = [
            account
            for account in self._accounts.values()
            if account.kind == kind and account.name > after
        ]
        return sorted(accounts, key=lambda account: account.name)[:limit]

    async def keep(self, account: Account, note: AuditNote | None = None) -> bool:
        """Store an account; False where it is not at the version before this one."""
        known = self._accounts.get((account.kind, account.name))
        if (known.version if known is not None else 0) != account.version - 1:
            return False
        self._accounts[account.kind, account.name] = account
        self.add_notes(note)
        return True

    async def forget(self, kind: str, name: str, note: AuditNote | None = None) -> bool:
        """Delete an account."""
        known = self._accounts.pop((kind, name), None) is not None
        self.add_notes(note if known else None)
        return known

    async def forget_old(self, before: float) -> int:
        """Delete the accounts that were good until then."""
        old = [
            key
            for key, account in self._accounts.items()
            if account.until is not None and account.until < before
        ]
        for key in old:
            del self._accounts[key]
        return len(old)

    async def note(self, notes: Sequence[AuditNote], *, again: bool = False) -> None:
        """Append to the audit."""
        if not (again and self.has_noted(notes[0])):
            self.add_notes(*notes)

    def has_noted(self, note: AuditNote) -> bool:
        """Tell whether something was noted lately."""
        return any((row.at, row.body) == (note.at, note.body) for row in self._audit[-RECENT:])

    def add_notes(self, *notes: AuditNote | None) -> None:
        """Append what is to be noted, if anything is."""
        last = self._audit[-1] if self._audit else None
        self._audit += chained(last, [note for note in notes if note is not None])

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
        rows = (
            self._audit if before is None else self._audit[before - 2 :: -1] if before > 1 else []
        )
        wanted = (
            row for row in rows
            if row.number > after and namespace in (None, row.namespace) and actor in (None, row.actor)
        )  # fmt: skip
        return list(islice(wanted, limit))
