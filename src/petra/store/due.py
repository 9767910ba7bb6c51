"""By when work items are due that somebody looks for: in words, or before a time."""

from __future__ import annotations

from datetime import datetime
from typing import Final, TypedDict

import msgspec

from petra.errors import MalformedError

_DAY_S: Final = 86_400.0
_AHEAD: Final = {"overdue": 0.0, "day": _DAY_S, "week": 7 * _DAY_S}
DUE_WORDS: Final = (*_AHEAD, "none")
"""What is overdue; what is due within a day or a week from now, with what is overdue; what has no due date."""


class Due(TypedDict):
    """What a filter of work items says of due dates."""

    due_until: float | None
    no_due: bool


def due_of(given: str | None, now: float) -> Due:
    """Read a word, or the time before which it is due.

    Raises:
        MalformedError: it is neither.
    """
    if given is None or given == "none":
        return Due(due_until=None, no_due=given is not None)
    if given in _AHEAD:
        return Due(due_until=now + _AHEAD[given], no_due=False)
    try:
        until = msgspec.convert(given, datetime).timestamp()
    except (msgspec.ValidationError, ValueError, OverflowError):  # or too long ago to be counted
        words = ", ".join(DUE_WORDS)
        raise MalformedError(
            f"'due={given[:40]}': one of {words}, or a time such as 2026-01-31T09:00:00Z"
        ) from None
    return Due(due_until=until, no_due=False)
