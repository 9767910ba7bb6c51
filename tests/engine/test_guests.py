"""A worker goes to another engine while its own lives: what it runs is its own still, and runs once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from engine.test_coming_back import Killed, Line, done, hello
from engine_support import chain
from support.clocks import FakeClock, settle

from petra.engine import Engine
from petra.engine.lease_names import Mint, shard_named
from petra.engine.manners import BreachError
from petra.kernel import commands as c
from petra.store.bus import Heard, InProcessBus
from petra.store.memory import MemoryStore
from petra.store.rows import shard_of
from petra.wire import frames

LEASE_S, SHARD_LEASE_S = 30.0, 10.0


class Deaf:
    """A bus on which nothing is ever heard."""

    def tell(self, *hints: str) -> None:
        pass

    async def hear(self, heard: Heard) -> None:
        pass


class Two:
    """Two engines on one store, and an execution of the first whose run a worker of it has."""

    def __init__(self, clock: FakeClock, store: MemoryStore, one: Engine, two: Engine) -> None:
        self.clock, self.store, self.one, self.two = clock, store, one, two
        self.name = next(f"e{n}" for n in range(1000) if one.shards.owns(f"e{n}"))
        self.first, self.second = Line(), Line()

    async def begin(self) -> None:
        await self.clock.run(self.one.start(chain(1), execution=self.name, allow_unsound=True))
        await self.one.connections.receive(self.first, hello("s"))
        await settle()
        assert len(self.first.given) == 1

    @property
    def lease(self) -> str:
        return self.first.given[0].lease

    async def move(self) -> None:
        self.one.connections.away(self.first)
        await self.two.connections.receive(self.second, hello("s", [self.lease], credit=0))

    async def work_for(self, seconds: float) -> None:
        """Let time pass, with the beats of the worker at the second engine."""
        for _ in range(int(seconds / 10)):
            await self.clock.advance(10)
            beat = frames.Heartbeat(leases=[self.lease])
            await self.two.connections.receive(self.second, beat)
            await settle()

    async def types(self) -> list[str]:
        return [row.type for row in await self.store.read(self.name)]


@asynccontextmanager
async def two_engines(bus: InProcessBus | Deaf | None = None) -> AsyncIterator[Two]:
    clock = FakeClock()
    store = MemoryStore(clock=clock.now)

    def engine(name: str) -> Engine:
        return Killed(
            store, clock=clock, holder=name, lease_s=LEASE_S, shard_lease_s=SHARD_LEASE_S, bus=bus
        )

    async with engine("one") as one, engine("two") as two:
        await clock.advance(30)
        found = Two(clock, store, one, two)
        await found.begin()
        yield found


def play(scenario: Callable[[Two], object], bus: InProcessBus | Deaf | None = None) -> None:
    async def main() -> None:
        async with two_engines(bus) as found:
            await scenario(found)  # type: ignore[misc]

    asyncio.run(main())


@pytest.mark.spec("S22")
def test_a_run_that_outlasts_many_leases_is_reported_at_the_other_engine_and_runs_once() -> None:
    async def scenario(found: Two) -> None:
        await found.move()
        await found.work_for(300)
        assert found.second.cancelled == []
        await found.two.connections.receive(found.second, done(found.first.given[0]))
        await found.clock.advance(3)
        assert (await found.types())[-1] == "execution.ended"
        assert "run.redelivered" not in await found.types()
        assert list(found.one.custody.leases) == []
        assert found.one.custody.lost == 0
        assert await found.store.letters() == []

    play(scenario)


@pytest.mark.spec("S22")
def test_without_a_bus_it_costs_a_lease_and_nothing_else() -> None:
    async def scenario(found: Two) -> None:
        await found.move()
        await found.work_for(60)
        assert (await found.types())[-1] == "run.redelivered"

    play(scenario, Deaf())


@pytest.mark.spec("S22")
def test_the_other_engine_becomes_the_one_that_acts_for_it_and_the_run_goes_on() -> None:
    async def scenario(found: Two) -> None:
        await found.move()
        await found.work_for(20)
        await found.one.__aexit__()  # it dies, and the run is under way
        await found.work_for(60)
        assert found.two.shards.owns(found.name)
        assert found.second.cancelled == []
        await found.two.connections.receive(found.second, done(found.first.given[0]))
        await found.clock.advance(3)
        assert (await found.types())[-1] == "execution.ended"
        assert "run.redelivered" not in await found.types()

    play(scenario)


@pytest.mark.spec("S22")
def test_what_is_stopped_at_its_own_engine_is_stopped_at_the_worker_with_the_next_beat() -> None:
    async def scenario(found: Two) -> None:
        await found.move()
        await found.work_for(20)
        ask = found.one.ask(found.name, lambda now: c.Cancel(now=now))
        await found.clock.run(ask)
        assert found.second.cancelled == []
        await found.work_for(10)
        assert found.second.cancelled == [found.lease]

    play(scenario)


@pytest.mark.spec("S22")
def test_a_guest_that_reports_another_run_is_shown_out() -> None:
    async def scenario(found: Two) -> None:
        await found.move()
        given = found.first.given[0]
        report = done(given).reports[0]
        forged = frames.RunReport(
            execution=report.execution, run="other", delivery=1, lease=report.lease, report=report.report
        )  # fmt: skip
        with pytest.raises(BreachError, match="something else"):
            await found.two.connections.receive(found.second, frames.Reports(reports=[forged]))
        assert "execution.ended" not in await found.types()

    play(scenario)


def test_a_lease_is_named_by_its_shard_and_bits_that_nobody_guesses() -> None:
    async def scenario(found: Two) -> None:
        assert shard_named(found.lease) == shard_of(found.name)

    play(scenario)
    mint = Mint()
    leases = {mint.make(number % 64) for number in range(1000)}
    assert len({lease.partition(".")[2][8:40] for lease in leases}) == 1000
    one = next(iter(leases))
    assert mint.gave(one)
    assert not mint.is_made_up(one)
    forged = one[:-1] + ("0" if one[-1] != "0" else "1")
    assert mint.is_made_up(forged)
    assert mint.is_made_up("64." + one.partition(".")[2])
    assert not mint.is_made_up("ab" * 20)  # of the version before this one
    assert shard_named("ab" * 20) is None
