"""Schedules on the real engine, in virtual time: what they start, who keeps them, and what a restart changes (S24)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import pytest
from engine_support import playbook, until
from support.clocks import FakeClock

from petra.calendar import instant
from petra.desk import Desk, owner
from petra.desk.schedules import Schedules
from petra.desk.timetables import Timetables, UnknownScheduleError
from petra.engine import Engine, engine, turnstile, wakes
from petra.errors import UsageError
from petra.kernel import schedules as kernel
from petra.playbook.documents import read_document
from petra.playbook.schedule import Schedule
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter, StoredExecution

HEAD = "apiVersion: petra/v1\nkind: Schedule\nmetadata: {name: hourly}\nplaybook: slow\n"
HOUR = 3600.0
WHO = owner("ada")


def _schedule(more: str = "") -> Schedule:
    return read_document(f"{HEAD}cron: 0 * * * *\n{more}").checked_as(Schedule)


@pytest.fixture(autouse=True)
def long_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look into the store every half hour of virtual time: every second would only take ours."""
    monkeypatch.setattr(wakes, "POLL_S", 1800.0)
    monkeypatch.setattr(wakes, "NEAR_S", 3600.0)
    monkeypatch.setattr(engine, "SWEEP_S", 1800.0)
    monkeypatch.setattr(turnstile, "LINES_LOOK_S", 1800.0)


