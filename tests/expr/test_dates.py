"""Dates: read, moved, compared and written, by a clock that is given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template
from petra.expr.dates import NOW

pytestmark = pytest.mark.spec("S17")

SCOPE: dict[str, Any] = {
    NOW: 1_763_248_000.5,
    "execution": {"started_at": "2025-11-15T21:06:40Z"},
    "ctx": {"day": "2024-02-29", "zoned": "2024-02-29T10:00:00+02:00", "n": 5, "due": "2025-11-15T23:06:40.5Z"},
}  # fmt: skip


def render(source: str) -> Any:
    return compile_template("{{ " + source + " }}", Profile.SERVER).render(SCOPE)


def fault(source: str, **scope: Any) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        compile_template("{{ " + source + " }}", Profile.SERVER).render(scope or SCOPE)
    return caught.value


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("now()", "2025-11-15T23:06:40.500000Z"),
        ("now() + duration('2h')", "2025-11-16T01:06:40.500000Z"),
        ("duration('2h') + now()", "2025-11-16T01:06:40.500000Z"),
        ("now() - 0.5", "2025-11-15T23:06:40Z"),
        ("now() - execution.started_at", 7200.5),
        ("execution.started_at - now()", -7200.5),
        ("now() - execution.started_at > duration('2h')", True),
        ("now() > execution.started_at and '2030-01-01' > now()", True),
        ("now() == ctx.due and ctx.due == now() and now() != ctx.day", True),
        ("now() == 'noon' or now() == 1763248000.5 or now() == none", False),
        ("date(ctx.day) + duration(days=1)", "2024-03-01T00:00:00Z"),
        ("date(ctx.zoned)", "2024-02-29T08:00:00Z"),
        ("date(0)", "1970-01-01T00:00:00Z"),
        ("date('03.02.2024 14:05', '%d.%m.%Y %H:%M')", "2024-02-03T14:05:00Z"),
        ("date(ctx.day).weekday", 4),
        ("date(ctx.day).timestamp", 1709164800.0),
        ("date(ctx.day).century is defined", False),
        ("ctx.day | strftime('%A %a %d. %B %b %Y %y %j %u %w %G-%V %p %I %% %s %F %T %f %z %Z')",
         "Thursday Thu 29. February Feb 2024 24 060 4 4 2024-09 AM 12 % 1709164800 2024-02-29 00:00:00 000000 +0000 UTC"),
        ("now() | strftime", "2025-11-15"),
        ("[now(), {'at': now()}] | tojson", '["2025-11-15T23:06:40.500000Z",{"at":"2025-11-15T23:06:40.500000Z"}]'),
        ("'at ' ~ date(ctx.day)", "at 2024-02-29T00:00:00Z"),
        ("[date(ctx.zoned), date(ctx.day)] | sort | first", "2024-02-29T00:00:00Z"),
        ("now() if now() else 1", "2025-11-15T23:06:40.500000Z"),
        ("duration('1w 1d 1h 1m 1s 500ms')", 694861.5),
        ("duration(-3) + duration('-2m') + duration(hours=1, weeks=0)", 3477),
    ],
)  # fmt: skip
def test_dates(source: str, expected: object) -> None:
    found = render(source)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("date('soon')", "'soon' is no date"),
        ("date('x' * 1000)", "is no date"),
        ("date('2024-13-01')", "is no date"),
        ("date(none)", "not null"),
        ("date(10 ** 18)", "is no date"),
        ("date('1', '%Q')", "a date has no %Q"),
        ("date('1', '%')", "a date has no %"),
        ("date('x', '%Y')", "is not written as"),
        ("date(7, '%Y')", "by a format"),
        ("now() | strftime('%-d')", "a date has no %-"),
        ("now() | strftime('%c')", "a date has no %c"),
        ("now() | strftime(7)", "a format is a string"),
        ("now() + now()", "'+' does not work on a date and a date"),
        ("now() + 'x'", "'+' does not work on a date and a string"),
        ("now() + true", "'+' does not work on a date and a boolean"),
        ("5 - now()", "'-' does not work on a number and a date"),
        ("now() * 2", "'*' does not work on a date"),
        ("now() < 'noon'", "'noon' is no date"),
        ("now() < none", "not null"),
        ("now() + 10 ** 18", "year 1 to 9999"),
        ("duration('2 hours')", "is no duration"),
        ("duration('')", "is no duration"),
        ("duration([])", "not a list"),
        ("duration(years=1)", "has no 'years'"),
        ("duration(days='1')", "must be a number"),
    ],
)  # fmt: skip
def test_what_is_no_date_is_refused(source: str, said: str) -> None:
    error = fault(source)
    assert error.kind in {"type", "limit"}
    assert said in error.message


def test_without_a_recorded_time_there_is_no_now() -> None:
    error = fault("now()", ctx={})
    assert (error.kind, error.message) == ("unknown_function", "now() is not available here")


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_date_that_is_kept_and_read_again_is_the_same(at: datetime) -> None:
    kept = compile_template("{{ date(x) }}", Profile.SERVER).render({"x": at.isoformat()})
    scope = {"x": kept, NOW: at.timestamp()}
    assert compile_template("{{ date(x) == x and x == date(x) }}", Profile.SERVER).render(scope)
    assert datetime.fromisoformat(str(kept)) == at
