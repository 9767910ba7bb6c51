"""Schedules: an execution that starts others, decided in virtual time (S24)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from petra.kernel import Program, State, decide
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel import schedule_events as s
from petra.kernel.events import AnyEvent
from petra.kernel.explain import explain
from petra.kernel.redecide import redecide
from petra.kernel.replay import Ledger, Record, recorded
from petra.kernel.schedules import RECORDS_MAX
from petra.kernel.snapshot import restore, snapshot
from petra.kernel.timetable import Keeps, coming
from petra.playbook.documents import read_document
from petra.playbook.keeper import keeper
from petra.playbook.schedule import Schedule
from petra.playbook.write import to_plain
from petra.wire import Error

BEGIN = 1_793_000_000.0 - 1_793_000_000.0 % 86_400  # midnight, UTC
HOUR = 3600.0
PROGRAM = Program(keeper())
HEAD = "apiVersion: petra/v1\nkind: Schedule\nmetadata: {name: nightly}\nplaybook: orders\n"


def _schedule(more: str) -> Schedule:
    return read_document(HEAD + more).checked_as(Schedule)


@dataclass
class Kept:
    """A schedule that is kept, and what it started; a child that is started goes on until it is ended."""

    schedule: Schedule
    id: str = "keeper"
    now: float = BEGIN
    started: list[tuple[str, float, str]] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    events: list[tuple[float, AnyEvent]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.program = PROGRAM
        self.state = State(id=self.id)
        self.records: list[Record] = []
        self._ledger = Ledger(self.id)
        self.give(c.Start(now=self.now, keeps=_keeps(self.schedule)))

    def give(self, command: c.AnyCommand) -> str:
        made = decide(self.program, self.state, command)
        written = self._ledger.write(made.events, made.markings)
        self.records += [recorded(one, command.now) for one in written]
        self.events += [(command.now, one) for one in made.events]
        for effect in made.effects:
            if isinstance(effect, f.StartOther):
                nominal = effect.start.labels.get("petra/nominal", "")
                self.started.append((effect.child, command.now, nominal))
            elif isinstance(effect, f.CancelChild):
                self.stopped.append(effect.child)
        return made.refused

    def until(self, now: float) -> None:
        """Let time pass, with a tick whenever one is wanted."""
        while (due := self.state.next_due()) is not None and due <= now:
            self.now = due
            self.give(c.Tick(now=due))
        self.now = now

    def away(self, now: float) -> None:
        """Let time pass with nobody there; then comes the tick."""
        self.now = now
        self.give(c.Tick(now=now))

    def end(self, child: str, status: str = "completed", error: Error | None = None) -> None:
        self.give(c.ChildEnded(now=self.now, child=child, status=status, error=error))

    def steer(self, act: str, **more: Any) -> str:
        return self.give(c.Steer(now=self.now, act=act, **more))

    def of(self, kind: type[s.ScheduleEvent]) -> list[Any]:
        return [event for _, event in self.events if isinstance(event, kind)]

    @property
    def times(self) -> list[str]:
        return [nominal[11:16] for _, _, nominal in self.started]


def _keeps(schedule: Schedule) -> Keeps:
    return Keeps(schedule=to_plain(schedule), digest=schedule.digest)


def _hourly(more: str = "") -> Kept:
    return Kept(_schedule(f"cron: 0 * * * *\n{more}"))


@pytest.mark.spec("S24")
def test_each_nominal_time_starts_one_execution_at_that_time() -> None:
    kept = _hourly("overlap: allow\n")
    kept.until(BEGIN + 5 * HOUR)
    assert kept.times == ["01:00", "02:00", "03:00", "04:00", "05:00"]
    assert [at - BEGIN for _, at, _ in kept.started] == [HOUR * n for n in range(1, 6)]
    assert len({child for child, _, _ in kept.started}) == 5


@pytest.mark.spec("S24")
def test_what_is_started_has_schedule_and_nominal_time_and_its_own_name_as_actor() -> None:
    kept = Kept(_schedule("cron: 30 2 * * *\ntimezone: Europe/Berlin\nworkload: {day: 7}\n"))
    made = decide(kept.program, kept.state, c.Tick(now=kept.state.next_due() or 0.0))
    (effect,) = [one for one in made.effects if isinstance(one, f.StartOther)]
    assert effect.path == "orders"
    assert effect.start.workload == {"day": 7}
    assert effect.start.actor == "schedule:nightly"
    assert effect.start.labels["petra/schedule"] == "nightly"
    assert effect.start.labels["petra/nominal"].endswith("T02:30:00+01:00")
    assert effect.start.tells == "keeper"


@pytest.mark.spec("S24")
def test_skip_starts_nothing_while_one_is_going_on_and_says_how_many_were_skipped() -> None:
    kept = _hourly()
    kept.until(BEGIN + 4.5 * HOUR)
    assert kept.times == ["01:00"]
    kept.end(kept.started[0][0])
    (passed,) = kept.of(s.SchedulePassed)
    assert (passed.why, passed.count) == ("skipped", 3)
    kept.until(BEGIN + 5 * HOUR)
    assert kept.times == ["01:00", "05:00"]


def test_one_that_is_stuck_for_a_year_writes_nothing_meanwhile() -> None:
    kept = Kept(_schedule("cron: '* * * * *'\n"))
    kept.until(BEGIN + HOUR)
    written = len(kept.events)
    kept.until(BEGIN + 366 * 24 * HOUR)
    assert len(kept.events) == written
    kept.end(kept.started[0][0])
    (passed,) = kept.of(s.SchedulePassed)
    assert (passed.why, passed.count, passed.more) == ("skipped", 1000, True)


@pytest.mark.spec("S24")
def test_queue_starts_each_after_the_one_before() -> None:
    kept = _hourly("overlap: queue\n")
    kept.until(BEGIN + 3.5 * HOUR)
    assert kept.times == ["01:00"]
    for number in range(3):
        kept.end(kept.started[number][0])
    assert kept.times == ["01:00", "02:00", "03:00"]
    assert not kept.of(s.SchedulePassed)


def test_a_queue_that_is_full_says_what_it_leaves_out() -> None:
    kept = _hourly("overlap: queue\n")
    kept.until(BEGIN + 200.5 * HOUR)
    assert len(kept.state.timetable.queue) == 100  # type: ignore[union-attr]
    kept.end(kept.started[0][0])
    (passed,) = kept.of(s.SchedulePassed)
    assert (passed.why, passed.count) == ("queue_full", 99)
    assert kept.times == ["01:00", "02:00"]


@pytest.mark.spec("S24")
def test_cancel_running_stops_the_one_before_and_starts_when_that_has_ended() -> None:
    kept = _hourly("overlap: cancel_running\n")
    kept.until(BEGIN + 2 * HOUR)
    assert kept.stopped == [kept.started[0][0]]
    assert kept.times == ["01:00"]
    kept.until(BEGIN + 4.5 * HOUR)  # it takes its time
    kept.end(kept.started[0][0], "aborted")
    assert kept.times == ["01:00", "04:00"]
    assert sum(one.count for one in kept.of(s.SchedulePassed)) == 2


@pytest.mark.spec("S24")
def test_what_was_missed_within_the_window_is_made_up_for_and_the_rest_is_told() -> None:
    kept = _hourly("overlap: allow\ncatch_up_s: 7200\n")
    kept.until(BEGIN + HOUR)
    kept.away(BEGIN + 6.5 * HOUR)
    assert kept.times == ["01:00", "05:00", "06:00"]
    (passed,) = kept.of(s.SchedulePassed)
    assert (passed.why, passed.count) == ("missed", 3)
    assert kept.state.timetable.passed == {"missed": 3}  # type: ignore[union-attr]
    said = explain(PROGRAM, kept.state)
    assert (said.status, said.reason) == ("waiting", "timer")
    assert "is due next at 2026-10-26T07:00:00+00:00" in said.sentence
    assert "3 missed, while nobody was there for longer than catch_up_s" in said.sentence


def test_without_a_window_nothing_is_made_up_for_and_what_is_on_time_starts() -> None:
    kept = _hourly("overlap: allow\ncatch_up_s: 0\n")
    kept.until(BEGIN + HOUR)
    kept.away(BEGIN + 3.5 * HOUR)
    kept.until(BEGIN + 4 * HOUR)
    assert kept.times == ["01:00", "04:00"]


def test_very_many_that_are_made_up_for_come_in_several_decisions() -> None:
    kept = Kept(_schedule("cron: '* * * * *'\noverlap: allow\n"))
    kept.away(BEGIN + 12 * HOUR)
    assert len(kept.started) == 100
    kept.until(BEGIN + 12 * HOUR + 30)
    assert len(kept.started) == 720
    assert len({child for child, _, _ in kept.started}) == 720


def test_jitter_puts_each_start_off_and_changes_neither_time_nor_order() -> None:
    kept = _hourly("overlap: allow\njitter_s: 600\n")
    kept.until(BEGIN + 48.5 * HOUR)
    assert len(kept.started) == 48
    late = [at - BEGIN - HOUR * (1 + n) for n, (_, at, _) in enumerate(kept.started)]
    assert all(0 <= one <= 600 for one in late)
    assert len(set(late)) > 40


@pytest.mark.spec("S24")
def test_a_pause_starts_nothing_and_is_not_made_up_for() -> None:
    kept = _hourly("overlap: allow\n")
    kept.until(BEGIN + HOUR)
    assert kept.steer("pause", actor="ada", reason="works") == ""
    assert kept.steer("pause") == "the schedule is paused already"
    kept.until(BEGIN + 3.5 * HOUR)
    assert kept.steer("resume") == ""
    kept.until(BEGIN + 4 * HOUR)
    assert kept.times == ["01:00", "04:00"]


def test_run_now_starts_at_once_and_the_next_time_comes_as_before() -> None:
    kept = _hourly()
    kept.until(BEGIN + HOUR / 2)
    assert kept.steer("run", child="mine") == ""
    assert kept.started == [("mine", BEGIN + HOUR / 2, kept.started[0][2])]
    kept.end("mine")
    kept.until(BEGIN + HOUR)
    assert kept.times == ["00:30", "01:00"]


@pytest.mark.spec("S24")
def test_a_backfill_starts_every_time_of_its_range_one_after_the_other() -> None:
    kept = _hourly()
    since = BEGIN - 5 * HOUR
    assert kept.steer("backfill", since=since, until=BEGIN - HOUR) == ""
    assert "on its way" in kept.steer("backfill", since=since, until=BEGIN)
    for number in range(5):
        assert len(kept.started) == number + 1
        kept.end(kept.started[number][0])
    assert kept.times == ["19:00", "20:00", "21:00", "22:00", "23:00"]
    assert kept.of(s.ScheduleFilled)[0].count == 5
    assert "not due" in kept.steer("backfill", since=BEGIN + 1, until=BEGIN + 2)


def test_the_same_time_has_the_same_id_by_time_and_by_backfill() -> None:
    kept = _hourly("overlap: allow\n")
    kept.until(BEGIN + HOUR)
    kept.steer("backfill", since=BEGIN + HOUR, until=BEGIN + HOUR)
    assert kept.started[0][0] == kept.started[1][0]


@pytest.mark.spec("S24")
def test_another_text_counts_from_then_on() -> None:
    kept = _hourly("overlap: allow\n")
    kept.until(BEGIN + 1.5 * HOUR)
    kept.steer("set", keeps=_keeps(_schedule("cron: 15 * * * *\noverlap: allow\n")))
    kept.until(BEGIN + 3.5 * HOUR)
    assert kept.times == ["01:00", "02:15", "03:15"]


@pytest.mark.spec("S24")
def test_another_text_is_refused_to_who_saw_another_one() -> None:
    kept = _hourly()
    seen = kept.state.timetable.digest  # type: ignore[union-attr]
    other = _keeps(_schedule("cron: 15 * * * *\n"))
    assert kept.steer("set", keeps=other, replaces=seen) == ""
    assert "not the one that was seen" in kept.steer("set", keeps=other, replaces=seen)
    assert kept.steer("set", keeps=_keeps(_schedule("every_s: 60\n")), replaces=other.digest) == ""


def test_another_text_does_not_end_a_pause_unless_it_says_so() -> None:
    kept = _hourly("overlap: allow\n")
    kept.steer("pause")
    kept.steer("set", keeps=_keeps(_schedule("cron: 15 * * * *\noverlap: allow\n")))
    assert kept.state.timetable.paused  # type: ignore[union-attr]


def test_one_that_cannot_be_started_is_told_and_the_next_is_tried() -> None:
    kept = _hourly()
    kept.until(BEGIN + HOUR)
    error = Error(kind="not_found", message="there is no playbook 'orders'")
    kept.end(kept.started[0][0], "failed", error)
    assert kept.state.timetable.trouble == "there is no playbook 'orders'"  # type: ignore[union-attr]
    kept.until(BEGIN + 2 * HOUR)
    assert kept.times == ["01:00", "02:00"]


def test_dates_come_to_an_end() -> None:
    kept = Kept(_schedule("at: ['2026-10-24T05:00', '2036-10-24T06:00']\noverlap: allow\n"))
    kept.until(BEGIN + 11 * 366 * 24 * HOUR)
    assert kept.state.next_due() is None
    assert coming(kept.state.timetable) is None  # type: ignore[arg-type]


@pytest.mark.spec("S24")
def test_a_long_log_is_handed_on_to_another_execution_that_misses_nothing() -> None:
    kept = Kept(_schedule("cron: '* * * * *'\noverlap: allow\n"))
    kept.until(BEGIN + 24 * HOUR)
    assert kept.state.terminal == "completed"
    assert len(kept.records) < RECORDS_MAX + 50
    (handed,) = kept.of(s.ScheduleHandedOn)
    assert handed.to == "keeper.2"
    assert kept.started[-1][0] == "keeper.2"


def _cases() -> Iterator[Kept]:
    for more in (
        "",
        "overlap: queue\n",
        "overlap: cancel_running\n",
        "overlap: allow\njitter_s: 9\n",
    ):
        kept = _hourly(more)
        kept.until(BEGIN + 2 * HOUR)
        kept.end(kept.started[0][0])
        kept.steer("pause", actor="ada")
        kept.steer("resume")
        kept.steer("run", child="mine", actor="ada")
        kept.steer("backfill", since=BEGIN - 3 * HOUR, until=BEGIN)
        kept.until(BEGIN + 5 * HOUR)
        kept.away(BEGIN + 99 * HOUR)
        kept.steer("set", keeps=_keeps(_schedule("every_s: 60\n")))
        yield kept


def test_what_was_decided_is_decided_again_and_a_snapshot_holds_it() -> None:
    for kept in _cases():
        found = redecide(
            kept.id, kept.records, dict.fromkeys([PROGRAM.digest], PROGRAM).__getitem__
        )
        assert found.bad is None
        assert not found.unrecorded
        assert restore(snapshot(kept.state)) == kept.state
