"""What is said of steps that are tried again: as it happens, and to who asks."""

from __future__ import annotations

from typing import Any

from petra.server.shapes import Shape


class LiveHint(Shape, frozen=True):
    """A try failed and another one comes: not logged, and true for a moment only."""

    execution: str
    run: str
    attempt: dict[str, Any]
    next_at: str | None
    note: str
    """What went wrong, in words."""
    of: int | None = None


class TriedAgain(Shape, frozen=True):
    """A task that is tried again: which try failed last, of how many, and when the next one comes, or came."""

    failed: int
    next_at: str | None
    of: int | None = None
