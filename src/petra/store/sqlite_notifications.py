"""Notifications in SQLite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import apsw
import msgspec

from petra.store.judge import read_cursor
from petra.store.notifications import NOTES_MAX, NOTIFICATIONS_MAX, notification_of, settled_columns
from petra.store.paging import latest_first
from petra.store.queries import load_queries
from petra.store.rows import AuditNote, NotificationFilter, NotificationRow, Page
from petra.store.sqlite_accounts import Run, append_notes

_SQL = load_queries("sqlite")


class SqliteNotifications:
    """See ``petra.store.notifications``."""

    def __init__(self, read: Run, write: Run) -> None:
        self._read = read
        self._write = write

    async def _listed(self, query: str, **given: object) -> list[NotificationRow]:
        return await self._read(
            lambda c: [notification_of(row) for row in c.execute(_SQL[query], given)]
        )

    async def channels(self, *, shards: Collection[int] | None = None) -> dict[str, float]:
        """Return the channels that something waits for, each with when the first of it is due."""
        mine = {"shards": None if shards is None else msgspec.json.encode(sorted(shards)).decode()}
        rows: list[Any] = await self._read(
            lambda c: c.execute(_SQL["notification_channels"], mine).fetchall()
        )
        return dict(rows)

    async def due(
        self, channel: str, until: float, *, limit: int = NOTIFICATIONS_MAX
    ) -> list[NotificationRow]:
        """List those of a channel that wait and are due by then."""
        return await self._listed("due_notifications", channel=channel, until=until, limit=limit)

    async def together(self, sending: str) -> list[NotificationRow]:
        """List those that go out under one id and still wait."""
        return await self._listed("notifications_together", sending=sending)

    async def settle(self, rows: Sequence[NotificationRow], note: AuditNote | None = None) -> None:
        """Store what became of some."""
        arguments = [settled_columns(row) for row in rows]

        def work(connection: apsw.Connection) -> None:
            connection.executemany(_SQL["settle_notification"], arguments)
            append_notes(connection, note)

        await self._write(work)

    async def notification(self, name: str) -> NotificationRow | None:
        """Return one, or None."""
        rows = await self._listed("notification", id=name)
        return rows[0] if rows else None

    async def notifications(
        self,
        wanted: NotificationFilter,
        *,
        cursor: str | None = None,
        limit: int = NOTIFICATIONS_MAX,
    ) -> Page[NotificationRow]:
        """List them, the latest first."""
        created, name = read_cursor(cursor, tuple[float, str]) if cursor else (None, "")
        notifications = await self._listed(
            "notifications", **msgspec.structs.asdict(wanted), created=created, name=name, limit=limit + 1
        )  # fmt: skip
        return latest_first(notifications, limit)

    async def count(self) -> dict[str, int]:
        """Count them by state."""
        rows: list[Any] = await self._read(
            lambda c: c.execute(_SQL["count_notifications"]).fetchall()
        )
        return dict(rows)

    async def forget(self, before: float) -> int:
        """Delete those that wait no more."""

        def work(connection: apsw.Connection) -> int:
            connection.execute(_SQL["forget_notifications"], (before,))
            gone = connection.changes()
            if (
                connection.execute(_SQL["notification_notes_counted"], (NOTES_MAX,)).get
                == NOTES_MAX
            ):
                upto = connection.execute(_SQL["last_notification_note"]).get
                connection.execute(_SQL["add_up_notifications"], (upto,))
                connection.execute(_SQL["forget_notification_notes"], (upto,))
            return gone

        return await self._write(work)
