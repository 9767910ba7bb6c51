"""The reader's own time: the same for every verb, with the day where it is not today's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from petra.cli import executions, ps
from petra.cli.moments import Days, clock, local
from petra.kernel import Record
from petra.kernel import events as e
from petra.kernel.replay import EventReceipt

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC).timestamp()
DAY_S = 86_400.0


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put the reader into a zone."""

    def put(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield put
    monkeypatch.undo()
    time.tzset()


def record(seq: int, at: float) -> Record:
    ending = e.ExecutionEnding(status="completed", phase="final")
    return Record(seq=seq, at=at, event=ending, receipt=EventReceipt(), previous="", hash="")


def test_a_time_is_that_of_the_readers_own_clocks(zone: Callable[[str], None]) -> None:
    zone("Asia/Tokyo")
    assert clock(NOON) == "21:00:00.000"
    assert f"{local(NOON):%Y-%m-%d %H:%M}" == "2026-11-15 21:00"


def test_events_and_the_list_of_executions_tell_the_same_time(
    zone: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    zone("Asia/Tokyo")
    executions._print_records([record(1, NOON)], "text", Days(NOON), lines=False)
    assert capsys.readouterr().out.startswith("    1  21:00:00.000  execution.ending")
    assert ps._when(NOON, NOON).strip() == "21:00:00"


def test_a_day_that_is_not_today_is_said_once_above_its_lines(
    zone: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    zone("UTC")
    moments = (NOON, NOON + 60, NOON + 3 * DAY_S)
    told = [record(seq, at) for seq, at in enumerate(moments, start=1)]
    executions._print_records(told, "text", Days(NOON + 3 * DAY_S), lines=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:21].rstrip() for line in lines] == [
        "       2026-11-15",
        "    1  12:00:00.000",
        "    2  12:01:00.000",
        "       2026-11-18",
        "    3  12:00:00.000",
    ]


def test_a_day_begins_at_the_readers_own_midnight(zone: Callable[[str], None]) -> None:
    zone("America/New_York")
    before, after = NOON - 7.5 * 3600, NOON - 6.5 * 3600  # 23:30 and 00:30 there
    days = Days(after)
    assert [days.heading(at) for at in (before, after)] == ["2026-11-14", "2026-11-15"]
