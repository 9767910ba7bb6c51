"""What goes out to readers of streams: together what came together, made once for all, and not ahead of who reads slowly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from support.clocks import FakeClock, settle

from petra.desk import Principal, owner
from petra.server import outflow as going
from petra.server.identity import AGAIN_S, Presented
from petra.server.outflow import AHEAD_MAX, QUIET, Outflow
from petra.server.staying import Staying
from petra.server.told_once import KEPT_BYTES, ToldOnce


def played(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 300))


class Source:
    """Parts that come when they are given."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.taken = 0
        self.closed = False

    async def parts(self) -> AsyncIterator[bytes]:
        try:
            while (part := await self.queue.get()) is not None:
                if isinstance(part, Exception):
                    raise part
                self.taken += 1
                yield part
        finally:
            self.closed = True


def test_parts_that_came_together_go_out_together() -> None:
    async def scenario() -> None:
        source = Source()
        outflow = Outflow(source.parts())
        for part in (b"a", b"b", b"c"):
            source.queue.put_nowait(part)
        await settle()
        assert await outflow.next() == b"abc"
        waiting = asyncio.create_task(outflow.next())
        await settle()
        assert not waiting.done()
        source.queue.put_nowait(b"d")
        assert await waiting == b"d"
        source.queue.put_nowait(None)
        assert await outflow.next() == b""
        assert not outflow.is_over
        await outflow.close()

    played(scenario)


def test_nothing_is_made_far_ahead_of_who_does_not_read() -> None:
    async def scenario() -> None:
        source = Source()
        outflow = Outflow(source.parts())
        for _ in range(3 * AHEAD_MAX):
            source.queue.put_nowait(b".")
        await settle()
        assert source.taken == AHEAD_MAX
        assert await outflow.next() == b"." * AHEAD_MAX
        await settle()
        assert source.taken == 2 * AHEAD_MAX
        await outflow.close()
        assert source.closed

    played(scenario)


def test_what_went_wrong_reaches_the_reader_after_what_came_before() -> None:
    async def scenario() -> None:
        source = Source()
        outflow = Outflow(source.parts())
        source.queue.put_nowait(b"a")
        source.queue.put_nowait(ValueError("lost"))
        await settle()
        assert await outflow.next() == b"a"
        with pytest.raises(ValueError, match="lost"):
            await outflow.next()
        await outflow.close()

    played(scenario)


def test_who_is_told_that_it_is_over_gets_no_more() -> None:
    async def scenario() -> None:
        source = Source()
        outflow = Outflow(source.parts())
        waiting = asyncio.create_task(outflow.next())
        await settle()
        outflow.end()
        assert await waiting == b""
        assert outflow.is_over
        await outflow.close()
        assert source.closed

    played(scenario)


def test_silence_is_broken_by_a_comment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(going, "QUIET_S", 0.0)

    async def scenario() -> None:
        outflow = Outflow(Source().parts())
        assert await outflow.next() == QUIET
        await outflow.close()

    played(scenario)


def test_a_comment_comes_at_its_time_also_soon_after_something_else() -> None:
    async def scenario() -> None:
        source = Source()
        outflow = Outflow(source.parts())
        source.queue.put_nowait(b"a")
        assert await outflow.next() == b"a"
        outflow._tick()  # as it does every quarter of a minute
        waiting = asyncio.create_task(outflow.next())
        await settle()
        assert waiting.done(), "it waited for another quarter of a minute"
        assert await waiting == QUIET
        await outflow.close()

    played(scenario)


def test_many_who_ask_at_once_are_told_what_one_made() -> None:
    async def scenario() -> None:
        told, made, go = ToldOnce(), 0, asyncio.Event()

        async def make() -> bytes:
            nonlocal made
            made += 1
            await go.wait()
            return b"said"

        asking = [asyncio.create_task(told.made("k", make)) for _ in range(5)]
        await settle()
        asking[0].cancel()  # whoever began it may leave
        go.set()
        assert await asyncio.gather(*asking[1:]) == [b"said"] * 4
        assert (made, told.known("k")) == (1, b"said")
        large = b"x" * (KEPT_BYTES + 1)
        assert told.keep("large", large) == large
        assert told.known("large") is None

    played(scenario)


def test_what_could_not_be_made_is_made_anew_for_the_next() -> None:
    async def scenario() -> None:
        told, faults = ToldOnce(), [OSError("away")]

        async def make() -> bytes:
            if faults:
                raise faults.pop()
            return b"said"

        with pytest.raises(OSError, match="away"):
            await told.made("k", make)
        assert await told.made("k", make) == b"said"

    played(scenario)


OWNER = owner()


class Door:
    """Lets in whoever is on its list, and counts how often it is asked."""

    def __init__(self) -> None:
        self.known: set[Presented] = set()
        self.asked = 0

    async def is_in(self, presented: Presented, who: Principal) -> bool:
        assert who == OWNER
        self.asked += 1
        return presented in self.known


def test_all_who_came_with_one_token_are_looked_up_once_and_told_when_it_is_over() -> None:
    async def scenario() -> None:
        clock, door = FakeClock(), Door()
        one, other = (Presented("GET", f"Bearer {name}") for name in ("one", "other"))
        door.known = {one, other}
        staying = Staying(door, clock)  # type: ignore[arg-type]
        with (
            staying.guest(one, OWNER) as first,
            staying.guest(one, OWNER) as second,
            staying.guest(other, OWNER) as third,
        ):
            await settle()
            await clock.advance(AGAIN_S)
            await settle()
            assert door.asked == 2
            door.known = {other}
            await clock.advance(AGAIN_S)
            await settle()
            assert (first.done(), second.done(), third.done()) == (True, True, False)
        await clock.advance(AGAIN_S)
        await settle()
        asked = door.asked
        with staying.guest(
            other, OWNER
        ):  # when all have left and somebody comes, it is looked again
            await settle()
            await clock.advance(AGAIN_S)
            await settle()
            assert door.asked == asked + 1
        await staying.close()

    played(scenario)
