"""What the events of a schedule do to the state (S24)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from petra.kernel import schedule_events as s
from petra.kernel.state import State
from petra.kernel.timetable import TIMER, Filling, Timetable
from petra.kernel.waiting import Timer


def _set(state: State, event: s.ScheduleSet) -> None:
    keeps, known = event.keeps, state.timetable
    if known is None:
        state.timetable = Timetable(
            document=keeps.schedule, digest=keeps.digest, lineage=keeps.lineage or state.id, number=keeps.number,
            cursor=event.cursor, paused=event.paused,
        )  # fmt: skip
        return
    known.document, known.digest = keeps.schedule, keeps.digest
    known.cursor, known.paused = event.cursor, event.paused


def _paused(state: State, _event: s.SchedulePaused) -> None:
    _table(state).paused = True


def _resumed(state: State, event: s.ScheduleResumed) -> None:
    table = _table(state)
    table.paused = False
    table.cursor = event.cursor


def _next(state: State, event: s.ScheduleNext) -> None:
    if event.due is None:
        state.drop_timer(TIMER)
    else:
        state.add_timer(Timer(id=TIMER, due=event.due, kind=TIMER, group=TIMER))


def _fired(state: State, event: s.ScheduleFired) -> None:
    table = _table(state)
    table.fired += 1
    if event.cause == "backfill" and table.filling is not None:
        table.filling.cursor = event.nominal
        table.filling.going[event.child] = event.nominal
        return
    if event.cause == "queue":
        table.queue.remove(event.nominal)
    elif event.cause == "time":
        table.cursor = event.nominal
    if event.tracked:
        table.running[event.child] = event.nominal


def _queued(state: State, event: s.ScheduleQueued) -> None:
    table = _table(state)
    table.queue.append(event.nominal)
    table.cursor = event.nominal


def _passed(state: State, event: s.SchedulePassed) -> None:
    table = _table(state)
    table.passed[event.why] = table.passed.get(event.why, 0) + event.count
    table.cursor = event.cursor


def _stopping(state: State, event: s.ScheduleStopping) -> None:
    table = _table(state)
    table.cancelling = True
    table.queue = [event.nominal]
    table.cursor = event.nominal


def _ended(state: State, event: s.ScheduleEnded) -> None:
    table = _table(state)
    table.trouble = event.message
    table.running.pop(event.child, None)
    if table.filling is not None:
        table.filling.going.pop(event.child, None)
    if not table.running:
        table.cancelling = False


def _filling(state: State, event: s.ScheduleFilling) -> None:
    before = event.since - 1e-3  # the first of them counts
    _table(state).filling = Filling(event.since, event.until, event.count, cursor=before)


def _filled(state: State, _event: s.ScheduleFilled) -> None:
    _table(state).filling = None


def _handed_on(state: State, _event: s.ScheduleHandedOn) -> None:
    state.drop_timer(TIMER)
    state.timetable = None


def _table(state: State) -> Timetable:
    assert state.timetable is not None, "it keeps a schedule"
    return state.timetable


SCHEDULES: Mapping[type, Callable[[State, Any], None]] = MappingProxyType(
    {
        s.ScheduleSet: _set, s.SchedulePaused: _paused, s.ScheduleResumed: _resumed, s.ScheduleNext: _next,
        s.ScheduleFired: _fired, s.ScheduleQueued: _queued, s.SchedulePassed: _passed,
        s.ScheduleStopping: _stopping, s.ScheduleEnded: _ended, s.ScheduleFilling: _filling,
        s.ScheduleFilled: _filled, s.ScheduleHandedOn: _handed_on,
    }
)  # fmt: skip
