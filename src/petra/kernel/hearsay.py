"""What an explanation has from others: no log knows it."""

from __future__ import annotations

from msgspec import Struct


class InLine(Struct, frozen=True):
    """A place in the line of a limit: the first is number 1. ``holders`` are some of those who are in."""

    limit: str
    key: str
    position: int
    waiting: int
    used: int
    most: int | None
    holders: list[str]


class Trying(Struct, frozen=True):
    """A task that is tried again: which try failed last, of how many, and when the next one comes, or came."""

    failed: int
    of: int | None
    next_at: str | None
