"""The times of a schedule that have come: each is started, put into a queue, or passed with a reason (S24)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from petra.kernel import commands as c
from petra.kernel import schedule_events as s
from petra.kernel.effects import CancelChild, StartOther
from petra.kernel.state import derive
from petra.kernel.timetable import QUEUE_MAX, Timetable, put_off, waits_for_end
from petra.kernel.turn import Turn
from petra.own_labels import NOMINAL, SCHEDULE

if TYPE_CHECKING:
    from petra.calendar import Nominal

LATE_S = 60.0
"""A time that is decided about so much later is still on time."""
FILLS_AT_ONCE = 10
COUNTED_MAX = 1_000
"""Of times that are passed, so many are counted."""
STARTS_MAX = 100
"""So many are started by one decision."""


def deal_with_times(turn: Turn) -> None:
    """Deal with every time that has come."""
    table = table_of(turn)
    if table.paused:
        return
    _miss(turn)
    if waits_for_end(table):
        return
    schedule = table.schedule
    for time in islice(schedule.rhythm.times(table.cursor), STARTS_MAX):
        if put_off(table, time.at) > turn.now:
            return
        if schedule.overlap == "allow" or not table.running:
            _start_nominal(turn, time.at, "time", tracked=schedule.overlap != "allow")
        else:
            _busy(turn, time.at)
        if waits_for_end(table):
            return


def _miss(turn: Turn) -> None:
    """Pass the times that can be started no more."""
    table, schedule = table_of(turn), table_of(turn).schedule
    too_late = turn.now - schedule.catch_up_s - schedule.jitter_s - LATE_S
    if table.cursor < too_late:
        _pass(turn, "missed", too_late)


def _busy(turn: Turn, nominal: float) -> None:
    """A time has come, and what was started before is going on."""
    table = table_of(turn)
    match table.schedule.overlap:
        case "queue" if len(table.queue) < QUEUE_MAX:
            turn.emit(s.ScheduleQueued(nominal=nominal))
        case "queue":
            _pass(turn, "queue_full", turn.now)
        case "cancel_running":
            _stop_for(turn, _last_due(turn, nominal))
        case _:
            _pass(turn, "skipped", turn.now)


def _stop_for(turn: Turn, nominal: float) -> None:
    """Have what runs stopped; the time waits until it has."""
    table = table_of(turn)
    if nominal > table.cursor:
        before = nominal - 1e-3
        _pass(turn, "replaced", before)
    children = list(table.running)
    turn.emit(s.ScheduleStopping(children=children, nominal=nominal))
    for child in children:
        turn.effect(CancelChild(child=child, reason="its schedule is due again"))


def _last_due(turn: Turn, nominal: float) -> float:
    """Return the latest time that has come; of very many, one of the first."""
    table = table_of(turn)
    for time in islice(table.schedule.rhythm.times(nominal), COUNTED_MAX):
        if put_off(table, time.at) > turn.now:
            break
        nominal = time.at
    return nominal


def passed_meanwhile(turn: Turn) -> None:
    """Deal with the times that came while something ran that nothing could be started beside."""
    table = table_of(turn)
    if table.paused:
        return
    match table.schedule.overlap:
        case "skip":
            _pass(turn, "skipped", turn.now)
        case "queue" if len(table.queue) >= QUEUE_MAX:
            _pass(turn, "queue_full", turn.now)
        case "cancel_running" if table.queue:
            _replace(turn, _last_due(turn, table.cursor))
        case _:
            pass


def _replace(turn: Turn, latest: float) -> None:
    """Let a later time take the place of the one that waits for what is being stopped."""
    table = table_of(turn)
    if latest > table.cursor:
        before = latest - 1e-3
        count = 1 + table.schedule.rhythm.how_many(table.cursor, before, COUNTED_MAX)
        waited = table.queue[0]
        turn.emit(
            s.SchedulePassed(why="replaced", count=count, first=waited, last=before, cursor=before)
        )
        turn.emit(s.ScheduleStopping(children=[], nominal=latest))


def _pass(turn: Turn, why: str, until: float) -> None:
    """Pass the times in (cursor, until], if there are any."""
    table = table_of(turn)
    times = list(islice(_between(table, until), COUNTED_MAX + 1))
    if times:
        counted = times[:COUNTED_MAX]
        turn.emit(
            s.SchedulePassed(
                why=why, count=len(counted), first=counted[0].at, last=counted[-1].at, cursor=until,
                more=len(times) > COUNTED_MAX,
            )
        )  # fmt: skip


def _between(table: Timetable, until: float) -> list[Nominal]:
    times: list[Nominal] = []
    for time in table.schedule.rhythm.times(table.cursor):
        if time.at > until or len(times) > COUNTED_MAX:
            break
        times.append(time)
    return times


def take_from_queue(turn: Turn) -> None:
    """Start what has waited longest, when nothing runs any more."""
    table = table_of(turn)
    if table.queue and not table.running and not table.paused:
        _start_nominal(turn, table.queue[0], "queue", tracked=table.schedule.overlap != "allow")


# Starting


def _start_nominal(turn: Turn, nominal: float, cause: str, *, tracked: bool) -> None:
    table = table_of(turn)
    child = child_of(table, nominal)
    turn.emit(s.ScheduleFired(child=child, nominal=nominal, cause=cause, tracked=tracked))
    start_other(turn, child, nominal, tells=tracked)


def child_of(table: Timetable, nominal: float) -> str:
    """Return the id of what is started for a nominal time: the same whoever decides."""
    return derive("scheduled", table.lineage, table.schedule.name, repr(nominal))


def start_other(turn: Turn, child: str, nominal: float, *, tells: bool) -> None:
    """Start the playbook of a schedule for a time."""
    from petra.calendar import written  # noqa: PLC0415 - only where a schedule is kept

    state, schedule = turn.state, table_of(turn).schedule
    start = c.Start(
        now=0.0,
        workload=schedule.workload,
        labels={SCHEDULE: schedule.name, NOMINAL: written(nominal, schedule.timezone)},
        actor=f"schedule:{schedule.name}",
        namespace=state.namespace,
        tells=state.id if tells else "",
    )
    version = None if schedule.version is None else str(schedule.version)
    turn.effect(StartOther(child=child, start=start, path=schedule.playbook, version=version))


def fill(turn: Turn) -> None:
    """Start the next times of a backfill: one after the other, unless they may overlap."""
    table = table_of(turn)
    filling = table.filling
    if filling is None or table.paused:
        return
    most = FILLS_AT_ONCE if table.schedule.overlap == "allow" else 1
    while len(filling.going) < most:
        nominal = table.schedule.rhythm.first(filling.cursor)
        if nominal is None or nominal.at > filling.until:
            if not filling.going:
                turn.emit(s.ScheduleFilled(count=filling.count))
            return
        child = child_of(table, nominal.at)
        turn.emit(s.ScheduleFired(child=child, nominal=nominal.at, cause="backfill", tracked=True))
        start_other(turn, child, nominal.at, tells=True)


def table_of(turn: Turn) -> Timetable:
    """Return how far the schedule has come that an execution keeps."""
    assert turn.state.timetable is not None, "it keeps a schedule"
    return turn.state.timetable
