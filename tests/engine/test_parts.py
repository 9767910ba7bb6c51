"""The engine's side of reports in parts: each acknowledged when durable, further iterations under the same lease."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from engine_support import playbook

from petra.clock import SystemClock
from petra.engine import Engine
from petra.store.memory import MemoryStore
from petra.wire import Assignment, IterationReport, Report
from petra.wire import frames as f

T = TypeVar("T", bound=f.AnyFrame)
BOOK = playbook(
    "  - step: s\n    loop: {in: '{{ range(2000) }}', iterator: n,"
    " spec: {mode: parallel, policy: {exec: local}}}\n    tool: {kind: python, code: 'result = n'}\n"
)


class Link:
    """A worker that a test plays."""

    def __init__(self) -> None:
        self.got: list[f.AnyFrame] = []
        self._came = asyncio.Event()

    def send(self, frame: f.AnyFrame) -> None:
        self.got.append(frame)
        self._came.set()

    async def next(self, kind: type[T]) -> T:
        while True:
            for index, frame in enumerate(self.got):
                if isinstance(frame, kind):
                    del self.got[index]
                    return frame
            self._came.clear()
            await self._came.wait()


def part(given: Assignment, number: int, indices: range, *, more: bool = True) -> f.Reports:
    ended = [IterationReport(path=(n,), report=Report(status="ok", result=n)) for n in indices]
    report = f.RunReport(
        execution=given.execution, run=given.run, chunk=given.chunk, delivery=given.delivery, lease=given.lease,
        iterations=ended, part=number, more=more,
    )  # fmt: skip
    return f.Reports(reports=[report])


def played(play: Callable[[Engine, Link, Assignment], Awaitable[None]]) -> None:
    async def run() -> None:
        store = MemoryStore(clock=SystemClock().now)
        async with Engine(store) as engine:
            link = Link()
            await engine.connections.receive(link, f.Hello(worker="w", slots=1000, credit=1))
            await engine.start(BOOK, execution="e1")
            (given,) = (await link.next(f.Assignments)).assignments
            await play(engine, link, given)
        await store.close()

    asyncio.run(asyncio.wait_for(run(), 300))


@pytest.mark.spec("S9")
def test_a_part_is_acknowledged_by_its_number_and_more_is_sent_under_the_same_lease() -> None:
    async def play(engine: Engine, link: Link, given: Assignment) -> None:
        assert (len(given.iterations), given.more) == (512, True)
        await engine.connections.receive(link, part(given, 1, range(256)))
        assert (await link.next(f.Ack)).parts == [(given.lease, 1)]
        further = await link.next(f.Further)
        assert (further.lease, further.more) == (given.lease, True)
        assert [one.path[0] for one in further.iterations] == list(range(512, 768))
        await engine.connections.receive(link, part(given, 1, range(256)))
        assert (await link.next(f.Ack)).parts == [(given.lease, 1)]
        entry = await engine.cache.load("e1")
        (run,) = entry.state.runs.values()
        assert run.loop is not None
        assert run.loop.done == 256

    played(play)


@pytest.mark.spec("S9")
def test_a_worker_that_comes_back_is_sent_again_what_it_may_have_missed() -> None:
    async def play(engine: Engine, link: Link, given: Assignment) -> None:
        await engine.connections.receive(link, part(given, 1, range(256)))
        await link.next(f.Further)  # suppose it was lost with the connection
        again = Link()
        await engine.connections.receive(again, f.Hello(worker="w", leases=[given.lease]))
        further = await again.next(f.Further)
        assert [one.path[0] for one in further.iterations] == list(range(256, 768))
        engine.connections.lost(link)
        await engine.connections.receive(again, part(given, 2, range(256, 768)))
        await again.next(f.Ack)
        entry = await engine.cache.load("e1")
        (run,) = entry.state.runs.values()
        assert [chunk.delivery for chunk in run.chunks.values()] == [1]

    played(play)
