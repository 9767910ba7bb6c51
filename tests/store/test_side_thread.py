"""SideThread: one thread, in order; what was begun is seen through."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from petra.store.side_thread import SideThread


def with_errands(play: Callable[[SideThread], Awaitable[None]]) -> None:
    async def run() -> None:
        errands = SideThread("test")
        try:
            await play(errands)
        finally:
            errands.close()

    asyncio.run(asyncio.wait_for(run(), 300))


def test_errands_run_in_order_and_give_back_what_came_of_them() -> None:
    async def play(errands: SideThread) -> None:
        done: list[int] = []
        results = await asyncio.gather(
            *(errands.run(lambda n=n: done.append(n) or n) for n in range(20))  # type: ignore[func-returns-value,misc]
        )
        assert results == done == list(range(20))

    with_errands(play)


def test_what_an_errand_raises_comes_back_and_the_next_one_runs() -> None:
    async def play(errands: SideThread) -> None:
        with pytest.raises(ZeroDivisionError):
            await errands.run(lambda: 1 // 0)
        assert await errands.run(lambda: 2) == 2

    with_errands(play)


def test_whoever_stops_waiting_goes_on_only_when_the_errand_has_ended() -> None:
    async def play(errands: SideThread) -> None:
        entered, leave, ended = threading.Event(), threading.Event(), threading.Event()

        def work() -> None:
            entered.set()
            leave.wait(300)
            ended.set()

        waiting = asyncio.create_task(errands.run(work))
        await asyncio.sleep(0)
        assert await asyncio.to_thread(entered.wait, 300)
        waiting.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        leave.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert ended.is_set()

    with_errands(play)
