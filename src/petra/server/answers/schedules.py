"""Answers about schedules (S24)."""

from __future__ import annotations

from typing import Any

from petra.server.answers.documents import DocumentApplied, DocumentRemoved, DocumentSteered
from petra.server.shapes import Shape


class NominalTime(Shape, frozen=True, omit_defaults=True):
    """A time at which a schedule is due, by its clocks; a note where those change."""

    nominal: str
    note: str = ""


class ScheduleOutcome(Shape, frozen=True):
    """What came of a time."""

    execution: str
    status: str
    nominal: str | None
    started: str
    ended: str | None


class BackfillGoing(Shape, frozen=True):
    """A backfill on its way."""

    since: str
    until: str
    count: int
    running: list[str]


class ScheduleItem(Shape, frozen=True):
    """A schedule that is kept: its text, what comes next, what runs, what was passed, what came of the last ones."""

    name: str
    playbook: str
    version: str | int | float | None
    cron: str | None
    every_s: float | None
    at: str | list[str] | None
    timezone: str
    words: str
    overlap: str
    catch_up_s: float
    jitter_s: float
    workload: dict[str, Any]
    paused: bool
    document: dict[str, Any]
    digest: str
    next: list[NominalTime]
    due: str | None
    running: list[str]
    queued: list[str]
    filling: BackfillGoing | None
    started: int
    passed: dict[str, int]
    trouble: str | None
    execution: str
    last: list[ScheduleOutcome]


class SchedulePage(Shape, frozen=True):
    """The schedules that are kept."""

    items: list[ScheduleItem]
    next: str | None = None


class AppliedSchedule(DocumentApplied, frozen=True):
    """What became of a schedule that was applied."""


class TimesAhead(Shape, frozen=True):
    """When a schedule is due, in words, and its next times."""

    words: str
    next: list[NominalTime]


class ScheduleSteered(DocumentSteered, frozen=True):
    """What was done with a schedule."""


class ScheduleRun(Shape, frozen=True):
    """What was started."""

    execution: str


class ScheduleRemoved(DocumentRemoved, frozen=True):
    """Which schedule is kept no more."""


class BackfillCount(Shape, frozen=True):
    """How many times a backfill has; with ``more``, more than can be at once."""

    count: int
    more: bool
    since: str
    until: str
