"""Threads for what blocks: what ends together wakes the loop once, and nothing that ends is missed (S22)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from operator import add
from typing import Any

import pytest

from petra.tools import threads as threads_of_tools
from petra.tools.threads import Threads, _Back

pytestmark = pytest.mark.spec("S22")


class CountingLoop(asyncio.SelectorEventLoop):
    """Counts how often other threads wake it."""

    woken = 0

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, **more: Any
    ) -> Any:
        self.woken += 1
        return super().call_soon_threadsafe(callback, *args, **more)


def test_calls_that_end_together_wake_the_loop_once_and_the_next_one_again() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, CountingLoop)
        threads = Threads(20)
        calls = [_Back(loop.create_future()) for _ in range(10)]
        for number, call in enumerate(calls):
            call.result = number
            threads._come_back(loop, call)  # as their threads do, while the loop stands still
        assert loop.woken == 1
        assert await asyncio.gather(*(call.future for call in calls)) == list(range(10))
        later = _Back(loop.create_future())
        threads._come_back(loop, later)
        assert loop.woken == 2
        assert await later.future is None

    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        runner.run(scenario())


def test_whatever_the_threads_and_the_loop_do_at_once_every_call_comes_back() -> None:
    async def chain(threads: Threads, number: int) -> int:
        for _ in range(50):
            number = await threads.call(partial(add, number, 1))
        return number

    async def scenario() -> None:
        threads = Threads(64)
        ended = await asyncio.gather(*(chain(threads, number) for number in range(40)))
        assert ended == [number + 50 for number in range(40)]
        assert threads.stuck == 0
        threads.close()

    asyncio.run(scenario())


def test_who_is_cancelled_twice_still_stops_a_thread_that_was_asked_too_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # it is asked as often in a second, and on a busy machine as long as it takes
    monkeypatch.setattr(threads_of_tools, "ASKED", 60 * threads_of_tools.ASKED)
    monkeypatch.setattr(threads_of_tools, "GRACE_S", 60 * threads_of_tools.GRACE_S)

    async def scenario() -> None:
        threads, go, asked = Threads(1), threading.Event(), 0

        def stop() -> None:
            nonlocal asked
            asked += 1
            if asked == 1:
                calling.cancel()  # once more, as a timeout does whose time has come
            else:
                go.set()

        calling = asyncio.create_task(threads.call(go.wait, stop=stop))
        await asyncio.sleep(0)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert asked > 1
        assert threads.stuck == 0
        threads.close()

    asyncio.run(scenario())
