"""What an execution knows that keeps a schedule: part of its state, and what it is begun with (S24)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct, field

from petra.playbook.schedule import Schedule
from petra.values import canonical

TIMER = "schedule"
"""The one timer of a schedule, and its kind."""


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
    return msgspec.json.decode(text, type=Schedule)
