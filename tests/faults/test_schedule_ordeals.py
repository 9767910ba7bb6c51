"""Schedules under kills and jumps of the clock, in virtual time: nothing missed, nothing twice (S24).

The engine dies before or after its commits, again and again, and others take its place, one or two at a time on one store;
the clock jumps forward and back. What the schedules have started is held against a calculation that knows none of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from engine_support import playbook
from ordeal import loop as loops
from ordeal.clock import EPOCH, JumpingClock
from ordeal.loop import Process, VirtualLoop, virtual_loop

from petra.desk import Desk, owner
from petra.desk.schedules import Schedules
from petra.engine import Engine, engine, turnstile, wakes
from petra.playbook.documents import read_document
from petra.playbook.schedule import Schedule
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter

DAY, HOUR = 86_400.0, 3600.0
WHO = owner("ada")
ALLOW, QUEUE, SKIP = "overlap: allow\n", "overlap: queue\n", "overlap: skip\n"


@pytest.fixture(autouse=True)
def long_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look into the store every ten minutes of virtual time: every second would only take ours."""
    monkeypatch.setattr(wakes, "POLL_S", 600.0)
    monkeypatch.setattr(wakes, "NEAR_S", 1200.0)
    monkeypatch.setattr(engine, "SWEEP_S", 600.0)
    monkeypatch.setattr(turnstile, "LINES_LOOK_S", 600.0)
    monkeypatch.setattr(loops, "CALLBACKS_MAX", 50_000_000)


class Mortal:
    """A store whose user dies around some of its commits: before, after, or not."""

    def __init__(self, store: MemoryStore, world: World, process: Process) -> None:
        self._store = store
        self._world = world
        self._process = process

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, batch: Any) -> Any:
        fate = self._world.fate()
        if fate == "before":
            await self._die()
        done = await self._store.commit(batch)
        if fate == "after":
            await self._die()
        return done

    async def _die(self) -> None:
        self._world.deaths += 1
        self._process.kill()
        await asyncio.Event().wait()  # nothing of it runs again


class World:
    """Machines that each keep an engine running, one after the other, on a store that outlives them."""

    def __init__(self, loop: VirtualLoop, mercy: int, machines: int = 1) -> None:
        self.loop = loop
        self.mercy = mercy
        self.clock = JumpingClock(loop)
        self.store = MemoryStore(clock=self.clock.now)
        self.deadly = False
        self.deaths = 0
        self.commits = 0
        self.machines = machines
        self.begun = 0
        self.engines: dict[int, Engine] = {}
        self.arrived = asyncio.Event()
        self.found: dict[str, list[str]] = {}
        self.end = 0.0

    def fate(self) -> str:
        """Say what happens at a commit: of so many one dies before it, and one after it."""
        if not self.deadly:
            return ""
        self.commits += 1
        return {0: "before", 1: "after"}.get(self.commits % self.mercy, "")

    def start(self, machine: int) -> None:
        self.begun += 1
        process = Process(f"engine-{self.begun}")
        process.at_death = lambda: self._died(machine)
        self.loop.start(process, self._live(machine, process))

    def _died(self, machine: int) -> None:
        self.engines.pop(machine, None)
        if not self.engines:
            self.arrived.clear()
        self.loop.start(Process("again"), self._again(machine))

    async def _again(self, machine: int) -> None:
        await asyncio.sleep(3.0)
        self.start(machine)

    async def _live(self, machine: int, process: Process) -> None:
        holder = process.name if self.machines > 1 else ""
        store = Mortal(self.store, self, process)
        made = Engine(store, clock=self.clock, holder=holder, shard_lease_s=300.0)
        await made.__aenter__()
        self.engines[machine] = made
        self.arrived.set()

    async def up(self) -> Engine:
        while not self.engines:
            await self.arrived.wait()
        return next(iter(self.engines.values()))

    async def apply(self, schedules: list[str]) -> None:
        desk = Desk(await self.up(), self.clock)
        nap = "  - step: rest\n    tool: {kind: wait, for_s: 300}\n"
        await desk.apply(WHO, [playbook(nap, "nap")])
        for text in schedules:
            await Schedules(desk.engine).apply(WHO, read_document(text).checked_as(Schedule))

    async def started(self) -> dict[str, list[str]]:
        """Return the nominal times that were started, by schedule."""
        found: dict[str, list[str]] = {}
        cursor: str | None = None
        while True:
            page = await self.store.executions(
                ExecutionFilter(playbook="nap", oldest_first=True), cursor=cursor, limit=500
            )
            for one in page.rows:
                labels = one.row.labels
                found.setdefault(labels["petra/schedule"], []).append(labels["petra/nominal"])
            cursor = page.cursor
            if cursor is None:
                return found


