"""What came of trying to tell somebody."""

from __future__ import annotations

from typing import NamedTuple


class Try(NamedTuple):
    """What a try came to: ``error`` is empty where it went well."""

    error: str = ""
    final: bool = False
    """Whether another try makes no sense."""
    away: bool = False
    """Whether nobody answered: others to the same place would fare alike."""
    after_s: float | None = None
    """How long the other side wants to be left alone."""
