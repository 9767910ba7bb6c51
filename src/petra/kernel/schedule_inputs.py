"""Which commands the records of a schedule may have come from (see ``petra.kernel.inputs``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel import schedule_events as s
from petra.kernel.timetable import Keeps
from petra.wire import Error


def kept(rest: Sequence[tuple[float, e.AnyEvent]]) -> Keeps | None:
    """Return the schedule that an execution began with."""
    following = rest[1][1] if len(rest) > 1 else None
    return following.keeps if isinstance(following, s.ScheduleSet) else None


def steered(now: float, event: e.AnyEvent) -> Iterator[c.AnyCommand]:
    """Yield what somebody wanted of a schedule, or what it was told."""
    match event:
        case s.ScheduleSet():
            yield c.Steer(now=now, act="set", keeps=event.keeps, actor=event.actor, by=event.by)
        case s.SchedulePaused():
            yield c.Steer(now=now, act="pause", reason=event.reason, actor=event.actor, by=event.by)
        case s.ScheduleResumed():
            yield c.Steer(now=now, act="resume", actor=event.actor, by=event.by)
        case s.ScheduleFired(cause="run"):
            yield c.Steer(now=now, act="run", child=event.child, actor=event.actor, by=event.by)
        case s.ScheduleFilling():
            yield c.Steer(
                now=now, act="backfill", since=event.since, until=event.until, reason=event.reason,
                actor=event.actor, by=event.by,
            )  # fmt: skip
        case s.ScheduleEnded():
            error = Error(kind="unknown", message=event.message) if event.message else None
            yield c.ChildEnded(now=now, child=event.child, status=event.status, error=error)
        case _:
            return
