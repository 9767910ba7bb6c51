"""Points in time: read from text, moved, compared and written; in UTC or a zone that is named, never in that of the machine.

Rule 1: a date lives inside one evaluation only. Where a value leaves it, a date is its text in ISO 8601.
Rule 2: so a text beside a date is read as one: ``now() - execution.started_at``, ``now() > ctx.due``.
Rule 3: a span of time is a number of seconds, as everywhere in a playbook: ``duration('2h')`` is 7200.
Rule 4: a date that was put into a zone stays in it when it is moved, and its text has the offset; a text that is read is in UTC.
Rule 5: names of days and months are English whatever the machine speaks.
Rule 6: the clock is not asked. ``now()`` is a value of the scope, recorded with the decision or the run it belongs to (S17).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from petra.errors import ExpressionError
from petra.expr.frame import Frame, Value, kind_of, wrong_type
from petra.expr.zones import in_zone, of_zone, still_in, zone_of

NOW: Final = "$now"
"""A scope that has this can say what time it is, in seconds since 1970."""

_TEXT_MAX: Final = 100
"""Characters of a text that is read as a date or a duration."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_READABLE: Final = frozenset((datetime, str))
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_UNITS: Final[Mapping[str, float]] = {
    "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800,
}  # fmt: skip
_NAMED_UNITS: Final = ("weeks", "days", "hours", "minutes", "seconds")
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhdw])\s*")
_CODE: Final = re.compile(r"%(.?)", re.DOTALL)

_WRITE: Final[Mapping[str, Callable[[datetime], str]]] = {
    "Y": lambda d: f"{d.year:04}", "y": lambda d: f"{d.year % 100:02}", "m": lambda d: f"{d.month:02}",
    "d": lambda d: f"{d.day:02}", "H": lambda d: f"{d.hour:02}", "I": lambda d: f"{d.hour % 12 or 12:02}",
    "M": lambda d: f"{d.minute:02}", "S": lambda d: f"{d.second:02}", "f": lambda d: f"{d.microsecond:06}",
    "p": lambda d: "PM" if d.hour > 11 else "AM", "j": lambda d: f"{d.timetuple().tm_yday:03}",
    "A": lambda d: _DAYS[d.weekday()], "a": lambda d: _DAYS[d.weekday()][:3],
    "B": lambda d: _MONTHS[d.month - 1], "b": lambda d: _MONTHS[d.month - 1][:3],
    "u": lambda d: str(d.isoweekday()), "w": lambda d: str(d.isoweekday() % 7),
    "G": lambda d: f"{d.isocalendar().year:04}", "V": lambda d: f"{d.isocalendar().week:02}",
    "F": lambda d: f"{d.year:04}-{d.month:02}-{d.day:02}", "T": lambda d: f"{d.hour:02}:{d.minute:02}:{d.second:02}",
    "s": lambda d: str(int(d.timestamp())), "z": lambda d: d.strftime("%z"), "Z": lambda d: d.tzname() or "", "%": lambda _: "%",
}  # fmt: skip
_READ: Final = frozenset("YymdHIMSfpjAaBbzZ%")
"""The codes that a date can be read by."""

_PARTS: Final[Mapping[str, Callable[[datetime], Value]]] = {
    "year": lambda d: d.year, "month": lambda d: d.month, "day": lambda d: d.day, "hour": lambda d: d.hour,
    "minute": lambda d: d.minute, "second": lambda d: d.second, "weekday": lambda d: d.isoweekday(),
    "timestamp": lambda d: d.timestamp(),
}  # fmt: skip


def written(at: datetime) -> str:
    """Write a date as it is kept: ISO 8601 with its offset, ``Z`` for none."""
    return at.isoformat().replace("+00:00", "Z")


def part(at: datetime, name: Value) -> Value | None:
    """Return a part of a date, ``at.year``; None if it has no such part."""
    read = _PARTS.get(name) if type(name) is str else None
    return None if read is None else read(at)


def as_date(value: Value) -> datetime:
    """Return a date: itself, what a text in ISO 8601 says, or what seconds since 1970 lead to.

    Raises:
        ExpressionError: it is none.
    """
    if type(value) is datetime:
        return value
    try:
        if type(value) is str and len(value) <= _TEXT_MAX:
            moment = datetime.fromisoformat(value.strip())
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        if type(value) in (int, float):
            return _EPOCH + timedelta(seconds=value)
    except (ValueError, OverflowError):
        pass
    if type(value) not in (str, int, float):
        raise wrong_type("a date is a text, or seconds since 1970", value)
    hint = "write it as 2026-11-15T09:30:00Z, or say how to read it: date(text, '%d.%m.%Y')"
    raise ExpressionError(f"{str(value)[:40]!r} is no date", kind="type", hint=hint)


def moved(left: Value, right: Value, sign: int) -> datetime | float:
    """``date + seconds``, ``date - seconds`` and ``date - date``; one of the two is a date."""
    if sign < 0 and type(left) in _READABLE and type(right) in _READABLE:
        return (as_date(left) - as_date(right)).total_seconds()
    if sign > 0 and type(left) is not datetime:
        left, right = right, left
    if type(left) is not datetime or type(right) not in (int, float):
        words = f"{kind_of(left)} and {kind_of(right)}"
        raise ExpressionError(
            f"'{'+' if sign > 0 else '-'}' does not work on {words}", kind="type",
            hint="a span of time is a number of seconds, such as duration('2h')",
        )  # fmt: skip
    try:
        return still_in(left.tzinfo, left + timedelta(seconds=sign * right))
    except OverflowError:
        raise ExpressionError("dates go from the year 1 to 9999", kind="limit") from None


