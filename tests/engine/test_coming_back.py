"""A worker elsewhere loses its connection and comes back with another: what it runs is its own still."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from engine_support import chain, until
from support.clocks import FakeClock, settle

from petra.engine import Engine
from petra.engine.lease_names import Mint
from petra.engine.life import Phase
from petra.engine.workers import AWAY
from petra.store.errors import UnavailableError
from petra.store.memory import MemoryStore
from petra.store.rows import PendingRow
from petra.wire import Assignment, Report, frames

LEASE_S = 1e6


class Line:
    """The engine's end of a connection, and what was sent on it."""

    def __init__(self) -> None:
        self.given: list[Assignment] = []
        self.cancelled: list[str] = []

    def send(self, frame: frames.AnyFrame) -> None:
        if isinstance(frame, frames.Assignments):
            self.given += frame.assignments
        elif isinstance(frame, frames.CancelRuns):
            self.cancelled += frame.leases

    async def some(self, count: int = 1) -> None:
        async def come() -> bool:
            return len(self.given) >= count

        await until(come)


def hello(session: str, leases: list[str] | None = None, credit: int = 1) -> frames.Hello:
    return frames.Hello(worker="w", slots=1, credit=credit, leases=leases or [], session=session)


def played(scenario: Callable[[Engine, MemoryStore], Awaitable[None]]) -> list[str]:
    """Play a scenario with one execution that begins; return the types of its records."""

    async def play() -> list[str]:
        store = MemoryStore(clock=lambda: 0.0)
        async with Engine(store, lease_s=LEASE_S) as engine:
            await engine.start(chain(1), execution="e")
            await scenario(engine, store)
            return [row.type for row in await store.read("e")]

    return asyncio.run(play())


@pytest.mark.spec("S22")
def test_it_keeps_the_lease_that_it_names() -> None:
    async def scenario(engine: Engine, _: MemoryStore) -> None:
        first, second = Line(), Line()
        await engine.connections.receive(first, hello("s"))
        await first.some()
        engine.connections.away(first)
        assert engine.custody.holders("e", first.given[0].run) == ["w"]
        await engine.connections.receive(second, hello("s", [first.given[0].lease], credit=0))
        assert engine.custody.executions_at(second) == {"e"}
        assert second.cancelled == []

    assert "run.redelivered" not in played(scenario)


@pytest.mark.spec("S22")
@pytest.mark.parametrize("noticed", [True, False], ids=["the end was seen", "half open"])
def test_what_it_does_not_name_never_reached_it_and_is_handed_out_again(noticed: bool) -> None:  # noqa: FBT001
    async def scenario(engine: Engine, _: MemoryStore) -> None:
        first, second = Line(), Line()
        await engine.connections.receive(first, hello("s"))
        await first.some()
        if noticed:
            engine.connections.away(first)
        await engine.connections.receive(second, hello("s"))
        await second.some()
        assert second.given[0].delivery == 2
        assert [one.name for one in engine.roster.seen()] == ["w"]

    assert "run.redelivered" in played(scenario)


@pytest.mark.spec("S22")
def test_nobody_is_given_anything_on_a_connection_that_is_gone() -> None:
    async def scenario(engine: Engine, _: MemoryStore) -> None:
        first, second = Line(), Line()
        await engine.connections.receive(first, hello("s", credit=0))
        engine.connections.away(first)
        await engine.connections.receive(second, hello("other"))
        await second.some()
        assert first.given == []

    assert "run.redelivered" not in played(scenario)


@pytest.mark.spec("S22")
def test_another_worker_takes_nothing_from_one_that_is_away() -> None:
    async def scenario(engine: Engine, _: MemoryStore) -> None:
        first, second = Line(), Line()
        await engine.connections.receive(first, hello("s"))
        await first.some()
        engine.connections.away(first)
        await engine.connections.receive(second, hello("other"))
        assert engine.custody.holders("e", first.given[0].run) == ["w"]
        assert second.given == []

    assert "run.redelivered" not in played(scenario)


def done(given: Assignment) -> frames.Reports:
    report = frames.RunReport(
        execution=given.execution,
        run=given.run,
        chunk=given.chunk,
        delivery=given.delivery,
        lease=given.lease,
        report=Report(status="ok", result=7),
    )
    return frames.Reports(reports=[report])


class Killed(Engine):
    """An engine that is gone in a moment, and says nothing to anybody."""

    async def __aexit__(self, *_: object) -> None:
        self.life.phase = Phase.CLOSED
        for task in (*self.life._loops, *self.life._errands):
            task.cancel()


