"""Nominal times: when a schedule is due, by a cron line, an interval or dates, on the clocks of a time zone (S24). Pure.

Rule 1: a nominal time is an instant, and each comes once, in order.
Rule 2: where clocks go back, a line with fixed hours is due once, at the first of the two instants; one whose hours
begin with a star at both.
Rule 3: where clocks go on, a time that they skip is due as long after the jump, and says so; where another one is due at
that instant anyway, the two are one.
Rule 4: intervals count from 1970, and jitter follows from the schedule and the nominal time: neither depends on who asks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import islice
from math import floor
from types import MappingProxyType
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from petra.errors import ExpressionError, UsageError
from petra.expr.zones import zone_of

NICKNAMES = MappingProxyType(
    {
        "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
    }
)  # fmt: skip
_FIELDS = 5
_RANGES = MappingProxyType(
    {
        "minute": "minutes go from 0 to 59", "hour": "hours go from 0 to 23",
        "day-of-month": "days of a month go from 1 to 31, and 'L' is the last",
        "month": "months go from 1 to 12, or from JAN to DEC",
        "day-of-week": "days of a week go from 0 to 7, or from SUN to SAT; 0 and 7 are Sunday",
    }
)  # fmt: skip
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9990, 1, 1, tzinfo=UTC).timestamp()


class CalendarError(UsageError):
    """A cron line, a time zone or a date is none; the message says what is wrong with it."""


class Nominal(NamedTuple):
    """One time at which something is due, in seconds since 1970, and what is odd about it."""

    at: float
    note: str = ""


class Rhythm(NamedTuple):
    """When something is due: by exactly one of a cron line, an interval in seconds, or dates."""

    cron: str = ""
    every_s: float = 0.0
    dates: tuple[str, ...] = ()
    zone: str = "UTC"

    def times(self, after: float) -> Iterator[Nominal]:
        """Yield the nominal times later than ``after``, in order; perhaps without end.

        Raises:
            CalendarError: the rhythm is none.
        """
        zone = zone_named(self.zone)
        if self.cron:
            return _of_line(line_of(self.cron), zone, after)
        if self.every_s:
            return _of_interval(self.every_s, after)
        times = sorted({instant(date, self.zone) for date in self.dates})
        return iter([Nominal(one) for one in times if one > after])

    def first(self, after: float) -> Nominal | None:
        """Return the first nominal time later than ``after``, or None."""
        return next(self.times(after), None)

    def how_many(self, after: float, until: float, most: int) -> int:
        """Count the nominal times in (after, until], ``most`` at most."""
        times = islice(self.times(after), most)
        return sum(1 for _ in _while_before(times, until))


def _while_before(times: Iterator[Nominal], until: float) -> Iterator[Nominal]:
    for time in times:
        if time.at > until:
            return
        yield time


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone.

    Raises:
        CalendarError: there is none of that name.
    """
    try:
        return zone_of(name)
    except ExpressionError as error:
        raise CalendarError(f"{error.message}; {error.hint}") from None


def line_of(cron: str) -> str:
    """Return a cron line with its five fields, nicknames written out.

    Raises:
        CalendarError: it is none, or never due.
    """
    line = NICKNAMES.get(cron.strip().lower(), cron.strip())
    if len(line.split()) != _FIELDS:
        words = "it has five fields: minute, hour, day of month, month, day of week"
        raise CalendarError(f"'{cron}' is no cron line; {words}, e.g. '30 2 * * 1-5'")
    try:
        due = next(CronSim(line, datetime(2026, 1, 1)), None)  # noqa: DTZ001 - by any clock
    except CronSimError as error:
        what = str(error).removeprefix("Bad ")
        words = f"its {what} is not one; {_RANGES.get(what, 'see the five fields')}"
        raise CalendarError(f"'{cron}' is no cron line: {words}") from None
    if due is None:
        raise CalendarError(f"'{cron}' is never due; no month that it names has such a day")
    return line


