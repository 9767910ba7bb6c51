"""The end of an engine: what was begun is finished, what workers have is taken back, and whoever waits is told."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from engine_support import Ear, chain, local, opened, playbook, until
from support.clocks import FakeClock, settle

from petra.clock import SystemClock
from petra.embedded import Home
from petra.engine import Engine
from petra.engine.life import StoppedError
from petra.engine.limits import CLOSE_S
from petra.engine.news import Topic
from petra.kernel import Record
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.store.base import Committed, Store
from petra.store.memory import MemoryStore
from petra.store.rows import Batch
from petra.testing.store_faults import FaultyStore, StoreFault

ASK = playbook("  - step: ask\n    tool: {kind: human, title: Sure?}\n")


@pytest.fixture(params=["memory", "sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Slow:
    """A store whose commits wait until they are let through."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.begun, self.let = asyncio.Event(), asyncio.Event()
        self.slow = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def commit(self, batch: Batch) -> Committed:
        if self.slow:
            self.begun.set()
            await self.let.wait()
        return await self.inner.commit(batch)


def send(name: str) -> Callable[[float], c.PatchCtx]:
    return lambda now: c.PatchCtx(now=now, values={name: 1})


# Whoever waits, and whoever comes late


def test_a_commit_that_was_begun_is_finished_and_answered(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as inner:
            store = Slow(inner)
            engine = await Engine(cast("Store", store)).__aenter__()
            await engine.start(ASK, execution="e1")
            store.slow = True
            asked = asyncio.create_task(engine.ask("e1", send("x"), command="k"))
            await store.begun.wait()
            closing = asyncio.create_task(engine.__aexit__())
            await settle()
            assert not closing.done()
            store.let.set()
            await closing
            assert (await asked).refused == ""
            assert engine.in_order
            assert [row.type for row in await inner.read("e1")][-1] == "ctx.patched"

    asyncio.run(scenario())


def test_what_has_arrived_before_the_end_is_decided_too(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as inner:
            store = Slow(inner)
            engine = await Engine(cast("Store", store)).__aenter__()
            await engine.start(ASK, execution="e1")
            store.slow = True
            asked = [asyncio.create_task(engine.ask("e1", send("x")))]
            await store.begun.wait()
            asked += [asyncio.create_task(engine.ask("e1", send(f"y{n}"))) for n in range(20)]
            await settle()
            closing = asyncio.create_task(engine.__aexit__())
            await settle()
            store.let.set()
            await closing
            assert [one.refused for one in await asyncio.gather(*asked)] == [""] * 21

    asyncio.run(scenario())


Call = Callable[[Home], Awaitable[object]]
CALLS: dict[str, Call] = {
    "start": lambda petra: petra.start(ASK, execution="e2"),
    "run": lambda petra: petra.run(ASK, execution="e2"),
    "ask": lambda petra: petra.engine.ask("e1", send("x")),
    "ask with an id": lambda petra: petra.engine.ask("e1", send("x"), command="k"),
    "rest": lambda petra: petra.rest("e1", lambda _: False),
    "get": lambda petra: petra.get("e1"),
    "signal": lambda petra: petra.signal("e1", "x"),
    "cancel": lambda petra: petra.cancel("e1"),
    "complete": lambda petra: petra.complete("e1", "ask", "approve", actor="ada"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_after_the_end_are_refused_at_once(call: Call) -> None:
    async def scenario() -> None:
        store = MemoryStore(clock=SystemClock().now)
        async with local(store) as petra:
            await petra.run(ASK, execution="e1")
        with pytest.raises(StoppedError, match="the engine is closed"):
            await asyncio.wait_for(call(petra), 300)

    asyncio.run(scenario())


WAITING = {name: CALLS[name] for name in ("start", "run", "ask", "cancel")}


@pytest.mark.parametrize("call", WAITING.values(), ids=WAITING)
def test_with_the_store_away_the_end_comes_in_time_and_whoever_waits_is_told(call: Call) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        inner = MemoryStore(clock=clock.now)
        away = False
        store: Any = FaultyStore(inner, lambda *_: StoreFault.BEFORE if away else None)
        engine = await Engine(store, clock=clock).__aenter__()
        petra = Home(engine, clock)
        await petra.start(ASK, execution="e1")
        away = True
        calling = asyncio.ensure_future(call(petra))
        resting = asyncio.ensure_future(petra.rest("e1", lambda _: False))
        await clock.advance(2)
        assert not calling.done()
        began = clock.now()
        await clock.run(engine.__aexit__())
        assert clock.now() - began == CLOSE_S
        assert not engine.in_order
        for waiting in (calling, resting):
            with pytest.raises(StoppedError, match="closed"):
                await asyncio.wait_for(waiting, 300)

    asyncio.run(scenario())


def test_a_second_caller_of_the_same_command_is_told_too() -> None:
    async def scenario() -> None:
        store = Slow(MemoryStore(clock=SystemClock().now))
        clock = FakeClock()
        engine = await Engine(cast("Store", store), clock=clock).__aenter__()
        await engine.start(ASK, execution="e1")
        store.slow = True
        calls = [asyncio.ensure_future(engine.ask("e1", send("x"), command="k")) for _ in range(3)]
        await store.begun.wait()
        await clock.run(engine.__aexit__())
        for call in calls:
            with pytest.raises(StoppedError):
                await asyncio.wait_for(call, 300)

    asyncio.run(scenario())


def test_a_part_of_the_engine_that_fails_stops_it_with_its_reason_and_everybody_hears(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store = MemoryStore(clock=clock.now)
        engine = await Engine(store, clock=clock).__aenter__()
        petra = Home(engine, clock)
        await petra.start(ASK, execution="e1")
        resting = asyncio.ensure_future(petra.rest("e1", lambda _: False))
        await settle()

        async def broken(*_: object, **__: object) -> list[object]:
            raise ZeroDivisionError("a bug")

        monkeypatch.setattr(store, "letters", broken)
        await clock.advance(5)
        with pytest.raises(StoppedError, match="the engine has stopped: a bug"):
            await asyncio.wait_for(resting, 300)
        with pytest.raises(StoppedError, match="the engine has stopped: a bug"):
            await engine.ask("e1", send("x"))
        await clock.run(engine.__aexit__())
        assert not engine.in_order

    asyncio.run(scenario())


def test_a_part_that_ends_or_is_cancelled_is_not_missed_in_silence() -> None:
    async def scenario() -> None:
        for name in ("decide", "timers", "sweep", "recovery"):
            engine = await Engine(MemoryStore(clock=SystemClock().now)).__aenter__()
            await settle()
            task = next(one for one in asyncio.all_tasks() if one.get_name() == name)
            task.cancel()
            await settle()
            with pytest.raises(StoppedError, match=f"'{name}' was cancelled"):
                engine.check()
            await engine.__aexit__()

    asyncio.run(scenario())


def test_a_listener_that_fails_once_keeps_nobody_from_resting(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:

            def fail(_: object) -> None:
                raise ZeroDivisionError

            failing = Ear(fail)
            petra.engine.feed.attach("e1", failing)
            petra.engine.feed.attach(Topic.RECORDS, failing)
            result = await asyncio.wait_for(petra.run(chain(3), execution="e1"), 300)
            assert result.status == "completed"
            assert failing.told == ["this listener failed: ZeroDivisionError()"] * 2

    asyncio.run(scenario())


def test_whoever_asked_and_got_its_answer_is_forgotten() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await petra.run(ASK, execution="e1")
            for _ in range(100):
                await petra.get("e1")
            resting = [asyncio.ensure_future(petra.rest("e1", lambda _: False)) for _ in range(9)]
            await settle()
            for one in resting:
                one.cancel()
            await asyncio.gather(*resting, return_exceptions=True)
            assert not list(petra.engine.feed.followed())

    asyncio.run(scenario())


# What workers had


COUNTS = """\
  - step: work
    tool:
      kind: python
      code: |
        def main(workload):
            import time
            with open(workload["file"], "a") as file:
                file.write("run\\n")
            while not __import__("os").path.exists(workload["file"] + ".go"):
                time.sleep(0.01)
            return 42
"""


@pytest.mark.slow
@pytest.mark.spec("S2")
def test_a_tool_runs_as_often_as_the_log_shows_however_often_the_folder_is_closed(
    tmp_path: Path,
) -> None:
    ran = tmp_path / "ran"

    async def scenario() -> list[Record]:
        for number in range(7):
            async with Home.open(tmp_path / "home") as petra:
                if number == 0:
                    given = {"file": str(ran)}
                    await petra.start(playbook(COUNTS), given, execution="e1")

                async def has_begun(number: int = number) -> bool:
                    return ran.exists() and len(ran.read_text().splitlines()) > number

                await until(has_begun)
        (tmp_path / "ran.go").touch()
        async with Home.open(tmp_path / "home") as petra:
            result = await petra.rest("e1")
            assert (result.status, result.output) == ("completed", 42)
            return await petra.records("e1")

    records = asyncio.run(scenario())
    starts = sum(isinstance(one.event, e.StepStarted) for one in records)
    again = sum(isinstance(one.event, e.RunRedelivered) for one in records)
    lost = again - sum(isinstance(one.event, e.RunTakenBack) for one in records)
    assert (starts, again, lost) == (1, 7, 0)
    assert len(ran.read_text().splitlines()) <= starts + again


CHILD = """\
  - step: work
    tool:
      kind: shell
      argv: [sh, -c, 'echo $$ >> "$FILE"; trap "" TERM; while true; do sleep 1; done']
      env: {FILE: "{{ workload.file }}"}
"""


@pytest.mark.slow
def test_what_a_step_has_started_is_dead_when_the_folder_is_closed(tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    async def scenario() -> None:
        async with Home.open(tmp_path / "home") as petra:
            await petra.start(playbook(CHILD), {"file": str(ran)}, execution="e1")

            async def has_begun() -> bool:
                return ran.exists() and ran.read_text().endswith("\n")

            await until(has_begun)

    asyncio.run(scenario())
    pid = int(ran.read_text())
    try:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
