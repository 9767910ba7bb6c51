"""Schedules to look at: which are kept, what comes next, and what came of the last ones (S24).

The execution that keeps a schedule is found by its label. One that has handed on leads to the next, which begins in a moment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

from cronsim import CronSim

from petra.calendar import instant, line_of, written
from petra.clock import Clock
from petra.engine.cache import Entry
from petra.errors import UsageError
from petra.kernel.state import State
from petra.kernel.timetable import Timetable, coming
from petra.own_labels import KEEPS, NOMINAL, SCHEDULE
from petra.playbook.schedule import Schedule
from petra.store.base import Store
from petra.store.rows import ExecutionFilter, StoredExecution

NEXT_SHOWN: Final = 3
LAST_SHOWN: Final = 10
PREVIEWED_MAX: Final = 1_000
LISTED_MAX: Final = 1_000
_PATIENCE: Final = 100
_PAUSE_S: Final = 0.05


class UnknownScheduleError(UsageError):
    """There is no schedule of that name."""


class Timetables:
    """What can be read of schedules, with a store and a way to look at executions."""

    def __init__(self, store: Store, view: Callable[[str], Awaitable[Entry]], clock: Clock) -> None:
        self.store = store
        self._view = view
        self._clock = clock

    async def listed(self, namespace: str) -> list[dict[str, Any]]:
        """Return every schedule that is kept, by name."""
        wanted = ExecutionFilter(playbook="schedule", namespace=namespace)
        keepers: dict[str, StoredExecution] = {}
        cursor: str | None = None
        while len(keepers) < LISTED_MAX:
            page = await self.store.executions(wanted, cursor=cursor, limit=LISTED_MAX)
            for entry in page.rows:
                if entry.row.ended is None and KEEPS in entry.row.labels:
                    keepers.setdefault(entry.row.labels[KEEPS], entry)
            cursor = page.cursor
            if cursor is None:
                break
        return [await self._shown(keepers[name].row.id) for name in sorted(keepers)]

    async def get(self, namespace: str, name: str) -> dict[str, Any]:
        """Return a schedule, with what comes next and what came of the last."""
        execution, _ = await self.table(namespace, name)
        return await self._shown(execution)

    async def _shown(self, execution: str) -> dict[str, Any]:
        state = (await self._view(execution)).state
        assert state.timetable is not None, "it keeps a schedule"
        labels = ((SCHEDULE, state.timetable.schedule.name),)
        last = await self.store.executions(
            ExecutionFilter(labels=labels, namespace=state.namespace), limit=LAST_SHOWN
        )
        return {**schedule_data(state, state.timetable), "last": [_outcome(x) for x in last.rows]}

    async def preview(
        self, namespace: str, name: str, since: str = "", number: int = 10
    ) -> dict[str, Any]:
        """Return the next times of a schedule."""
        _, table = await self.table(namespace, name)
        return previewed(table.schedule, self._clock.now(), since, number)

    async def table(self, namespace: str, name: str) -> tuple[str, Timetable]:
        """Return the execution that keeps a schedule, and how far that has come.

        Raises:
            UnknownScheduleError: nobody keeps one of that name.
        """
        for _ in range(_PATIENCE):
            known = await self.keepers(namespace, name)
            state = (await self._view(known[0].row.id)).state if known else None
            if state is None or (state.terminal and not _handed_on(state)):
                break
            if state.timetable is not None:
                return state.id, state.timetable
            await self._clock.sleep(_PAUSE_S)  # the next one is about to begin
        words = "'petra schedule list' shows those there are"
        raise UnknownScheduleError(f"there is no schedule '{name[:200]}'; {words}")

    async def keepers(self, namespace: str, name: str) -> tuple[StoredExecution, ...]:
        """Return all executions that keep or kept a schedule, the latest first."""
        wanted = ExecutionFilter(labels=((KEEPS, name),), namespace=namespace)
        return (await self.store.executions(wanted, limit=LISTED_MAX)).rows

    async def is_kept(self, keepers: Sequence[StoredExecution]) -> bool:
        """Whether one of those still keeps the schedule, or has handed on to another that is about to begin."""
        if any(keeper.row.ended is None for keeper in keepers):
            return True
        return bool(keepers) and _handed_on((await self._view(keepers[0].row.id)).state)


def _handed_on(state: State) -> bool:
    return isinstance(state.output, dict) and "kept_by" in state.output


# As data


def schedule_data(state: State, table: Timetable) -> dict[str, Any]:
    """Return a schedule as it is shown: its text, what comes next, and what has been passed."""
    schedule, upcoming = table.schedule, coming(table)
    ahead = islice(schedule.rhythm.times(table.cursor), NEXT_SHOWN) if not table.paused else ()
    return {
        "name": schedule.name, "playbook": schedule.playbook, "version": schedule.version,
        "cron": schedule.cron, "every_s": schedule.every_s, "at": schedule.at, "timezone": schedule.timezone,
        "words": in_words(schedule), "overlap": schedule.overlap, "catch_up_s": schedule.catch_up_s,
        "jitter_s": schedule.jitter_s, "workload": schedule.workload, "paused": table.paused,
        "document": table.document, "digest": table.digest, "next": [_nominal(schedule, *time) for time in ahead],
        "due": written(upcoming.due, "UTC") if upcoming is not None else None,
        "running": list(table.running), "queued": [written(time, schedule.timezone) for time in table.queue],
        "filling": _filling(table), "started": table.fired, "passed": dict(table.passed), "trouble": table.trouble or None,
        "execution": state.id,
    }  # fmt: skip


def _filling(table: Timetable) -> dict[str, Any] | None:
    filling = table.filling
    if filling is None:
        return None
    zone = table.schedule.timezone
    return {
        "since": written(filling.since, zone), "until": written(filling.until, zone), "count": filling.count,
        "running": list(filling.going),
    }  # fmt: skip


def _nominal(schedule: Schedule, at: float, note: str) -> dict[str, Any]:
    shown = {"nominal": written(at, schedule.timezone)}
    return {**shown, "note": note} if note else shown


def previewed(schedule: Schedule, now: float, since: str = "", number: int = 10) -> dict[str, Any]:
    """Return when a schedule is due, in words, and its next times, from now or from a date on."""
    begin = instant(since, schedule.timezone) - 1e-3 if since else now
    most = max(1, min(number, PREVIEWED_MAX))
    ahead = islice(schedule.rhythm.times(begin), most)
    return {
        "words": in_words(schedule),
        "next": [_nominal(schedule, *time) for time in ahead],
    }


def in_words(schedule: Schedule) -> str:
    """Say when a schedule is due."""
    if schedule.cron is not None:
        some_day = datetime(2026, 1, 1)  # noqa: DTZ001 - by any clock
        return str(CronSim(line_of(schedule.cron).upper(), some_day).explain())
    if schedule.every_s is not None:
        return f"Every {schedule.every_s:g} s"
    return "At " + ", ".join(schedule.rhythm.dates)


def _outcome(stored: StoredExecution) -> dict[str, Any]:
    row = stored.row
    return {
        "execution": row.id, "status": row.status, "nominal": row.labels.get(NOMINAL), "started": written(row.started, "UTC"),
        "ended": None if row.ended is None else written(row.ended, "UTC"),
    }  # fmt: skip
