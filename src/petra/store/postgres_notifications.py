"""Notifications in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from petra.store.judge import read_cursor
from petra.store.notifications import NOTES_MAX, NOTIFICATIONS_MAX, notification_of, settled_columns
from petra.store.paging import latest_first
from petra.store.postgres_accounts import Writing, append_notes
from petra.store.queries import Fetch, load_queries
from petra.store.rows import AuditNote, NotificationFilter, NotificationRow, Page

_SQL = load_queries("postgres")


class PostgresNotifications:
    """See ``petra.store.notifications``."""

    def __init__(self, fetch: Fetch, write: Writing) -> None:
        self._fetch = fetch
        self._write = write

    async def channels(self, *, shards: Collection[int] | None = None) -> dict[str, float]:
        """Return the channels that something waits for, each with when the first of it is due."""
        mine = None if shards is None else sorted(shards)
        return dict(await self._fetch("notification_channels", mine))

    async def due(
        self, channel: str, until: float, *, limit: int = NOTIFICATIONS_MAX
    ) -> list[NotificationRow]:
        """List those of a channel that wait and are due by then."""
        rows = await self._fetch("due_notifications", channel, until, limit)
        return [notification_of(row) for row in rows]

    async def together(self, sending: str) -> list[NotificationRow]:
        """List those that go out under one id and still wait."""
        rows = await self._fetch("notifications_together", sending)
        return [notification_of(row) for row in rows]

    async def settle(self, rows: Sequence[NotificationRow], note: AuditNote | None = None) -> None:
        """Store what became of some."""
        arguments = [settled_columns(row) for row in sorted(rows, key=lambda row: row.id)]

        async def work(connection: Any) -> None:
            await connection.executemany(_SQL["settle_notification"], arguments)
            await append_notes(connection, note)

        await self._write(work)

    async def notification(self, name: str) -> NotificationRow | None:
        """Return one, or None."""
        rows = await self._fetch("notification", name)
        return notification_of(rows[0]) if rows else None

    async def notifications(
        self,
        wanted: NotificationFilter,
        *,
        cursor: str | None = None,
        limit: int = NOTIFICATIONS_MAX,
    ) -> Page[NotificationRow]:
        """List them, the latest first."""
        created, name = read_cursor(cursor, tuple[float, str]) if cursor else (None, "")
        rows = await self._fetch(
            "notifications", wanted.state, wanted.channel, wanted.execution, wanted.namespace,
            created, name, limit + 1,
        )  # fmt: skip
        return latest_first([notification_of(row) for row in rows], limit)

    async def count(self) -> dict[str, int]:
        """Count them by state."""
        return dict(await self._fetch("count_notifications"))

    async def forget(self, before: float) -> int:
        """Delete those that wait no more."""

        async def work(connection: Any) -> int:
            gone = len(await connection.fetch(_SQL["forget_notifications"], before))
            notes = await connection.fetchval(_SQL["notification_notes_counted"], NOTES_MAX)
            if notes == NOTES_MAX:
                await connection.execute(_SQL["add_up_notifications"])
            return gone

        return await self._write(work)