def played(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on a loop of its own."""

    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))

    return run


class Clockwork:
    """A store, and an engine on it in virtual time that may be closed and opened again."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(clock=self.clock.now)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Schedules]:
        made = Engine(self.store, clock=self.clock)
        await made.__aenter__()
        self.desk = Desk(made, self.clock)
        try:
            yield Schedules(made)
        finally:
            await self.clock.run(made.__aexit__())

    async def apply_slow(self, for_s: int = 60) -> None:
        step = f"  - step: rest\n    tool: {{kind: wait, for_s: {for_s}}}\n"
        await self.desk.apply(WHO, [playbook(step, "slow")])

    async def minutes(self, number: int) -> None:
        """Let time pass in small parts, so that much can happen between them."""
        for _ in range(number):
            await self.clock.advance(60)

    async def started(self) -> list[StoredExecution]:
        wanted = ExecutionFilter(playbook="slow", oldest_first=True)
        return list((await self.store.executions(wanted, limit=500)).rows)

    async def starts(self, nominals: list[str]) -> None:
        """Wait until just these have been started, and have ended; what is proved before that takes a thread."""

        async def have() -> bool:
            await self.clock.advance(1)
            done = all(one.row.ended is not None for one in await self.started())
            return done and await self.nominals() == nominals

        await until(have)

    async def nominals(self) -> list[str]:
        return [one.row.labels["petra/nominal"][11:16] for one in await self.started()]


@pytest.mark.spec("S24")
@played
async def test_a_schedule_that_is_applied_starts_its_playbook_when_it_is_due() -> None:
    work = Clockwork()
    async with work.open() as schedules:
        await work.apply_slow()
        done = await schedules.apply(WHO, _schedule())
        assert (done["kind"], done["path"], done["unchanged"]) == ("Schedule", "hourly", False)
        for number in range(3):
            await work.clock.advance(HOUR + 1 if not number else HOUR)
            await work.starts(["01:00", "02:00", "03:00"][: number + 1])
        assert {one.row.status for one in await work.started()} == {"completed"}
        assert {one.row.labels["petra/schedule"] for one in await work.started()} == {"hourly"}
        (shown,) = await schedules.listed(WHO)
        assert shown["next"][0]["nominal"] == "2026-01-01T04:00:00+00:00"
        assert [one["status"] for one in shown["last"]] == ["completed"] * 3
        assert all(instant(one[when], "") for one in shown["last"] for when in ("started", "ended"))
        assert shown["words"] == "At the start of every hour"


@played
async def test_applied_twice_is_kept_once_and_another_text_takes_its_place() -> None:
    work = Clockwork()
    async with work.open() as schedules:
        await work.apply_slow()
        both = asyncio.gather(*(schedules.apply(WHO, _schedule()) for _ in range(2)))
        await both
        again = await schedules.apply(WHO, _schedule())
        assert again["unchanged"]
        changed = await schedules.apply(WHO, _schedule("overlap: allow\n"))
        assert not changed["unchanged"]
        await work.clock.advance(HOUR + 1)
        await work.starts(["01:00"])
        keepers = await work.store.executions(ExecutionFilter(playbook="schedule"))
        assert len(keepers.rows) == 1


@pytest.mark.spec("S24")
@played
async def test_downtime_longer_than_the_window_is_told_and_the_rest_is_made_up_for() -> None:
    work = Clockwork()
    async with work.open() as schedules:
        await work.apply_slow()
        text = _schedule("overlap: allow\ncatch_up_s: 7200\n")
        await schedules.apply(WHO, text)
        await work.clock.advance(HOUR + 100)
    await work.clock.advance(5 * HOUR)
    async with work.open() as schedules:
        await work.clock.advance(100)
        await work.starts(["01:00", "05:00", "06:00"])
        shown = await schedules.get(WHO, "hourly")
        assert shown["passed"] == {"missed": 3}


@played
async def test_pause_resume_run_and_backfill() -> None:
    work = Clockwork()
    async with work.open() as schedules:
        await work.apply_slow()
        await schedules.apply(WHO, _schedule())
        await schedules.pause(WHO, "hourly", "works")
        with pytest.raises(UsageError, match="paused already"):
            await schedules.pause(WHO, "hourly")
        await work.clock.advance(2 * HOUR)
        assert await work.nominals() == []
        await schedules.resume(WHO, "hourly")
        made = await schedules.run(WHO, "hourly", command="once")
        again = await schedules.run(WHO, "hourly", command="once")
        assert made == again
        await work.clock.advance(100)
        await work.starts(["02:00"])
        assert [one.row.id for one in await work.started()] == [made["execution"]]
        fill = schedules.backfill(
            WHO, "hourly", "2025-12-31T20:00", "2026-01-01T01:00", dry_run=True
        )
        assert (await fill)["count"] == 6
        assert len(await work.started()) == 1
        fill = schedules.backfill(
            WHO, "hourly", "2025-12-31T20:00", "2026-01-01T01:00", dry_run=False
        )
        await fill
        await work.minutes(10)
        await work.starts(["02:00", "20:00", "21:00", "22:00", "23:00", "00:00", "01:00"])
        fill = schedules.backfill(
            WHO, "hourly", "2025-12-31T20:00", "2026-01-01T01:00", dry_run=False
        )
        await fill
        await work.minutes(10)
        assert len(await work.started()) == 7  # each time has its one execution already
        while (await schedules.get(WHO, "hourly"))["filling"] is not None:
            await work.minutes(1)
        assert len(await work.started()) == 7


@played
async def test_a_playbook_that_is_not_there_is_told_and_tried_again_next_time() -> None:
    work = Clockwork()
    async with work.open() as schedules:
        await schedules.apply(WHO, _schedule())
        await work.clock.advance(HOUR + 10)
        while not (shown := await schedules.get(WHO, "hourly"))["trouble"]:
            await work.clock.advance(1)
        assert shown["trouble"] == "there is no playbook 'slow'"
        await work.apply_slow()
        await work.clock.advance(HOUR)
        await work.starts(["02:00"])


@played
async def test_one_that_is_removed_starts_nothing_more_and_can_be_applied_anew() -> None:
    work = Clockwork()
    async with work.open() as schedules:
        await work.apply_slow()
        await schedules.apply(WHO, _schedule())
        await work.clock.advance(HOUR + 100)
        await schedules.remove(WHO, "hourly")
        with pytest.raises(UnknownScheduleError, match="schedule list"):
            await schedules.get(WHO, "hourly")
        await work.clock.advance(2 * HOUR)
        await work.starts(["01:00"])
        assert not (await schedules.apply(WHO, _schedule()))["unchanged"]
        await work.clock.advance(HOUR)
        await work.starts(["01:00", "04:00"])


@pytest.mark.slow
@played
async def test_a_text_that_comes_while_a_schedule_is_handed_on_is_for_who_keeps_it_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "RECORDS_MAX", 10)
    work = Clockwork()
    async with work.open() as schedules:
        await work.apply_slow()
        await schedules.apply(WHO, _schedule())
        for number in range(8):
            await work.clock.advance(HOUR + 1 if not number else HOUR)
            await work.starts([f"{hour:02}:00" for hour in range(1, number + 2)])
        keepers, looked = Timetables.keepers, []

        async def without_the_heir(*given: Any) -> tuple[StoredExecution, ...]:
            looked.append(given)
            found = await keepers(*given)
            return found if len(looked) > 1 else found[1:]  # at first, the next has not begun

        monkeypatch.setattr(Timetables, "keepers", without_the_heir)
        await schedules.apply(WHO, _schedule("jitter_s: 5\n"))
        known = await work.store.executions(ExecutionFilter(playbook="schedule"), limit=50)
        assert len(known.rows) > 1
        assert sum(one.row.ended is None for one in known.rows) == 1
        assert (await schedules.get(WHO, "hourly"))["jitter_s"] == 5


@pytest.mark.slow
@played
async def test_one_execution_after_the_other_keeps_it_and_commands_reach_the_one_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "RECORDS_MAX", 20)
    work = Clockwork()
    async with work.open() as schedules:
        await work.apply_slow()
        await schedules.apply(WHO, _schedule())
        for number in range(30):
            await work.clock.advance(HOUR + 1 if not number else HOUR)
            await work.starts([f"{hour % 24:02}:00" for hour in range(1, number + 2)])
        assert len(await work.started()) == 30
        keepers = await work.store.executions(ExecutionFilter(playbook="schedule"), limit=50)
        assert len(keepers.rows) > 4
        assert sum(one.row.ended is None for one in keepers.rows) == 1
        assert all(one.version < 40 for one in keepers.rows)
        await schedules.pause(WHO, "hourly")
        await work.clock.advance(5 * HOUR)
        assert len(await work.started()) == 30
