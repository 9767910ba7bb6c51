"""A worker elsewhere loses its connection and comes back with another: what it runs is its own still."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from engine_support import chain, until

from petra.engine import Engine
from petra.store.memory import MemoryStore
from petra.wire import Assignment, frames

LEASE_S = 1e6


class Line:
    """The engine's end of a connection, and what was sent on it."""

    def __init__(self) -> None:
        self.given: list[Assignment] = []
        self.cancelled: list[str] = []

    def send(self, frame: frames.AnyFrame) -> None:
        if isinstance(frame, frames.Assign):
            self.given += frame.assignments
        elif isinstance(frame, frames.Cancel):
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
        await engine.receive(first, hello("s"))
        await first.some()
        engine.away(first)
        assert engine.dispatcher.holders("e", first.given[0].run) == ["w"]
        await engine.receive(second, hello("s", [first.given[0].lease], credit=0))
        assert engine.dispatcher.executions_at(second) == {"e"}
        assert second.cancelled == []

    assert "run.redelivered" not in played(scenario)


@pytest.mark.spec("S22")
@pytest.mark.parametrize("noticed", [True, False], ids=["the end was seen", "half open"])
def test_what_it_does_not_name_never_reached_it_and_is_handed_out_again(noticed: bool) -> None:  # noqa: FBT001
    async def scenario(engine: Engine, _: MemoryStore) -> None:
        first, second = Line(), Line()
        await engine.receive(first, hello("s"))
        await first.some()
        if noticed:
            engine.away(first)
        await engine.receive(second, hello("s"))
        await second.some()
        assert second.given[0].delivery == 2
        assert [one.name for one in engine.dispatcher.seen()] == ["w"]

    assert "run.redelivered" in played(scenario)


@pytest.mark.spec("S22")
def test_nobody_is_given_anything_on_a_connection_that_is_gone() -> None:
    async def scenario(engine: Engine, _: MemoryStore) -> None:
        first, second = Line(), Line()
        await engine.receive(first, hello("s", credit=0))
        engine.away(first)
        await engine.receive(second, hello("other"))
        await second.some()
        assert first.given == []

    assert "run.redelivered" not in played(scenario)


@pytest.mark.spec("S22")
def test_another_worker_takes_nothing_from_one_that_is_away() -> None:
    async def scenario(engine: Engine, _: MemoryStore) -> None:
        first, second = Line(), Line()
        await engine.receive(first, hello("s"))
        await first.some()
        engine.away(first)
        await engine.receive(second, hello("other"))
        assert engine.dispatcher.holders("e", first.given[0].run) == ["w"]
        assert second.given == []

    assert "run.redelivered" not in played(scenario)
