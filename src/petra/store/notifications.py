"""What people and systems are told: rows that a change writes, and that whoever sends them settles.

Rule 1: a notification comes into being with the change that is its cause, in the same transaction.
Rule 2: those of one channel are of one shard, so that one engine sends them: limits of a channel hold for all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from petra.store.rows import AuditNote, NotificationFilter, NotificationRow, Page, shard_of

NOTIFICATIONS_MAX = 100
"""So many are listed at once, unless told."""
NOTES_MAX = 1_000
"""From so many notes of what changed its state they are added up."""
COLUMNS = (
    "id", "execution", "channel", "about", "due", "created", "updated", "body", "person", "state", "attempts",
    "sending", "error", "namespace",
)  # fmt: skip


class Notifications(Protocol):
    """The part of a store that knows what goes out."""

    async def channels(self, *, shards: Collection[int] | None = None) -> dict[str, float]:
        """Return the channels that something waits for, each with the moment at which the first of it is due."""

    async def due(
        self, channel: str, until: float, *, limit: int = NOTIFICATIONS_MAX
    ) -> list[NotificationRow]:
        """List those of a channel that wait and are due by then, the earliest first."""

    async def together(self, sending: str) -> list[NotificationRow]:
        """List those that go out under one id and still wait, by id."""

    async def settle(self, rows: Sequence[NotificationRow], note: AuditNote | None = None) -> None:
        """Store what became of some: state, due, attempts, sending, error, updated; and note that. All of it, durably."""

    async def notification(self, name: str) -> NotificationRow | None:
        """Return one, or None."""

    async def notifications(
        self,
        wanted: NotificationFilter,
        *,
        cursor: str | None = None,
        limit: int = NOTIFICATIONS_MAX,
    ) -> Page[NotificationRow]:
        """List them, the latest first."""

    async def count(self) -> dict[str, int]:
        """Count them by state."""

    async def forget(self, before: float) -> int:
        """Delete those that wait no more and have not changed since; return how many."""


def notification_of(row: Sequence[Any]) -> NotificationRow:
    """Read one as the databases give it back."""
    return NotificationRow(**dict(zip(COLUMNS, row, strict=True)))


def notification_columns(row: NotificationRow) -> tuple[Any, ...]:
    """Return one as the databases take it: its columns, then its shard."""
    return (*(getattr(row, name) for name in COLUMNS), shard_of(row.channel))


def settled_columns(row: NotificationRow) -> tuple[Any, ...]:
    """Return what became of one, as the databases take it."""
    return (row.id, row.state, row.due, row.attempts, row.sending, row.error, row.updated)