def instant(date: str, zone: str) -> float:
    """Return the point in time of a date; one without an offset is by the clocks of the zone.

    Raises:
        CalendarError: it is none.
    """
    try:
        read = datetime.fromisoformat(date)
    except ValueError:
        words = "write it as '2026-11-20T02:30', by the clocks of 'timezone', or with an offset"
        raise CalendarError(f"'{date}' is no date; {words}") from None
    if read.tzinfo is None:
        read = read.replace(tzinfo=zone_named(zone), fold=0)
    return (read - _EPOCH).total_seconds()


def written(at: float, zone: str) -> str:
    """Write an instant by the clocks of a zone, with their offset (RFC 3339)."""
    moment = (_EPOCH + timedelta(seconds=at)).astimezone(zone_named(zone))
    return moment.isoformat(timespec="seconds" if not moment.microsecond else "milliseconds")


def jitter(name: str, at: float, most: float) -> float:
    """Return by how much a nominal time is put off: up to ``most`` seconds, the same whoever asks."""
    if not most:
        return 0.0
    drawn = hashlib.sha256(f"{name}\0{at!r}".encode()).digest()[:8]
    return round(int.from_bytes(drawn, "big") / 2**64 * most, 3)


# Intervals


def _of_interval(every_s: float, after: float) -> Iterator[Nominal]:
    number = floor(after / every_s)
    while number * every_s <= after:
        number += 1
    while (at := number * every_s) < _LATEST:
        yield Nominal(at)
        number += 1


# Cron lines


class _Candidate(NamedTuple):
    """An instant that a line is due at; of several of one instant the one without a note comes first."""

    at: float
    note: str


def _of_line(line: str, zone: ZoneInfo, after: float) -> Iterator[Nominal]:
    """Walk through what the clocks show, and put in order the instants at which they show it."""
    both = line.split()[1].startswith("*")
    waiting: list[_Candidate] = []
    last = after
    for shown in _shown(line, zone, after):
        instants, safe = _instants(shown, zone, both=both)
        for one in instants:
            heappush(waiting, one)
        while waiting and waiting[0].at <= safe:
            due = heappop(waiting)
            if due.at > last:
                last = due.at
                yield Nominal(*due)
    for due in sorted(waiting):
        if due.at > last:
            last = due.at
            yield Nominal(*due)


def _shown(line: str, zone: ZoneInfo, after: float) -> Iterator[datetime]:
    """Yield what clocks show when a line is due, from ``after`` on; near a change of theirs from a day before that."""
    at = _EPOCH + timedelta(seconds=after)
    around = {(at + day).astimezone(zone).utcoffset() for day in (-_DAY, _DAY * 0, _DAY)}
    begin = at.astimezone(zone).replace(tzinfo=None, fold=0)
    if len(around) > 1:
        begin -= _DAY
    for shown in CronSim(line, begin):
        if shown.year > _MAX_YEAR:
            return
        yield shown


_MAX_YEAR = 9000


def _instants(
    shown: datetime, zone: ZoneInfo, *, both: bool
) -> tuple[tuple[_Candidate, ...], float]:
    """Return the instants at which clocks show something, and up to when no later one of a line can come.

    A time that they skip may come after one that is shown later: until the next that they do show, nothing is sure.
    """
    first = shown.replace(tzinfo=zone, fold=0)
    second = shown.replace(tzinfo=zone, fold=1)
    before, after = first.utcoffset() or timedelta(), second.utcoffset() or timedelta()
    at = (shown - before - _EPOCH.replace(tzinfo=None)).total_seconds()
    if before == after:
        return (_Candidate(at, ""),), at
    gap = after - before
    if gap > timedelta():
        moved = shown + gap
        note = f"the clock goes on by {_long(gap)}: {shown:%H:%M} is skipped, and runs at {moved:%H:%M}"
        return (_Candidate(at, note),), float("-inf")
    back = f"the clock goes back by {_long(-gap)}"
    if not both:
        return (
            _Candidate(at, f"{back}: {shown:%H:%M} comes twice, and it runs the first time"),
        ), at
    again = _Candidate(at - gap.total_seconds(), f"{back}: {shown:%H:%M} comes a second time")
    return (_Candidate(at, ""), again), at


def _long(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours} h" if not rest else f"{minutes} min"
