"""When schedules are due, held against a calculation of our own (S24)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from petra.calendar import CalendarError, Rhythm, instant, jitter, line_of, written
from petra.expr.zones import zone_of, zones

_STEP = timedelta(minutes=5)
"""All lines here are due at multiples of it, and clocks change by multiples of it."""


def _at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _next(rhythm: Rhythm, after: str, number: int = 3) -> list[str]:
    return [written(one.at, rhythm.zone) for one in islice(rhythm.times(_at(after)), number)]


@pytest.mark.spec("S24")
def test_a_line_with_fixed_hours_runs_once_where_the_clock_goes_back() -> None:
    nightly = Rhythm(cron="30 1 * * *", zone="America/New_York")
    found = list(islice(nightly.times(_at("2026-10-31T12:00:00-04:00")), 2))
    assert [written(one.at, nightly.zone) for one in found] == [
        "2026-11-01T01:30:00-04:00",
        "2026-11-02T01:30:00-05:00",
    ]
    assert "goes back" in found[0].note
    assert not found[1].note


@pytest.mark.spec("S24")
def test_a_line_with_a_star_runs_at_every_instant_where_the_clock_goes_back() -> None:
    often = Rhythm(cron="*/30 * * * *", zone="America/New_York")
    assert _next(often, "2026-11-01T00:45:00-04:00", 5) == [
        "2026-11-01T01:00:00-04:00", "2026-11-01T01:30:00-04:00",
        "2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00",
        "2026-11-01T02:00:00-05:00",
    ]  # fmt: skip


@pytest.mark.parametrize("after", ["01:45:00-04:00", "01:15:00-05:00"])
def test_who_asks_in_the_hour_that_comes_twice_misses_nothing(after: str) -> None:
    often = Rhythm(cron="*/30 * * * *", zone="America/New_York")
    found = _next(often, f"2026-11-01T{after}", 3)
    begin = ["01:00:00-05:00"] if after.endswith("04:00") else []
    assert found[: len(begin) + 2] == [
        f"2026-11-01T{time}" for time in (*begin, "01:30:00-05:00", "02:00:00-05:00")
    ]


@pytest.mark.spec("S24")
def test_a_time_that_the_clock_skips_runs_shifted_by_the_gap_and_says_so() -> None:
    nightly = Rhythm(cron="30 2 * * *", zone="Europe/Berlin")
    found = list(islice(nightly.times(_at("2027-03-27T12:00:00+01:00")), 2))
    assert written(found[0].at, nightly.zone) == "2027-03-28T03:30:00+02:00"
    assert found[0].note == "the clock goes on by 1 h: 02:30 is skipped, and runs at 03:30"
    assert written(found[1].at, nightly.zone) == "2027-03-29T02:30:00+02:00"


def test_a_skipped_time_and_one_that_is_due_anyway_are_one() -> None:
    two = Rhythm(cron="0,30 2,3 * * *", zone="Europe/Berlin")
    found = list(islice(two.times(_at("2027-03-28T00:00:00+01:00")), 3))
    assert [written(one.at, two.zone)[11:] for one in found] == [
        "03:00:00+02:00", "03:30:00+02:00", "02:00:00+02:00",
    ]  # fmt: skip
    assert not any(one.note for one in found)


def test_intervals_count_from_1970_whoever_asks() -> None:
    hourly = Rhythm(every_s=3600)
    assert _next(hourly, "2026-11-16T08:59:59+00:00", 1) == ["2026-11-16T09:00:00+00:00"]
    assert _next(hourly, "2026-11-16T09:00:00+00:00", 1) == ["2026-11-16T10:00:00+00:00"]


def test_dates_are_by_the_clocks_of_the_zone_unless_they_have_an_offset() -> None:
    once = Rhythm(dates=("2026-12-24T18:00", "2026-12-24T12:00:00Z"), zone="Europe/Berlin")
    assert _next(once, "2026-11-16T00:00:00+00:00") == [
        "2026-12-24T13:00:00+01:00",
        "2026-12-24T18:00:00+01:00",
    ]
    assert once.first(_at("2027-01-01T00:00:00+00:00")) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("* * * *", "five fields"), ("61 * * * *", "minute"), ("0 0 31 2 *", "day-of-month"),
        ("0 0 * * MON#6", "day-of-week"), ("* * * * * *", "five fields"), ("", "five fields"),
    ],
)  # fmt: skip
def test_what_is_no_line_is_refused_with_its_place(line: str, words: str) -> None:
    with pytest.raises(CalendarError, match=words):
        line_of(line)


@pytest.mark.parametrize(
    "line", ["61 * * * *", "* 25 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8"]
)
def test_what_is_no_line_is_refused_with_what_would_be_one(line: str) -> None:
    with pytest.raises(
        CalendarError, match=r"; (minutes|hours|days of a month|months|days of a week) go from"
    ):
        line_of(line)


def test_what_is_no_zone_and_no_date_is_refused() -> None:
    with pytest.raises(CalendarError, match="Europe/Berlin"):
        Rhythm(cron="0 0 * * *", zone="Europe/Berlni").first(0.0)
    with pytest.raises(CalendarError, match="no date"):
        instant("tomorrow", "UTC")


def test_jitter_is_the_same_whoever_asks_and_within_its_limit() -> None:
    drawn = [jitter("nightly", float(day * 86400), 60.0) for day in range(500)]
    assert drawn == [jitter("nightly", float(day * 86400), 60.0) for day in range(500)]
    assert all(0 <= one <= 60 for one in drawn)
    assert len(set(drawn)) > 450
    assert jitter("nightly", 0.0, 60.0) != jitter("hourly", 0.0, 60.0)
    assert jitter("nightly", 0.0, 0.0) == 0.0


def test_counting_stops_where_it_is_told_to() -> None:
    often = Rhythm(cron="* * * * *")
    assert often.how_many(0.0, 3600.0, 1000) == 60
    assert often.how_many(0.0, 3600.0, 10) == 10


# Everything against a calculation of our own


def _zones() -> list[str]:
    """A hundred zones: ninety whose clocks change over a year, and ten others."""
    found = sorted(zones())
    months = [datetime(2027, month, 20, tzinfo=UTC) for month in range(1, 13)]
    moving = [
        name
        for name in found
        if len({month.astimezone(zone_of(name)).utcoffset() for month in months}) > 1
    ]
    still = [name for name in found if name not in set(moving)]
    step = max(1, len(moving) // 90)
    return [*moving[::step][:90], *still[:: len(still) // 10][:10]]


_FIRST, _YEARS = 2026, 10


def _changes(zone: ZoneInfo) -> list[datetime]:
    """Return the changes of a zone's clocks in the ten years, by looking at every day."""
    found = []
    day = datetime(_FIRST, 1, 1, tzinfo=UTC)
    while day.year < _FIRST + _YEARS:
        after = day + timedelta(days=1)
        if day.astimezone(zone).utcoffset() != after.astimezone(zone).utcoffset():
            minute = day
            while minute.astimezone(zone).utcoffset() == day.astimezone(zone).utcoffset():
                minute += timedelta(minutes=15)
            found.append(minute)
        day = after
    return found


