"""Notifications as they are listed, the same for the API and the command line, and how one is tried again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from petra.errors import UsageError
from petra.store.base import Store
from petra.store.rows import AuditNote, NotificationRow
from petra.store.trail import noted


class UnknownNotificationError(UsageError):
    """There is no notification of that id."""


def notification_data(row: NotificationRow) -> dict[str, Any]:
    """Return what is shown of a notification."""
    told = msgspec.json.decode(row.body)
    return {
        "id": row.id, "execution": row.execution, "namespace": row.namespace, "channel": row.channel, "about": row.about,
        "person": row.person, "state": row.state, "due": _moment(row.due), "created": _moment(row.created),
        "updated": _moment(row.updated), "attempts": row.attempts, "sending": row.sending or row.id, "error": row.error,
        "title": told["title"], "text": told.get("text", ""),
    }  # fmt: skip


async def found(store: Store, name: str) -> NotificationRow:
    """Return a notification.

    Raises:
        UnknownNotificationError: there is none of that id.
    """
    row = await store.notifications.notification(name)
    if row is None:
        raise UnknownNotificationError(
            f"there is no notification '{name}'; 'petra notifications list' lists them"
        )
    return row


async def again(store: Store, name: str, now: float) -> NotificationRow:
    """Have a notification tried again, at once, with all its tries before it.

    Raises:
        UnknownNotificationError: there is none of that id.
        UsageError: it was sent.
    """
    row = await found(store, name)
    if row.state == "sent":
        raise UsageError(f"'{name}' was sent; nobody is told twice")
    waits = msgspec.structs.replace(row, state="waiting", due=now, attempts=0, updated=now)

    async def settled(note: AuditNote | None) -> NotificationRow:
        await store.notifications.settle([waits], note)
        return waits

    return await noted(settled)


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
