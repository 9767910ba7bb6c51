"""Schedules: an execution that starts others when their time has come (S24).

Rule 1: a nominal time is dealt with once: it is started, put into a queue, or passed with a reason, and the cursor moves
over it in the same event. Whoever decides, and however often, the id of what is started follows from the time alone.
Rule 2: times that came while nobody was there are started as late as ``catch_up_s`` allows; the others are missed, and that
is recorded. Those of a pause are not made up for.
Rule 3: what waits for an execution to end needs no timer: its end decides. So a schedule that is stuck writes nothing.
Rule 4: the log is handed on to a further execution before it grows long, when nothing is on its way.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from petra.calendar import Nominal, jitter, written
from petra.kernel import commands as c
from petra.kernel import schedule_events as s
from petra.kernel.effects import CancelChild, StartOther
from petra.kernel.runs import end
from petra.kernel.state import derive
from petra.kernel.timetable import TIMER, Keeps, Timetable, schedule_of
from petra.kernel.turn import RefusedError, Turn
from petra.wire import Report

SCHEDULE, NOMINAL = "petra/schedule", "petra/nominal"
"""The labels of what a schedule starts: its name, and the nominal time."""
KEEPS = "petra/keeps-schedule"
"""The label of an execution that keeps a schedule: its name."""
LATE_S = 60.0
"""A time that is decided about so much later is still on time."""
QUEUE_MAX = 100
FILL_MAX = 10_000
"""So many times can be filled in at once."""
FILLS_AT_ONCE = 10
COUNTED_MAX = 1_000
"""Of times that are passed, so many are counted."""
STARTS_MAX = 100
"""So many are started by one decision."""
PAUSE_S = 0.1
"""So long after that the next ones are."""
RECORDS_MAX = 2_000
"""A log of so many records is handed on."""


def keep(turn: Turn, keeps: Keeps, asked: c.Asked) -> None:
    """Begin to keep a schedule."""
    schedule = schedule_of(keeps.schedule)
    cursor = turn.now if keeps.cursor is None else keeps.cursor
    paused = schedule.paused if keeps.paused is None else keeps.paused
    turn.emit(
        s.ScheduleSet(keeps=keeps, cursor=cursor, paused=paused, actor=asked.actor, by=asked.by)
    )
    go_on(turn)


def steer(turn: Turn, command: c.Steer) -> None:
    """Carry out what somebody wants of a schedule.

    Raises:
        RefusedError: this cannot be.
    """
    if turn.state.timetable is None:
        raise RefusedError("this execution keeps no schedule")
    match command.act:
        case "set" if command.keeps is not None:
            _set(turn, command.keeps, command)
        case "pause":
            if _table(turn).paused:
                raise RefusedError("the schedule is paused already")
            turn.emit(s.SchedulePaused(actor=command.actor, by=command.by, reason=command.reason))
        case "resume":
            if not _table(turn).paused:
                raise RefusedError("the schedule is not paused")
            turn.emit(s.ScheduleResumed(cursor=turn.now, actor=command.actor, by=command.by))
        case "run":
            _run_now(turn, command)
        case "backfill":
            _backfill(turn, command)
        case _:
            known = "set, pause, resume, run, backfill"
            raise RefusedError(f"a schedule cannot '{command.act}'; known: {known}")
    go_on(turn)


def due(turn: Turn) -> None:
    """Go on when a time has come."""
    if turn.state.timetable is not None:
        go_on(turn)


def ended(turn: Turn, command: c.ChildEnded) -> bool:
    """Take the end of what was started, if it is waited for; say whether it is a schedule's."""
    table = turn.state.timetable
    if table is None:
        return False
    waited = command.child in table.running
    if waited or (table.filling is not None and command.child in table.filling.going):
        failed = command.error.message if command.error is not None else ""
        turn.emit(s.ScheduleEnded(child=command.child, status=command.status, message=failed))
        if waited and not table.running:
            _passed_meanwhile(turn)
        go_on(turn)
    return True


def go_on(turn: Turn) -> None:
    """Deal with every time that has come, and say which one is next."""
    if turn.state.paused:
        return
    _from_queue(turn)
    _times(turn)
    _fill(turn)
    if not _hands_on(turn):
        _arm(turn)


# What somebody wants


