"""Time zones by name: what their clocks show, over the nights when they change, on every machine alike."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template
from petra.expr.dates import NOW
from petra.expr.zones import zone_of, zones

pytestmark = pytest.mark.spec("S17")

SCOPE: dict[str, Any] = {
    NOW: 1_763_248_000.5,
    "ctx": {"zone": "Asia/Tokyo", "at": "2026-07-01T22:00:00Z"},
}
BERLIN = "'Europe/Berlin'"


def render(source: str) -> Any:
    return compile_template("{{ " + source + " }}", Profile.SERVER).render(SCOPE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"now({BERLIN})", "2025-11-16T00:06:40.500000+01:00"),
        (f"now({BERLIN}).day", 16),
        ("now().day", 15),
        (f"now({BERLIN}) | strftime('%F %T %z %Z')", "2025-11-16 00:06:40 +0100 CET"),
        (f"ctx.at | strftime('%F %H:%M %Z', {BERLIN})", "2026-07-02 00:00 CEST"),
        ("ctx.at | zone(ctx.zone)", "2026-07-02T07:00:00+09:00"),
        (f"date('2026-11-16 09:00', zone={BERLIN})", "2026-11-16T09:00:00+01:00"),
        (f"date('2026-07-16', zone={BERLIN})", "2026-07-16T00:00:00+02:00"),
        (f"date('16.11.2026 09:00', '%d.%m.%Y %H:%M', {BERLIN}).timestamp", 1794816000.0),
        (f"date('2026-11-16T09:00Z', zone={BERLIN})", "2026-11-16T10:00:00+01:00"),
        (f"date('2026-11-16 09:00 +0000', '%Y-%m-%d %H:%M %z', {BERLIN}).hour", 10),
        (f"date(0, zone={BERLIN})", "1970-01-01T01:00:00+01:00"),
        # The clocks change: a day of 25 hours, and one of 23.
        (f"date('2026-10-26', zone={BERLIN}) - date('2026-10-25', zone={BERLIN})", 90000.0),
        (f"date('2026-03-30', zone={BERLIN}) - date('2026-03-29', zone={BERLIN})", 82800.0),
        (f"date('2026-10-25', zone={BERLIN}) + duration('24h')", "2026-10-25T23:00:00+01:00"),
        (f"(now({BERLIN}) + duration('240d')).hour", 1),
        # What the clocks show twice is meant the first time; what they jump over is as long after it.
        (f"date('2026-10-25 02:30', zone={BERLIN})", "2026-10-25T02:30:00+02:00"),
        (f"date('2026-03-29 02:30', zone={BERLIN})", "2026-03-29T03:30:00+02:00"),
        (f"now({BERLIN}) == now() and now({BERLIN}) == now('UTC') and not now({BERLIN}) > now()", True),
        (f"[now() + 60, now({BERLIN})] | sort | first", "2025-11-16T00:06:40.500000+01:00"),
        ("now('UTC')", "2025-11-15T23:06:40.500000Z"),
    ],
)  # fmt: skip
def test_zones(source: str, expected: object) -> None:
    found = render(source)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("now('Europe/Berln')", "there is no time zone 'Europe/Berln'", "did you mean 'Europe/Berlin'?"),
        ("ctx.at | strftime('%F', 'CEST')", "there is no time zone 'CEST'", None),
        ("ctx.at | zone('../../etc/passwd')", "there is no time zone '../../etc/passwd'", None),
        ("date('2026-01-01', zone='Nowhere')", "there is no time zone 'Nowhere'", None),
    ],
)  # fmt: skip
def test_a_zone_that_is_written_out_is_known_before_anything_runs(source: str, message: str, hint: str | None) -> None:  # fmt: skip
    with pytest.raises(ExpressionError) as caught:
        compile_template("{{ " + source + " }}", Profile.SERVER)
    assert caught.value.message == message
    assert caught.value.offset is not None
    assert hint is None or caught.value.hint == hint


@pytest.mark.parametrize("zone", ["ctx", "ctx.at", "3", "'a' * 9"])
def test_a_zone_that_is_none_is_an_error(zone: str) -> None:
    with pytest.raises(ExpressionError, match="time zone"):
        render(f"now({zone})")


def test_dates_at_the_ends_of_time_do_not_escape() -> None:
    for source in ("date('0001-01-01', zone='Asia/Tokyo')", "date('9999-12-31T23:00Z', zone='Asia/Tokyo')"):  # fmt: skip
        with pytest.raises(ExpressionError, match="from the year 1 to 9999"):
            render(source)


@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2037, 1, 1)),  # noqa: DTZ001 - of a zone that comes next
    st.sampled_from(sorted(zones())),
    st.integers(-(10**8), 10**8),
)
def test_moving_by_seconds_is_moving_in_time(at: datetime, zone: str, seconds: int) -> None:
    written = render(f"(date('{at.isoformat()}Z') | zone('{zone}')) + ({seconds})")
    assert datetime.fromisoformat(written) == at.replace(tzinfo=UTC) + timedelta(seconds=seconds)
    local = datetime.fromisoformat(written)
    assert local.utcoffset() == local.astimezone(zone_of(zone)).utcoffset()


def test_the_machine_s_own_zones_have_no_part_in_it() -> None:
    code = (
        "from petra.expr import Profile, compile_template as c\n"
        "print(c(\"{{ date(0, zone='Europe/Berlin') }}\", Profile.SERVER).render({}))"
    )
    env = {**os.environ, "PYTHONTZPATH": "/nowhere", "TZ": "Asia/Tokyo"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout.strip() == "1970-01-01T01:00:00+01:00"