def compared(left: Value, right: Value, compare: Callable[[Value, Value], bool]) -> bool:
    """Compare two dates, one of which may be a text."""
    return compare(as_date(left), as_date(right))


def same(left: Value, right: Value) -> bool:
    """Tell whether two values are the same date, one of which may be a text; what is no date is not."""
    try:
        return as_date(left) == as_date(right) and not {type(left), type(right)} & {int, float}
    except ExpressionError:
        return False


# Functions and filters


def now(frame: Frame, zone: Value = None) -> datetime:
    """The time of the decision, or of the start of the run; with a zone, by its clocks."""
    at = frame.scope.get(NOW)
    if type(at) not in (int, float):
        raise ExpressionError("now() is not available here", kind="unknown_function")
    return _placed(as_date(at), zone)


def date(_frame: Frame, value: Value, format: Value = None, zone: Value = None) -> datetime:  # noqa: A002 - as in Python
    """A date read from text, as ISO 8601 or by a format, or from seconds since 1970; with a zone, what its clocks show."""
    if format is None:
        return _by_clocks(value, zone)
    if type(value) is not str or type(format) is not str:
        raise wrong_type("a date is read from a text by a format", value)
    _known(format, _READ)
    try:
        if len(value) <= _TEXT_MAX:
            moment = datetime.strptime(value.strip(), format)  # noqa: DTZ007 - UTC, unless it says another zone
            if zone is not None and moment.tzinfo is None:
                return of_zone(moment, zone_of(zone))
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
            return _placed(moment, zone)
    except (ValueError, OverflowError, re.error):
        pass
    raise ExpressionError(f"{value[:40]!r} is not written as {format[:40]!r}", kind="type")


def duration(_frame: Frame, value: Value = 0, **parts: Value) -> float:
    """A number of seconds: ``duration('1h30m')``, ``duration(days=2)``."""
    total: float = 0
    if type(value) is str:
        total = _span(value)
    elif type(value) in (int, float):
        total = value
    else:
        raise wrong_type("a duration is a text such as '2h', or seconds", value)
    for name, count in parts.items():
        if name not in _NAMED_UNITS:
            hint = f"it has {', '.join(_NAMED_UNITS)}"
            raise ExpressionError(f"a duration has no '{name}'", kind="type", hint=hint)
        if type(count) not in (int, float):
            raise wrong_type(f"{name} must be a number", count)
        total += count * _UNITS[name[0]]
    return int(total) if total == total // 1 else total


def strftime(
    frame: Frame,
    value: Value,
    format: Value = "%Y-%m-%d",  # noqa: A002 - as in Python
    zone: Value = None,
) -> str:
    """A date written by a format, ``strftime('%d.%m.%Y')``, and by the clocks of a zone; a text is read as a date first."""
    at = _placed(as_date(value), zone)
    if type(format) is not str:
        raise wrong_type("a format is a string", format)
    frame.make_text(16 * len(format))
    _known(format, frozenset(_WRITE))
    return _CODE.sub(lambda code: _WRITE[code[1]](at), format)


def in_named_zone(_frame: Frame, value: Value, zone: Value) -> datetime:
    """The same point in time by the clocks of a zone, ``zone('Europe/Berlin')``; a text is read as a date first."""
    return _placed(as_date(value), zone)


def _placed(at: datetime, zone: Value) -> datetime:
    try:
        return at if zone is None else in_zone(at, zone_of(zone))
    except OverflowError:
        raise ExpressionError("dates go from the year 1 to 9999", kind="limit") from None


def _by_clocks(value: Value, zone: Value) -> datetime:
    """Read a date; a text without an offset means what the clocks of a zone show."""
    at = as_date(value)
    if (
        zone is None
        or type(value) is not str
        or datetime.fromisoformat(value.strip()).tzinfo is not None
    ):
        return _placed(at, zone)
    try:
        return of_zone(at, zone_of(zone))
    except OverflowError:
        raise ExpressionError("dates go from the year 1 to 9999", kind="limit") from None


def _span(text: str) -> float:
    position, total, short = 0, 0.0, text.strip() if len(text) <= _TEXT_MAX else ""
    sign = -1 if short.startswith("-") else 1
    short = short.removeprefix("-")
    while match := _SPAN.match(short, position):
        total += float(match[1]) * _UNITS[match[2]]
        position = match.end()
    if not short or position < len(short):
        hint = "write numbers with w, d, h, m, s or ms: '1d 12h', '90s'"
        raise ExpressionError(f"{text[:40]!r} is no duration", kind="type", hint=hint)
    return sign * round(total, 6)


def _known(format: str, codes: frozenset[str]) -> None:  # noqa: A002 - as in Python
    for code in _CODE.finditer(format):
        if code[1] not in codes:
            shown = "".join(f" %{code}" for code in sorted(codes))
            message = f"a date has no %{code[1]}"
            raise ExpressionError(message, kind="type", hint=f"known are{shown}")


DATE_FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "now": now,
    "date": date,
    "duration": duration,
}
DATE_FILTERS: Final[Mapping[str, Callable[..., Value]]] = {
    "strftime": strftime,
    "zone": in_named_zone,
}
ZONES: Final[Mapping[str, int]] = {"now": 0, "date": 2, "strftime": 1, "zone": 0}
"""Functions and filters that take a zone, and at which place."""
