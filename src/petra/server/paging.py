"""Pages of lists that are in memory as a whole: sorted by a key, and the key of the last item shown is the cursor.

So the next page begins at the right place, even if that item, or one before it, is gone by then.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, TypeVar

import msgspec
from litestar.params import QueryParameter

from petra.server.parameters import LIMIT_MAX, page_size
from petra.server.problems import ProblemError

T = TypeVar("T")
Key = tuple[str | int | float, ...]
CURSOR_CHARS: Final = 4_000
Cursor = Annotated[str | None, QueryParameter(schema_extra={"maxLength": CURSOR_CHARS})]
"""Where the page before ended: its ``next``."""
MOST: Final = LIMIT_MAX
"""So many come where nobody says how many: lists that are at hand are short, mostly."""


def paged(
    items: Iterable[T], key: Callable[[T], Key], cursor: str | None, limit: int
) -> tuple[list[T], str | None]:
    """Return a page of a list, and the cursor that leads on, if there is more.

    Raises:
        ProblemError: the cursor is none of such a list, or the page is too long.
    """
    most, ordered = page_size(limit), sorted(items, key=key)
    if cursor is not None:
        behind = _read(cursor)
        try:
            ordered = [item for item in ordered if key(item) > behind]
        except TypeError:
            raise _strange(cursor) from None
    more = len(ordered) > most
    page = ordered[:most]
    return page, _written(key(page[-1])) if more else None


def page_data(
    items: Iterable[dict[str, Any]], names: tuple[str, ...], cursor: str | None, limit: int
) -> dict[str, Any]:
    """Return a page of a list of plain data, ordered by some of its fields."""
    page, behind = paged(items, lambda item: tuple(item[name] for name in names), cursor, limit)
    return {"items": page, "next": behind}


def _written(key: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def _read(cursor: str) -> Key:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        return msgspec.json.decode(raw, type=Key)
    except (binascii.Error, ValueError):
        raise _strange(cursor) from None


def _strange(cursor: str) -> ProblemError:
    words = f"'cursor={cursor[:40]}' is no 'next' of this list"
    return ProblemError("invalid-input", words)