def _set(turn: Turn, keeps: Keeps, command: c.Steer) -> None:
    """Take another text; times that have passed are dealt with by the one before."""
    table = _table(turn)
    _times(turn)
    before, after = table.schedule, schedule_of(keeps.schedule)
    paused = after.paused if after.paused != before.paused else table.paused
    same = (
        before.rhythm == after.rhythm and not table.paused
    )  # what is put off just now still comes
    turn.emit(
        s.ScheduleSet(
            keeps=Keeps(schedule=keeps.schedule, digest=keeps.digest),
            cursor=table.cursor if same else turn.now,
            paused=paused,
            actor=command.actor,
            by=command.by,
        )
    )


def _run_now(turn: Turn, command: c.Steer) -> None:
    table = _table(turn)
    child = command.child or derive("run", table.lineage, turn.state.seq)
    tracked = table.schedule.overlap != "allow"
    turn.emit(
        s.ScheduleFired(
            child=child, nominal=turn.now, cause="run", tracked=tracked, actor=command.actor, by=command.by
        )
    )  # fmt: skip
    _start(turn, child, turn.now, tells=tracked)


def _backfill(turn: Turn, command: c.Steer) -> None:
    table = _table(turn)
    if table.filling is not None:
        raise RefusedError("another backfill is on its way; it can begin when that is through")
    since, until = command.since, min(command.until, turn.now)
    count = to_fill(table, since, until)
    if not count:
        raise RefusedError("the schedule is not due between these times")
    if count > FILL_MAX:
        raise RefusedError(f"there are more than {FILL_MAX:,} times; fill them in by parts of that")
    turn.emit(
        s.ScheduleFilling(
            since=since, until=until, count=count, actor=command.actor, by=command.by, reason=command.reason
        )
    )  # fmt: skip


def to_fill(table: Timetable, since: float, until: float) -> int:
    """Count the times of a backfill, one more than can be at most."""
    return table.schedule.rhythm.how_many(since - 1e-3, until, FILL_MAX + 1)


# Times that have come


def _times(turn: Turn) -> None:
    """Deal with every time that has come."""
    table = _table(turn)
    if table.paused:
        return
    _miss(turn)
    if _waits_for_end(table):
        return
    schedule = table.schedule
    for one in islice(schedule.rhythm.times(table.cursor), STARTS_MAX):
        if _put_off(table, one.at) > turn.now:
            return
        if schedule.overlap == "allow" or not table.running:
            _start_nominal(turn, one.at, "time", tracked=schedule.overlap != "allow")
        else:
            _busy(turn, one.at)
        if _waits_for_end(table):
            return


def _miss(turn: Turn) -> None:
    """Pass the times that can be started no more."""
    table, schedule = _table(turn), _table(turn).schedule
    too_late = turn.now - schedule.catch_up_s - schedule.jitter_s - LATE_S
    if table.cursor < too_late:
        _pass(turn, "missed", too_late)


def _busy(turn: Turn, nominal: float) -> None:
    """A time has come, and what was started before is going on."""
    table = _table(turn)
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
    table = _table(turn)
    if nominal > table.cursor:
        before = nominal - 1e-3
        _pass(turn, "replaced", before)
    children = list(table.running)
    turn.emit(s.ScheduleStopping(children=children, nominal=nominal))
    for child in children:
        turn.effect(CancelChild(child=child, reason="its schedule is due again"))


def _last_due(turn: Turn, nominal: float) -> float:
    """Return the latest time that has come; of very many, one of the first."""
    table = _table(turn)
    for one in islice(table.schedule.rhythm.times(nominal), COUNTED_MAX):
        if _put_off(table, one.at) > turn.now:
            break
        nominal = one.at
    return nominal


def _passed_meanwhile(turn: Turn) -> None:
    """Deal with the times that came while something ran that nothing could be started beside."""
    table = _table(turn)
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
    table = _table(turn)
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
    table = _table(turn)
    found = list(islice(_between(table, until), COUNTED_MAX + 1))
    if found:
        counted = found[:COUNTED_MAX]
        turn.emit(
            s.SchedulePassed(
                why=why, count=len(counted), first=counted[0].at, last=counted[-1].at, cursor=until,
                more=len(found) > COUNTED_MAX,
            )
        )  # fmt: skip


def _between(table: Timetable, until: float) -> list[Nominal]:
    found: list[Nominal] = []
    for one in table.schedule.rhythm.times(table.cursor):
        if one.at > until or len(found) > COUNTED_MAX:
            break
        found.append(one)
    return found


