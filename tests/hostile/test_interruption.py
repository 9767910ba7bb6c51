"""An interruption is never lost, whatever it meets: a worker that just ends, a second one, a process in the background."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.clocks import FakeClock, settle

from petra.embedded.hands import end
from petra.embedded.keeper import Keeper
from petra.engine import Engine
from petra.engine.life import StoppedError
from petra.store.memory import MemoryStore
from petra.wire.connection import LostError


class Dying:
    """A worker process that takes its time to end."""

    def __init__(self) -> None:
        self.transport, self.pid = self, 1
        self.killed, self.reaped = asyncio.Event(), asyncio.Event()

    async def receive(self) -> Any:
        raise LostError("it is gone")

    def close(self) -> None:
        """Close the connection."""

    def last_words(self) -> str:
        return ""

    def kill(self) -> None:
        self.killed.set()

    async def wait(self) -> int:
        await self.reaped.wait()
        return -9


def test_an_interruption_that_meets_the_end_of_a_worker_is_not_lost() -> None:
    async def scenario() -> None:
        child: Any = Dying()
        ending = asyncio.create_task(end(child))
        await child.killed.wait()
        ending.cancel()
        await settle()
        assert not ending.done()  # it is waited for, so that nothing is left behind
        child.reaped.set()
        with pytest.raises(asyncio.CancelledError):
            await ending

    asyncio.run(scenario())


def test_whoever_keeps_a_worker_stops_when_told_so_while_the_worker_ends() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with Engine(MemoryStore(clock=clock.now), clock=clock) as engine:
            child: Any = Dying()
            started: list[Any] = []

            async def start() -> Any:
                started.append(child)
                return child

            keeper = Keeper(engine, clock)
            async with keeper.keeping(asyncio.create_task(start()), start):
                await child.killed.wait()
                asyncio.get_running_loop().call_later(0.01, child.reaped.set)
            assert len(started) == 1

    asyncio.run(asyncio.wait_for(scenario(), 300))


def test_a_worker_that_cannot_be_started_stops_the_engine_with_the_reason() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with Engine(MemoryStore(clock=clock.now), clock=clock) as engine:

            async def start() -> Any:
                raise FileNotFoundError("no interpreter")

            first = asyncio.create_task(start())
            async with Keeper(engine, clock).keeping(first, start):
                await settle()
                with pytest.raises(StoppedError, match="no interpreter"):
                    engine.check()

    asyncio.run(scenario())
