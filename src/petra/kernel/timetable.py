"""What an execution knows that keeps a schedule: part of its state, and what it is begun with (S24)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from petra.decoders import json_decoder
from petra.values import canonical

if TYPE_CHECKING:  # a calendar is loaded where a schedule is kept
    from petra.calendar import Nominal
    from petra.playbook.schedule import Schedule

TIMER = "schedule"
"""The one timer of a schedule, and its kind."""


QUEUE_MAX = 100
"""So many times wait for what runs to end, at most."""


class Keeps(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The schedule that an execution keeps. Times up to ``cursor`` are over; those of one that begins anew, up to now.

    One execution after the other keeps a schedule, so that no log grows without end: ``lineage`` is the first of them.
    """

    schedule: dict[str, Any]
    digest: str
    cursor: float | None = None
    paused: bool | None = None
    lineage: str = ""
    number: int = 1


class Filling(Struct, gc=False):
    """A backfill on its way: the times in (cursor, until] are still to be started."""

    since: float
    until: float
    count: int
    cursor: float
    going: dict[str, float] = field(default_factory=dict)


class Timetable(Struct, gc=False):
    """How far a schedule has come."""

    document: dict[str, Any]
    digest: str
    lineage: str
    number: int
    cursor: float
    paused: bool = False
    running: dict[str, float] = field(default_factory=dict)
    """The executions that it waits for, by their nominal times."""
    queue: list[float] = field(default_factory=list)
    cancelling: bool = False
    filling: Filling | None = None
    fired: int = 0
    passed: dict[str, int] = field(default_factory=dict)
    """How many times were not started, by why."""
    trouble: str = ""
    """Why the last one could not be started."""

    @property
    def schedule(self) -> Schedule:
        """The document."""
        return schedule_of(self.document)


def schedule_of(document: dict[str, Any]) -> Schedule:
    """Return a schedule that is kept as data."""
    return _decoded(canonical(document))


@lru_cache(maxsize=256)
def _decoded(text: bytes) -> Schedule:
    from petra.playbook.schedule import Schedule  # noqa: PLC0415 - see above

    return json_decoder(Schedule).decode(text)


# What comes next


class Coming(NamedTuple):
    """The next time of a schedule, and when it is started."""

    nominal: Nominal
    due: float


def coming(table: Timetable) -> Coming | None:
    """Return the next time; None where there is none, or something else must happen before."""
    if table.paused or waits_for_end(table):
        return None
    nominal = table.schedule.rhythm.first(table.cursor)
    return Coming(nominal, put_off(table, nominal.at)) if nominal is not None else None


def put_off(table: Timetable, nominal: float) -> float:
    """Return when a nominal time is started."""
    from petra.calendar import jitter  # noqa: PLC0415 - see above

    schedule = table.schedule
    return nominal + jitter(schedule.name, nominal, schedule.jitter_s)


def waits_for_end(table: Timetable) -> bool:
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


def sentence(table: Timetable) -> str:
    """Say what a schedule waits for."""
    schedule, next_time = table.schedule, coming(table)
    name = f"schedule '{schedule.name}'"
    if table.paused:
        return f"{name} is paused"
    if next_time is not None:
        from petra.calendar import written  # noqa: PLC0415 - see above

        note = f" ({next_time.nominal.note})" if next_time.nominal.note else ""
        return f"{name} is due next at {written(next_time.nominal.at, schedule.timezone)}{note}"
    if waits_for_end(table):
        return f"{name} goes on when {next(iter(table.running))} has ended"
    return f"{name} is due no more"


def passed_over(table: Timetable) -> str:
    """Say which times were not started, and why the last one failed to; nothing where all is well."""
    said = [f"{number} {_WHY.get(why, why)}" for why, number in table.passed.items()]
    words = f"Times that were not started: {', '.join(said)}." if said else ""
    return f"{words} The last one: {table.trouble}.".strip() if table.trouble else words


_WHY = {
    "missed": "missed, while nobody was there for longer than catch_up_s", "queue_full": "left out, the queue being full",
    "replaced": "replaced by a later one", "skipped": "skipped, while another one was going on",
}  # fmt: skip