def _from_queue(turn: Turn) -> None:
    """Start what has waited longest, when nothing runs any more."""
    table = _table(turn)
    if table.queue and not table.running and not table.paused:
        _start_nominal(turn, table.queue[0], "queue", tracked=table.schedule.overlap != "allow")


# Starting


def _start_nominal(turn: Turn, nominal: float, cause: str, *, tracked: bool) -> None:
    table = _table(turn)
    child = child_of(table, nominal)
    turn.emit(s.ScheduleFired(child=child, nominal=nominal, cause=cause, tracked=tracked))
    _start(turn, child, nominal, tells=tracked)


def child_of(table: Timetable, nominal: float) -> str:
    """Return the id of what is started for a nominal time: the same whoever decides."""
    return derive("scheduled", table.lineage, table.schedule.name, repr(nominal))


def _start(turn: Turn, child: str, nominal: float, *, tells: bool) -> None:
    state, schedule = turn.state, _table(turn).schedule
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


def _fill(turn: Turn) -> None:
    """Start the next times of a backfill: one after the other, unless they may overlap."""
    table = _table(turn)
    filling = table.filling
    if filling is None or table.paused:
        return
    most = FILLS_AT_ONCE if table.schedule.overlap == "allow" else 1
    while len(filling.going) < most:
        one = table.schedule.rhythm.first(filling.cursor)
        if one is None or one.at > filling.until:
            if not filling.going:
                turn.emit(s.ScheduleFilled(count=filling.count))
            return
        child = child_of(table, one.at)
        turn.emit(s.ScheduleFired(child=child, nominal=one.at, cause="backfill", tracked=True))
        _start(turn, child, one.at, tells=True)


# What comes next


class Coming(NamedTuple):
    """The next time of a schedule, and when it is started."""

    nominal: Nominal
    due: float


def coming(table: Timetable) -> Coming | None:
    """Return the next time; None where there is none, or something else must happen before."""
    if table.paused or _waits_for_end(table):
        return None
    one = table.schedule.rhythm.first(table.cursor)
    return Coming(one, _put_off(table, one.at)) if one is not None else None


def _put_off(table: Timetable, nominal: float) -> float:
    schedule = table.schedule
    return nominal + jitter(schedule.name, nominal, schedule.jitter_s)


def _waits_for_end(table: Timetable) -> bool:
    """Whether the end of something that runs decides what happens next, and no time does."""
    if not table.running:
        return False
    match table.schedule.overlap:
        case "skip":
            return True
        case "queue":
            return len(table.queue) >= QUEUE_MAX
        case "cancel_running":
            return table.cancelling
        case _:
            return False


def _arm(turn: Turn) -> None:
    found = coming(_table(turn))
    armed = turn.state.timers.get(TIMER)
    wanted = None
    if found is not None:
        wanted = found.due if found.due > turn.now else turn.now + PAUSE_S
    if (armed.due if armed is not None else None) == wanted:
        return
    if found is None:
        turn.emit(s.ScheduleNext())
    else:
        turn.emit(s.ScheduleNext(nominal=found.nominal.at, due=wanted, note=found.nominal.note))


def _hands_on(turn: Turn) -> bool:
    """Let another execution keep the schedule, if this one has written enough and nothing is on its way."""
    table, state = _table(turn), turn.state
    busy = table.running or table.queue or table.filling is not None
    run = next(iter(state.runs.values()), None)
    if state.seq < RECORDS_MAX or busy or run is None:
        return False
    keeps = Keeps(
        schedule=table.document, digest=table.digest, cursor=table.cursor, paused=table.paused,
        lineage=table.lineage, number=table.number + 1,
    )  # fmt: skip
    heir = keeper_id(table.lineage, keeps.number)
    start = c.Start(now=0.0, namespace=state.namespace, labels=state.labels, keeps=keeps)
    turn.emit(s.ScheduleHandedOn(to=heir))
    turn.effect(StartOther(child=heir, start=start, digest=state.digest))
    end(turn, run, Report(status="ok", result={"kept_by": heir}))
    return True


def keeper_id(lineage: str, number: int) -> str:
    """Return the id of the execution that is the ``number``-th to keep a schedule."""
    return lineage if number == 1 else f"{lineage}.{number}"


def _table(turn: Turn) -> Timetable:
    assert turn.state.timetable is not None, "it keeps a schedule"
    return turn.state.timetable
