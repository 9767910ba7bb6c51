"""The thread that runs errands, and the moment that a loop stands still for one."""

from __future__ import annotations

import asyncio
import threading

import pytest

from petra.store import side_thread
from petra.store.side_thread import CALM, SideThread


@pytest.fixture
def thread() -> SideThread:
    return SideThread("petra-test-errands")


async def turns(work: asyncio.Task[object]) -> int:
    """Count the turns of the loop until something is done."""
    count = 0
    while not work.done():
        count += 1
        await asyncio.sleep(0)
    return count


def test_what_is_done_while_the_loop_stands_still_takes_no_turn_of_it(
    thread: SideThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_thread, "STILL_S", 60.0)

    async def play() -> None:
        alone = asyncio.create_task(thread.run(threading.get_ident, alone=True))
        assert await turns(alone) == 1  # that in which it was begun
        assert await alone != threading.get_ident()

    asyncio.run(play())
    thread.close()


def test_a_failure_is_told_while_the_loop_stands_still(
    thread: SideThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_thread, "STILL_S", 60.0)

    def fails() -> None:
        raise ValueError("the disk is gone")

    with pytest.raises(ValueError, match="the disk is gone"):
        asyncio.run(thread.run(fails, alone=True))
    thread.close()


def test_what_takes_long_is_waited_for_by_turns_and_so_are_those_after_it(
    thread: SideThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_thread, "STILL_S", 0.001)
    gate = threading.Event()

    async def play() -> None:
        slow = asyncio.create_task(thread.run(gate.wait, alone=True))
        await asyncio.sleep(0)
        assert not slow.done()
        gate.set()
        assert await slow
        monkeypatch.setattr(side_thread, "STILL_S", 60.0)
        for _ in range(CALM):
            held = threading.Event()
            calm = asyncio.create_task(thread.run(held.wait, alone=True))
            await asyncio.sleep(0)
            held.set()  # had the loop stood still, nobody could
            assert await calm

    asyncio.run(play())
    thread.close()


def test_one_that_nobody_waits_for_any_more_has_ended_when_that_is_known(
    thread: SideThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_thread, "STILL_S", 0.001)
    gate, done = threading.Event(), []

    def work() -> None:
        gate.wait()
        done.append(True)

    async def play() -> None:
        slow = asyncio.create_task(thread.run(work, alone=True))
        await asyncio.sleep(0)
        slow.cancel()
        await asyncio.sleep(0)
        assert not slow.done()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert done == [True]

    asyncio.run(play())
    thread.close()