@pytest.mark.spec("S22")
@pytest.mark.parametrize("kind", [Engine, Killed], ids=["closed in order", "killed"])
def test_a_worker_elsewhere_outlives_its_engine_and_its_run_is_not_run_again(
    kind: type[Engine],
) -> None:
    async def scenario() -> None:
        store, first, second = MemoryStore(clock=lambda: 0.0), Line(), Line()
        async with kind(store, lease_s=LEASE_S) as engine:
            await engine.start(chain(1), execution="e")
            await engine.connections.receive(first, hello("s"))
            await first.some()
        async with Engine(store, lease_s=LEASE_S, handed_back=kind is Engine) as engine:
            await engine.connections.receive(Line(), hello("other"))  # which gets nothing of it
            await engine.connections.receive(second, hello("s", [first.given[0].lease], credit=0))
            assert second.cancelled == []
            await engine.connections.receive(second, done(first.given[0]))

            async def ended() -> bool:
                return bool((await engine.view("e")).state.terminal)

            await until(ended)
        types = [row.type for row in await store.read("e")]
        assert types.count("step.done") == 1
        assert "run.redelivered" not in types

    asyncio.run(scenario())


@pytest.mark.spec("S22")
def test_a_worker_that_does_not_come_back_loses_its_run_when_its_lease_has_run_out() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store, first, second = MemoryStore(clock=clock.now), Line(), Line()
        async with Killed(store, clock=clock, lease_s=30) as engine:
            await engine.start(chain(1), execution="e")
            await engine.connections.receive(first, hello("s"))
            await settle()
            assert len(first.given) == 1
        async with Engine(store, clock=clock, lease_s=30) as engine:
            await engine.connections.receive(second, hello("other"))
            await clock.advance(29)
            assert second.given == []
            assert engine.custody.holders("e", first.given[0].run) == [AWAY]
            await clock.advance(2)
            assert [one.delivery for one in second.given] == [2]

    asyncio.run(scenario())


@pytest.mark.spec("S22")
def test_a_worker_that_was_frozen_beyond_its_lease_is_told_to_stop_when_it_beats_again() -> None:
    """Its connection is as it was; what it had is at another by now."""

    async def scenario() -> None:
        clock = FakeClock()
        store, first, second = MemoryStore(clock=clock.now), Line(), Line()
        async with Engine(store, clock=clock, lease_s=30) as engine:
            await engine.start(chain(1), execution="e")
            await engine.connections.receive(first, hello("s"))
            await settle()
            (given,) = first.given
            await engine.connections.receive(second, hello("other"))
            await clock.advance(31)
            assert [one.delivery for one in second.given] == [2]
            assert first.cancelled == []
            beat = frames.Heartbeat(leases=[given.lease])
            await engine.connections.receive(first, beat)
            assert first.cancelled == [given.lease]
            await engine.connections.receive(
                second, frames.Heartbeat(leases=[second.given[0].lease])
            )
            assert second.cancelled == []

    asyncio.run(scenario())


@pytest.mark.spec("S22")
def test_what_is_waited_for_from_another_engine_is_not_stopped_by_a_beat() -> None:
    async def scenario() -> None:
        store, first, second = MemoryStore(clock=lambda: 0.0), Line(), Line()
        async with Engine(store, lease_s=LEASE_S) as engine:
            await engine.start(chain(1), execution="e")
            await engine.connections.receive(first, hello("s"))
            await first.some()
            elsewhere = Mint().make(0)
            engine.custody.leases.mint.end(
                elsewhere, engine.custody.leases[first.given[0].lease].row
            )
            await engine.connections.receive(second, hello("t", credit=0))
            engine.roster.workers[second].awaited[elsewhere] = LEASE_S
            await engine.connections.receive(second, frames.Heartbeat(leases=[elsewhere]))
            assert second.cancelled == []

    asyncio.run(scenario())


class Away(MemoryStore):
    """A store that cannot write leases down, the first time that it is asked to."""

    def __init__(self) -> None:
        super().__init__(clock=lambda: 0.0)
        self.asked = 0

    async def lease(self, rows: Sequence[PendingRow]) -> set[str]:
        self.asked += 1
        if self.asked == 1:
            raise UnavailableError("it is away")
        return await super().lease(rows)


@pytest.mark.spec("S22")
def test_what_cannot_be_written_down_is_handed_out_later_and_the_worker_has_its_room_still() -> (
    None
):
    async def scenario() -> None:
        store, line = Away(), Line()
        async with Engine(store, lease_s=LEASE_S) as engine:
            await engine.start(chain(1), execution="e")
            await engine.connections.receive(line, hello("s"))
            await line.some()
            assert store.asked == 2
            assert [one.delivery for one in line.given] == [1]

    asyncio.run(scenario())
