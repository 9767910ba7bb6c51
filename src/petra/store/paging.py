"""Pages of lists: one row more than a page holds is asked for, so that it is known whether there are more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from petra.store.judge import write_cursor
from petra.store.rows import Page


class _Created(Protocol):
    @property
    def created(self) -> float: ...
    @property
    def id(self) -> str: ...


T = TypeVar("T")
C = TypeVar("C", bound=_Created)


def page_of(rows: Sequence[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    """Return the first rows as a page, with the cursor of the last of them where there are more."""
    last = rows[limit - 1] if len(rows) > limit else None
    return Page(rows=tuple(rows[:limit]), cursor=None if last is None else cursor(last))


def latest_first(rows: Sequence[C], limit: int) -> Page[C]:
    """Return a page of rows that are listed by when they were made."""
    return page_of(rows, limit, lambda last: write_cursor(last.created, last.id))
