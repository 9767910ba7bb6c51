"""Moments as whoever reads them knows them: by the clocks of the machine that shows them.

Rule 1: every verb shows the reader's own time; ``-o json`` has seconds since 1970, as the log does.
Rule 2: lines that have room for a time only stand under their day, unless that is today.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

from petra.clock import SystemClock


def local(at: float) -> datetime:
    """Return a moment by the reader's own clocks."""
    return datetime.fromtimestamp(at, UTC).astimezone()


def clock(at: float) -> str:
    """Say the time of day, to the millisecond."""
    return local(at).strftime("%H:%M:%S.%f")[:-3]


class Days:
    """The days that lines belong to, each said once."""

    def __init__(self, now: float | None = None) -> None:
        self._day: date = local(SystemClock().now() if now is None else now).date()

    def heading(self, at: float) -> str | None:
        """Return the day of a moment, where it is another one than that of the line before."""
        day = local(at).date()
        if day == self._day:
            return None
        self._day = day
        return day.isoformat()
