"""What happens in an execution that keeps a schedule (S24). Times are seconds since 1970."""

from __future__ import annotations

import msgspec

from petra.kernel.timetable import Keeps


class ScheduleEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Something that happened to a schedule."""


class ScheduleSet(ScheduleEvent, frozen=True, tag="schedule.set"):
    """A text of the schedule counts from now on; times up to ``cursor`` are over."""

    keeps: Keeps
    cursor: float
    paused: bool = False
    actor: str = ""
    by: str = ""


class SchedulePaused(ScheduleEvent, frozen=True, tag="schedule.paused"):
    """Nothing is started any more; what waited in a queue stays there."""

    actor: str = ""
    by: str = ""
    reason: str = ""


class ScheduleResumed(ScheduleEvent, frozen=True, tag="schedule.resumed"):
    """It goes on; the times of the pause, up to ``cursor``, are not made up for."""

    cursor: float
    actor: str = ""
    by: str = ""


class ScheduleNext(ScheduleEvent, frozen=True, tag="schedule.next"):
    """Which time is due next, and when that is started; nothing, where something else must happen before."""

    nominal: float | None = None
    due: float | None = None
    note: str = ""


class ScheduleFired(ScheduleEvent, frozen=True, tag="schedule.fired"):
    """An execution was started for a nominal time, because of ``cause``: time, queue, backfill or run.

    One that is ``tracked`` tells when it has ended.
    """

    child: str
    nominal: float
    cause: str = "time"
    tracked: bool = False
    actor: str = ""
    by: str = ""


class ScheduleQueued(ScheduleEvent, frozen=True, tag="schedule.queued"):
    """A nominal time waits until what was started before has ended."""

    nominal: float


class SchedulePassed(ScheduleEvent, frozen=True, tag="schedule.passed"):
    """Nominal times were not started: missed, skipped, replaced, or the queue was full.

    With ``more`` there are more of them than were counted. All times up to ``cursor`` are over.
    """

    why: str
    count: int
    first: float
    last: float
    cursor: float
    more: bool = False


class ScheduleStopping(ScheduleEvent, frozen=True, tag="schedule.stopping"):
    """What runs was told to stop, for a nominal time that is to take its place."""

    children: list[str]
    nominal: float


class ScheduleEnded(ScheduleEvent, frozen=True, tag="schedule.ended"):
    """An execution that was started has ended, or could not be started, and ``message`` says why."""

    child: str
    status: str
    message: str = ""


class ScheduleFilling(ScheduleEvent, frozen=True, tag="schedule.filling"):
    """A backfill begins: the times from ``since`` to ``until``."""

    since: float
    until: float
    count: int
    actor: str = ""
    by: str = ""
    reason: str = ""


class ScheduleFilled(ScheduleEvent, frozen=True, tag="schedule.filled"):
    """A backfill is through."""

    count: int


class ScheduleHandedOn(ScheduleEvent, frozen=True, tag="schedule.handed_on"):
    """Another execution keeps the schedule from now on: the log of this one is long enough."""

    to: str


AnyScheduleEvent = (
    ScheduleSet
    | SchedulePaused
    | ScheduleResumed
    | ScheduleNext
    | ScheduleFired
    | ScheduleQueued
    | SchedulePassed
    | ScheduleStopping
    | ScheduleEnded
    | ScheduleFilling
    | ScheduleFilled
    | ScheduleHandedOn
)
