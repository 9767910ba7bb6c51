"""Engines whose machines disagree about the time go by the store's: in virtual time, minutes apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from engine_support import chain, local
from support.clocks import FakeClock

from petra.clock import Timer
from petra.engine.store_clock import StoreClock
from petra.playbook import read
from petra.store.memory import MemoryStore
from petra.store.rows import SHARDS

WAIT = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: waits}
workflow:
  - step: wait
    tool: {kind: wait, for_s: 60}
"""


class WrongClock:
    """A clock that is off by so much, and may be set."""

    def __init__(self, true: FakeClock, ahead_s: float) -> None:
        self._true = true
        self.ahead_s = ahead_s

    def now(self) -> float:
        return self._true.now() + self.ahead_s

    def monotonic(self) -> float:
        return self._true.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._true.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        return self._true.call_later(seconds, call)


@pytest.mark.spec("S12")
@pytest.mark.parametrize("ahead_s", [(0.0, 0.0), (300.0, -300.0), (-86_400.0, 4.0)])
def test_timers_of_engines_whose_clocks_disagree_fire_when_the_store_says_so(
    ahead_s: tuple[float, float],
) -> None:
    async def scenario() -> None:
        true = FakeClock()
        store = MemoryStore(clock=true.now)
        clocks = [WrongClock(true, one) for one in ahead_s]
        async with (
            local(store, clock=clocks[0], holder="one") as one,
            local(store, clock=clocks[1], holder="two") as two,
        ):
            await true.advance(30)
            mine = [set(each.engine.shards.mine() or ()) for each in (one, two)]
            assert [len(each) for each in mine] == [SHARDS // 2] * 2
            began, book = true.now(), read(WAIT).checked()
            for number in range(8):
                await true.run(
                    (one, two)[number % 2].engine.start(
                        book, execution=f"e{number}", allow_unsound=True
                    )
                )
            await true.advance(50)
            rows = [await store.execution(f"e{number}") for number in range(8)]
            assert {row.row.status for row in rows if row is not None} == {"waiting"}
            await true.advance(15)
            for number in range(8):
                row = await store.execution(f"e{number}")
                assert row is not None
                assert row.row.status == "completed"
                assert row.row.ended is not None
                assert began + 59 <= row.row.ended <= began + 75
                assert all(
                    began - 1 <= one.at <= began + 75 for one in await store.read(f"e{number}")
                )
            # nobody took a shard from one that renews its own
            assert mine == [set(each.engine.shards.mine() or ()) for each in (one, two)]
            assert {row.epoch for row in (await store.shards()).values()} <= {1, 2}

    asyncio.run(scenario())


def test_a_clock_that_is_set_while_an_engine_runs_moves_no_timer() -> None:
    async def scenario() -> None:
        true = FakeClock()
        store = MemoryStore(clock=true.now)
        clock = WrongClock(true, 0.0)
        async with local(store, clock=clock, holder="one") as one:
            await true.run(
                one.engine.start(read(WAIT).checked(), execution="e", allow_unsound=True)
            )
            clock.ahead_s = 3_600.0
            await true.advance(50)
            row = await store.execution("e")
            assert row is not None
            assert row.row.status == "waiting"
            await true.advance(15)
            row = await store.execution("e")
            assert row is not None
            assert row.row.status == "completed"

    asyncio.run(scenario())


def test_what_took_long_to_ask_is_not_believed() -> None:
    async def scenario() -> None:
        true = FakeClock()
        store = MemoryStore(clock=true.now)
        clock = StoreClock(WrongClock(true, 100.0), store)
        await clock.set_right()
        assert clock.now() == pytest.approx(true.now())
        ask = store.now

        async def slowly() -> float:
            found = await ask()
            await true.sleep(30)
            return found

        store.now = slowly  # type: ignore[method-assign]
        await true.run(clock.set_right())
        assert clock.now() == pytest.approx(true.now())

    asyncio.run(scenario())


def test_an_engine_that_is_alone_goes_by_its_own_clock() -> None:
    async def scenario() -> None:
        true = FakeClock()
        clock = WrongClock(true, 100.0)
        async with local(MemoryStore(clock=true.now), clock=clock) as one:
            assert one.engine.clock is clock
            await true.run(one.engine.start(chain(1), execution="e", allow_unsound=True))

    asyncio.run(scenario())
