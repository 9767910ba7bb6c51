"""What ordeals found in the engine, each as a small test of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from engine_support import chain, playbook
from support.clocks import FakeClock, settle

from petra.clock import SystemClock
from petra.engine import Engine
from petra.engine.codec import from_row
from petra.kernel import Record, verify
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.store.memory import MemoryStore
from petra.store.rows import Batch
from petra.wire import Assignment, Error, Report
from petra.wire import frames as f


class Link:
    """The engine's end of a connection; what it sends is kept."""

    def __init__(self) -> None:
        self.sent: list[f.AnyFrame] = []

    def send(self, frame: f.AnyFrame) -> None:
        self.sent.append(frame)

    @property
    def assigned(self) -> list[Assignment]:
        frames = [frame for frame in self.sent if isinstance(frame, f.Assignments)]
        return [given for frame in frames for given in frame.assignments]


class Gated(MemoryStore):
    """A store whose commits wait until the gate is open."""

    def __init__(self) -> None:
        super().__init__(clock=SystemClock().now)
        self.gate = asyncio.Event()

    async def commit(self, batch: Batch) -> Any:
        await self.gate.wait()
        return await super().commit(batch)


def _store() -> MemoryStore:
    return MemoryStore(clock=SystemClock().now)


def _reports(given: Assignment, report: Report) -> f.Reports:
    done = f.RunReport(
        execution=given.execution,
        run=given.run,
        delivery=given.delivery,
        lease=given.lease,
        report=report,
    )
    return f.Reports(reports=[done])


async def _records(store: MemoryStore, execution: str) -> list[Record]:
    found = [from_row(row) for row in await store.read(execution)]
    assert verify(execution, found) is None
    return found


async def _count(store: MemoryStore, execution: str, kind: type) -> int:
    return sum(isinstance(record.event, kind) for record in await _records(store, execution))


@pytest.mark.spec("S5")
def test_a_worker_that_was_told_to_stop_does_not_fail_the_run() -> None:
    async def scenario() -> None:
        store, first, second = _store(), Link(), Link()
        async with Engine(store) as engine:
            await engine.connections.receive(first, f.Hello(worker="w", slots=1, credit=1))
            await engine.start(chain(1), execution="e1")
            await settle()
        (given,) = first.assigned
        async with Engine(store, handed_back=True) as engine:
            await engine.connections.receive(
                second, f.Hello(worker="w", slots=1000, credit=1, leases=[given.lease])
            )
            assert any(isinstance(frame, f.CancelRuns) for frame in second.sent)
            stopped = Report(status="error", error=Error(kind="cancelled", message="told to stop"))
            await engine.connections.receive(second, _reports(given, stopped))
            await settle()
            assert await _count(store, "e1", e.ReportRejected) == 0  # its engine is gone
            (again,) = second.assigned
            await engine.connections.receive(second, _reports(again, Report(status="ok", result=7)))
            await settle()
            stored = await store.execution("e1")
            assert stored is not None
            assert stored.row.status == "completed"

    asyncio.run(scenario())


def test_a_lease_that_moved_to_a_new_connection_outlives_the_old_one() -> None:
    async def scenario() -> None:
        store, old, new = _store(), Link(), Link()
        async with Engine(store) as engine:
            await engine.connections.receive(old, f.Hello(worker="w", slots=1000, credit=1))
            await engine.start(chain(1), execution="e1")
            await settle()
            (given,) = old.assigned
            await engine.connections.receive(new, f.Hello(worker="w", leases=[given.lease]))
            engine.connections.lost(old)
            await settle()
            await engine.connections.receive(new, _reports(given, Report(status="ok")))
            await settle()
            assert await _count(store, "e1", e.RunRedelivered) == 0
            assert await _count(store, "e1", e.ExecutionEnded) == 1

    asyncio.run(scenario())


def test_a_worker_that_takes_nothing_is_sent_nothing() -> None:
    async def scenario() -> None:
        store, full = _store(), Link()
        async with Engine(store) as engine:
            await engine.connections.receive(full, f.Hello(worker="w", slots=4, credit=0))
            await engine.start(chain(1), execution="e1")
            await settle()
            assert full.assigned == []

    asyncio.run(scenario())


def test_a_worker_whose_lease_ran_out_gets_nothing_until_it_speaks() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store, silent, other = MemoryStore(clock=clock.now), Link(), Link()
        async with Engine(store, clock=clock, lease_s=5.0) as engine:
            await engine.connections.receive(silent, f.Hello(worker="a", slots=1000, credit=3))
            await engine.start(chain(1), execution="e1")
            await settle()
            await clock.advance(20.0)
            assert [given.delivery for given in silent.assigned] == [1]
            await engine.connections.receive(other, f.Hello(worker="b", slots=1000, credit=1))
            await settle()
            assert [given.delivery for given in other.assigned] == [2]

    asyncio.run(scenario())


def test_a_caller_that_stops_waiting_and_asks_again_has_one_effect() -> None:
    async def scenario() -> None:
        store = Gated()
        async with Engine(store) as engine:
            store.gate.set()
            await engine.start(chain(1), execution="e1")
            store.gate.clear()

            async def patch() -> Any:
                return await engine.ask(
                    "e1",
                    lambda now: c.PatchCtx(now=now, values={"k": 1}),
                    command="c1",
                    request=[1],
                )

            for _ in range(
                2
            ):  # one is being stored, one is decided and waits: what comes now comes together
                engine.tell("e1", lambda now: c.PatchCtx(now=now, values={"other": 1}))
                await settle()
            first = asyncio.create_task(patch())
            await settle()
            first.cancel()
            again = asyncio.create_task(patch())
            await settle()
            store.gate.set()
            answered = await asyncio.wait_for(again, 300)
            assert not answered.refused
            assert await _count(store, "e1", e.CtxPatched) == 1 + 2

    asyncio.run(scenario())


def test_a_command_that_is_refused_because_a_timer_came_first_is_refused_again() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store = MemoryStore(clock=clock.now)
        book = playbook(
            "  - step: w\n    tool: {kind: wait, signal: {name: go}}\n",
            executor="{spec: {timeout_s: 10}}",
        )
        async with Engine(store, clock=clock) as engine:
            await engine.start(book, execution="e1")
            clock._now += 60  # nobody has been woken yet

            async def send() -> str:
                answered = await engine.ask(
                    "e1", lambda now: c.SendSignal(now=now, name="go"), command="c1", request=[1]
                )
                return answered.refused

            assert await send() == await send() == "the execution is aborted"

    asyncio.run(scenario())


@pytest.mark.spec("S17")
def test_a_patch_of_several_keys_leaves_a_log_that_verifies() -> None:
    async def scenario() -> None:
        store = _store()
        async with Engine(store) as engine:
            await engine.start(chain(1), execution="e1")
            await engine.ask("e1", lambda now: c.PatchCtx(now=now, values={"z": 1, "a": 2}))
            assert await _count(store, "e1", e.CtxPatched) == 1

    asyncio.run(scenario())


def test_an_execution_that_is_started_twice_at_once_begins_once() -> None:
    async def scenario() -> None:
        store = _store()
        async with Engine(store) as engine:
            answers = await asyncio.gather(
                engine.start(chain(1), execution="e1"), engine.start(chain(1), execution="e1")
            )
            assert sorted(bool(answered.refused) for answered in answers) == [False, True]
            assert await _count(store, "e1", e.ExecutionStarted) == 1

    asyncio.run(scenario())