def _text(name: str, more: str) -> str:
    return (
        f"apiVersion: petra/v1\nkind: Schedule\nmetadata: {{name: {name}}}\nplaybook: nap\n{more}"
    )


def _every(hours: float, begin: float, end: float) -> list[float]:
    """Return the multiples of so many hours in (begin, end], counted by hand."""
    step, found = hours * HOUR, []
    at = (begin // step) * step
    while (at := at + step) <= end:
        found.append(at)
    return found


def _instant(text: str) -> float:
    from datetime import datetime  # noqa: PLC0415 - a calculation of its own

    return datetime.fromisoformat(text).timestamp()


async def _live_through(world: World, days: float, jumps: tuple[float, ...]) -> None:
    """Let days pass, with the clock jumping now and then; all the while engines die."""
    world.deadly = True
    for number in range(round(days * 4)):
        await asyncio.sleep(DAY / 4)
        if jumps:
            world.clock.jump(jumps[number % len(jumps)])
    world.deadly = False
    await asyncio.sleep(2 * HOUR)
    await world.up()


def _played(
    schedules: dict[str, str], days: float, jumps: tuple[float, ...], mercy: int, machines: int = 1
) -> World:
    loop = virtual_loop()
    world = World(loop, mercy, machines)

    async def play() -> None:
        for machine in range(machines):
            world.start(machine)
        await world.apply([_text(name, more) for name, more in schedules.items()])
        await _live_through(world, days, jumps)
        world.found, world.end = await world.started(), world.clock.now()

    try:
        loop.run_until_complete(play())
    finally:
        loop.bury()
    assert loop.mishaps == []
    return world


def _judge(world: World, minutes: dict[str, int], hours: float) -> None:
    """Hold what was started against every multiple of so many hours, so many minutes later."""
    found, end = world.found, world.end
    for name, minute in minutes.items():
        late = minute * 60.0
        expected = [at + late for at in _every(hours, EPOCH - late, end - late)]
        nominal = [_instant(text) for text in found[name]]
        assert Counter(nominal).most_common(1)[0][1] == 1, name
        assert sorted(nominal) == [at for at in expected if at > EPOCH + 1], name


KINDS = {"allow": ALLOW, "queue": QUEUE, "skip": SKIP}
JUMPS = (1800.0, -1200.0, 0.0, 60.0, -60.0)


@pytest.mark.slow
@pytest.mark.spec("S24")
def test_a_thousand_schedule_days_over_kills_and_jumps_of_the_clock_start_each_time_once() -> None:
    minutes = {f"{kind}-{number}": number for kind in KINDS for number in range(5, 60, 6)}
    schedules = {
        name: f"cron: '{minute} 0 * * *'\n{KINDS[name.partition('-')[0]]}"
        for name, minute in minutes.items()
    }
    days = 36.0
    world = _played(schedules, days, JUMPS, mercy=5)
    assert len(schedules) * days >= 1_000
    assert world.deaths > 500
    _judge(world, minutes, 24)


@pytest.mark.spec("S24")
@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_that_dies_before_and_after_every_commit_starts_each_time_once(kind: str) -> None:
    world = _played({"often": f"cron: '7 * * * *'\n{KINDS[kind]}"}, 1.0, (), mercy=3)
    assert world.deaths > 50
    _judge(world, {"often": 7}, 1)


@pytest.mark.slow
@pytest.mark.spec("S24")
def test_two_engines_that_share_a_store_and_die_start_each_time_once() -> None:
    minutes = {f"allow-{number}": number for number in range(5, 60, 18)}
    schedules = {name: f"cron: '{minute} * * * *'\n{ALLOW}" for name, minute in minutes.items()}
    world = _played(schedules, 2.0, (), mercy=9, machines=2)
    assert world.deaths > 50
    _judge(world, minutes, 1)
