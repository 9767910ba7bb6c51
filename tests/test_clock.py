"""The clock of tests moves only when told to, and wakes in order."""

from __future__ import annotations

import asyncio

import pytest
from support.clocks import FakeClock

from petra.clock import SystemClock, doze


def test_sleepers_wake_in_the_order_of_their_time() -> None:
    async def scenario() -> list[str]:
        clock, woken = FakeClock(), list[str]()

        async def sleeper(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append(f"{name} at {clock.monotonic():g}")

        tasks = [asyncio.create_task(sleeper(n, s)) for n, s in (("b", 5), ("a", 2), ("c", 5))]
        await clock.advance(4)
        assert woken == ["a at 2"]
        await clock.advance(10)
        await asyncio.gather(*tasks)
        return woken

    assert asyncio.run(scenario()) == ["a at 2", "b at 5", "c at 5"]


def test_run_jumps_to_whatever_is_next() -> None:
    async def scenario() -> float:
        clock = FakeClock()

        async def days() -> float:
            for _ in range(100):
                await clock.sleep(86_400)
            return clock.monotonic()

        return await clock.run(days())

    assert asyncio.run(scenario()) == 8_640_000


def test_run_says_when_time_cannot_help() -> None:
    async def scenario() -> None:
        await FakeClock().run(asyncio.Event().wait())

    with pytest.raises(RuntimeError, match="no clock can bring"):
        asyncio.run(scenario())


def test_a_timer_that_is_cancelled_is_not_called() -> None:
    async def scenario() -> list[str]:
        clock, called = FakeClock(), list[str]()
        clock.call_later(1, lambda: called.append("one"))
        clock.call_later(2, lambda: called.append("two")).cancel()
        await clock.advance(3)
        return called

    assert asyncio.run(scenario()) == ["one"]


def test_the_clock_of_the_machine_goes_forward() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    asyncio.run(clock.sleep(0))
    assert clock.monotonic() >= before
    assert clock.now() > 1_700_000_000


def test_a_dozer_wakes_when_time_is_up_or_an_event_is_set_whichever_is_first() -> None:
    async def scenario() -> None:
        clock, event = FakeClock(), asyncio.Event()
        dozing = asyncio.create_task(doze(clock, 5, event))
        await clock.advance(4)
        assert not dozing.done()
        await clock.advance(1)
        assert dozing.done()
        dozing = asyncio.create_task(doze(clock, 5, event))
        await clock.advance(1)
        event.set()
        await clock.advance(0)
        assert dozing.done()

    asyncio.run(scenario())