def _expected(
    zone: ZoneInfo, minutes: set[int], hours: set[int], day: datetime, *, star: bool
) -> list[float]:
    """Go through three days of real time, step by step, and say when a line is due."""
    begin = day - timedelta(days=1)
    span = [begin + number * _STEP for number in range(3 * 24 * 12)]
    due, shown = set(), set()
    before = (begin - _STEP).astimezone(zone)
    for moment in span:
        local = moment.astimezone(zone)
        key = local.replace(tzinfo=None, fold=0)
        if local.minute in minutes and local.hour in hours and (star or key not in shown):
            due.add(moment.timestamp())
            shown.add(key)
        # what the clock jumped over since the step before
        jump = (local.utcoffset() or timedelta()) - (before.utcoffset() or timedelta())
        for number in range(jump // _STEP):
            skipped = key - jump + number * _STEP
            if skipped.minute in minutes and skipped.hour in hours:
                due.add((moment + number * _STEP).timestamp())
        before = local
    return sorted(one for one in due if one < span[-1].timestamp())


_LINES = (
    ("30 1 * * *", {30}, {1}, False),
    ("30 2 * * *", {30}, {2}, False),
    ("*/15 0-3 * * *", {0, 15, 30, 45}, {0, 1, 2, 3}, False),
    ("*/20 * * * *", {0, 20, 40}, set(range(24)), True),
    ("5 */2 * * *", {5}, set(range(0, 24, 2)), True),
)


@pytest.mark.slow
@pytest.mark.spec("S24")
def test_a_hundred_zones_over_ten_years_of_changes_every_nominal_time_exactly_once() -> None:
    names = _zones()
    assert len(names) == 100
    compared = 0
    for name in names:
        zone = zone_of(name)
        changes = _changes(zone) or [datetime(_FIRST, 3, 1, tzinfo=UTC)]
        # the changes of one year are judged by every line, those of the others by one line each
        for number, change in enumerate(changes):
            day = change.replace(hour=0, minute=0)
            lines = _LINES if number < 2 else (_LINES[number % len(_LINES)],)
            for line, minutes, hours, star in lines:
                expected = _expected(zone, minutes, hours, day, star=star)
                begin = (day - timedelta(days=1)).timestamp() - 1
                found = []
                for one in Rhythm(cron=line, zone=name).times(begin):
                    if one.at > expected[-1]:
                        break
                    found.append(one.at)
                assert found == expected, (name, line, change)
                compared += len(found)
    assert compared > 20_000
