"""Notifications in memory: the reference of that part of the protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec

from petra.store.judge import read_cursor
from petra.store.memory_accounts import MemoryAccounts
from petra.store.notifications import NOTIFICATIONS_MAX
from petra.store.paging import latest_first
from petra.store.rows import AuditNote, NotificationFilter, NotificationRow, Page, shard_of


class MemoryNotifications:
    """See ``petra.store.notifications``."""

    def __init__(self, accounts: MemoryAccounts) -> None:
        self._accounts = accounts
        self._rows: dict[str, NotificationRow] = {}

    def add(self, rows: Iterable[NotificationRow]) -> None:
        """Keep new ones; one that is there stays as it is."""
        for row in rows:
            self._rows.setdefault(row.id, row)

    async def channels(self, *, shards: Collection[int] | None = None) -> dict[str, float]:
        """Return the channels that something waits for, each with when the first of it is due."""
        channels: dict[str, float] = {}
        for row in self._rows.values():
            if row.state == "waiting" and (shards is None or shard_of(row.channel) in shards):
                channels[row.channel] = min(row.due, channels.get(row.channel, row.due))
        return channels

    async def due(
        self, channel: str, until: float, *, limit: int = NOTIFICATIONS_MAX
    ) -> list[NotificationRow]:
        """List those of a channel that wait and are due by then."""
        notifications = [
            row
            for row in self._rows.values()
            if row.state == "waiting" and row.due <= until and row.channel == channel
        ]
        return sorted(notifications, key=lambda row: (row.due, row.id))[:limit]

    async def together(self, sending: str) -> list[NotificationRow]:
        """List those that go out under one id and still wait."""
        notifications = [
            r for r in self._rows.values() if r.sending == sending and r.state == "waiting"
        ]
        return sorted(notifications, key=lambda row: row.id)

    async def settle(self, rows: Sequence[NotificationRow], note: AuditNote | None = None) -> None:
        """Store what became of some."""
        self._accounts.add_notes(note)
        for row in rows:
            known = self._rows.get(row.id)
            if known is not None:
                self._rows[row.id] = msgspec.structs.replace(
                    known, state=row.state, due=row.due, attempts=row.attempts, sending=row.sending,
                    error=row.error, updated=row.updated,
                )  # fmt: skip

    async def notification(self, name: str) -> NotificationRow | None:
        """Return one, or None."""
        return self._rows.get(name)

    async def notifications(
        self,
        wanted: NotificationFilter,
        *,
        cursor: str | None = None,
        limit: int = NOTIFICATIONS_MAX,
    ) -> Page[NotificationRow]:
        """List them, the latest first."""
        behind = read_cursor(cursor, tuple[float, str]) if cursor is not None else None
        notifications = [
            row
            for row in self._rows.values()
            if wanted.state in (None, row.state)
            and wanted.channel in (None, row.channel)
            and wanted.execution in (None, row.execution)
            and wanted.namespace in (None, row.namespace)
            and (behind is None or (row.created, row.id) < behind)
        ]
        notifications.sort(key=lambda row: (row.created, row.id), reverse=True)
        return latest_first(notifications, limit)

    async def count(self) -> dict[str, int]:
        """Count them by state."""
        return dict(Counter(row.state for row in self._rows.values()))

    async def forget(self, before: float) -> int:
        """Delete those that wait no more."""
        old = [r.id for r in self._rows.values() if r.state != "waiting" and r.updated < before]
        for name in old:
            del self._rows[name]
        return len(old)
