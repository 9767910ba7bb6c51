"""What an author has to say about a failure: text of modest length, in place of what the tool said."""

from __future__ import annotations

from typing import Any, Final

from petra.values import canonical
from petra.wire import Error

MESSAGE_MAX: Final = 1_000
"""Characters of an author's message that are kept."""


def as_text(value: Any) -> str:
    """Return what a template gave as text that can be sent, cut where it is long."""
    text = value if isinstance(value, str) else canonical(value).decode()
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MESSAGE_MAX else text[: MESSAGE_MAX - 1] + "…"


def in_words(error: Error, message: str) -> Error:
    """Return an error that says what its author wants it to; what it said itself is its cause."""
    details = error.details if isinstance(error.details, dict) else {}
    return Error(
        kind=error.kind, code=error.code, retryable=error.retryable, message=message,
        details={"cause": error.message, **details},
    )  # fmt: skip
