"""Schedules: an execution that starts others when their time has come (S24).

Rule 1: a nominal time is dealt with once: it is started, put into a queue, or passed with a reason, and the cursor moves
over it in the same event. Whoever decides, and however often, the id of what is started follows from the time alone.
Rule 2: times that came while nobody was there are started as late as ``catch_up_s`` allows; the others are missed, and that
is recorded. Those of a pause are not made up for.
Rule 3: what waits for an execution to end needs no timer: its end decides. So a schedule that is stuck writes nothing.
Rule 4: the log is handed on to a further execution before it grows long, when nothing is on its way.
"""

from __future__ import annotations

from petra.kernel import commands as c
from petra.kernel import schedule_events as s
from petra.kernel.due_times import (
    deal_with_times,
    fill,
    passed_meanwhile,
    start_other,
    table_of,
    take_from_queue,
)
from petra.kernel.effects import StartOther
from petra.kernel.runs import end
from petra.kernel.state import derive
from petra.kernel.timetable import (
    TIMER,
    Keeps,
    Timetable,
    coming,
    schedule_of,
)
from petra.kernel.turn import RefusedError, Turn
from petra.wire import Report

FILL_MAX = 10_000
"""So many times can be filled in at once."""
PAUSE_S = 0.1
"""So long after a decision that started as many as it may, the next ones are started."""
CHANGED = "the schedule is not the one that was seen"
"""Why another text is refused whose author saw another one."""
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
            if command.replaces not in (None, table_of(turn).digest):
                raise RefusedError(CHANGED)
            _set(turn, command.keeps, command)
        case "pause":
            if table_of(turn).paused:
                raise RefusedError("the schedule is paused already")
            turn.emit(s.SchedulePaused(actor=command.actor, by=command.by, reason=command.reason))
        case "resume":
            if not table_of(turn).paused:
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
            passed_meanwhile(turn)
        go_on(turn)
    return True


def go_on(turn: Turn) -> None:
    """Deal with every time that has come, and say which one is next."""
    if turn.state.paused:
        return
    take_from_queue(turn)
    deal_with_times(turn)
    fill(turn)
    if not _hands_on(turn):
        _arm(turn)


# What somebody wants


def _set(turn: Turn, keeps: Keeps, command: c.Steer) -> None:
    """Take another text; times that have passed are dealt with by the one before."""
    table = table_of(turn)
    deal_with_times(turn)
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
    table = table_of(turn)
    child = command.child or derive("run", table.lineage, turn.state.seq)
    tracked = table.schedule.overlap != "allow"
    turn.emit(
        s.ScheduleFired(
            child=child, nominal=turn.now, cause="run", tracked=tracked, actor=command.actor, by=command.by
        )
    )  # fmt: skip
    start_other(turn, child, turn.now, tells=tracked)


def _backfill(turn: Turn, command: c.Steer) -> None:
    table = table_of(turn)
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


# What comes next


def _arm(turn: Turn) -> None:
    next_time = coming(table_of(turn))
    armed = turn.state.timers.get(TIMER)
    wanted = None
    if next_time is not None:
        wanted = next_time.due if next_time.due > turn.now else turn.now + PAUSE_S
    if (armed.due if armed is not None else None) == wanted:
        return
    if next_time is None:
        turn.emit(s.ScheduleNext())
    else:
        turn.emit(
            s.ScheduleNext(nominal=next_time.nominal.at, due=wanted, note=next_time.nominal.note)
        )


def _hands_on(turn: Turn) -> bool:
    """Let another execution keep the schedule, if this one has written enough and nothing is on its way."""
    table, state = table_of(turn), turn.state
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
