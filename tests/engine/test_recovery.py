"""Coming back with very much to do: lazily, in batches, once each."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import chain, local, playbook, until
from support.clocks import FakeClock, settle

from petra.clock import SystemClock
from petra.engine import Engine
from petra.engine.inbox import Inbox
from petra.engine.limits import AGAIN_S, DUE_MAX, ENTRY_BYTES, RECOVER_MAX
from petra.engine.packed import PackedRows
from petra.engine.shards import Shards
from petra.engine.submissions import of_time
from petra.engine.wakes import Wakes
from petra.kernel import commands as c
from petra.playbook import read
from petra.store.base import Store
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter, Pending, PendingRow, RecordRow, StoredExecution
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import applied, make_next, make_start
from petra.wire import frames

LIVE = 600


class Reading(MemoryStore):
    """A store that notes whose log is read."""

    def __init__(self) -> None:
        super().__init__(clock=SystemClock().now)
        self.logs_read: set[str] = set()

    async def read(self, execution: str, *, after: int = 0, limit: int = 10_000) -> list[RecordRow]:
        self.logs_read.add(execution)
        return await super().read(execution, after=after, limit=limit)

    async def logs(
        self, executions: object, *, most: int = 10_000
    ) -> dict[str, tuple[StoredExecution, list[RecordRow]]]:
        names = [str(name) for name in executions]  # type: ignore[attr-defined]
        self.logs_read.update(names)
        return await super().logs(names, most=most)


class Hands:
    """A worker's end that takes everything and does nothing."""

    def __init__(self, store: Reading) -> None:
        self._store = store
        self.taken = 0
        self.read_before_first = 0

    def send(self, frame: frames.AnyFrame) -> None:
        if isinstance(frame, frames.Assignments):
            if not self.taken:
                self.read_before_first = len(self._store.logs_read)
            self.taken += len(frame.assignments)


@pytest.mark.parametrize("in_order", [True, False], ids=["left in order", "died"])
def test_the_first_run_goes_out_before_everything_is_read(in_order: bool) -> None:  # noqa: FBT001
    async def scenario() -> None:
        store = Reading()
        book = chain(1)
        async with Engine(store) as engine:
            starts = [engine.start(book, execution=f"e{n}") for n in range(LIVE)]
            await asyncio.gather(*starts)
        store.logs_read.clear()
        hands = Hands(store)
        async with Engine(store, handed_back=in_order, lease_s=1e6) as engine:
            assert store.logs_read == set()
            hello = frames.Hello(worker="w", slots=LIVE, credit=LIVE)
            await engine.connections.receive(hands, hello)

            async def all_out() -> bool:
                return hands.taken == LIVE

            await until(all_out)
        assert hands.read_before_first <= max(RECOVER_MAX, 256)
        rows = [row for n in range(LIVE) for row in await store.read(f"e{n}")]
        lost = sum(row.type == "run.redelivered" for row in rows)
        assert lost == (0 if in_order else LIVE)

    asyncio.run(scenario())


def test_what_was_lost_waits_packed_and_in_its_order() -> None:
    rows = [
        PendingRow(
            execution=f"e{number // 10}-{'x' * 40}",
            pending=Pending(run=f"{number:032x}", delivery=1 + number % 3, kinds="python"),
            namespace="one",
        )
        for number in range(3_000)
    ]
    packed = PackedRows()
    assert (len(packed), packed.first(5)) == (0, [])
    for at in range(0, len(rows), 1_000):
        packed.add(rows[at : at + 1_000])
    packed.add([])
    assert sum(map(len, packed._packed)) < 60 * len(rows)  # some 600 bytes each as they are
    found: list[PendingRow] = []
    while packed:
        some = packed.first(700)
        assert some == packed.first(700)  # they stay
        assert len(packed) == len(rows) - len(found)
        packed.drop(len(some))
        found += some
    assert found == rows


@pytest.mark.spec("S11")
def test_what_nobody_had_was_not_lost_however_often_its_engine_died() -> None:
    """A run of a pool whose workers are elsewhere, and away: six crashes make no incident of it."""

    async def scenario() -> None:
        store = Reading()
        book = playbook(
            "  - step: work\n    spec: {pool: etl}\n    tool: {kind: python, code: 'result = 1'}\n"
        )
        async with Engine(store) as engine:
            await engine.start(book, execution="e", allow_unsound=True)
        for _ in range(6):
            async with Engine(store, handed_back=False) as engine:

                async def decided(engine: Engine = engine) -> bool:
                    return engine.to_come_back is None

                await until(decided)
        types = [row.type for row in await store.read("e")]
        assert types == ["execution.started", "step.started", *["run.taken_back"] * 6]
        hands = Hands(store)
        async with Engine(store, handed_back=True) as engine:
            hello = frames.Hello(worker="w", pool="etl", slots=1, credit=1)
            await engine.connections.receive(hands, hello)

            async def out() -> bool:
                return hands.taken == 1

            await until(out)

    asyncio.run(scenario())


@pytest.mark.slow
def test_timers_that_are_due_at_once_each_fire_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        count = 3_000
        book = playbook("  - step: nap\n    tool: {kind: wait, for_s: 2}\n")
        store = await SqliteStore.open(tmp_path / "petra.db")
        async with Engine(
            store, clock=FakeClock()
        ) as engine:  # no time passes before all have begun
            starts = [engine.start(book, execution=f"e{n}") for n in range(count)]
            await asyncio.gather(*starts)
            wanted = len(await store.due(1e12, limit=2 * count))
            assert wanted == count

        async def fired() -> bool:
            return not await store.due(1e12, limit=1)

        most = 0
        async with Engine(store) as engine:

            async def watched() -> bool:
                nonlocal most
                most = max(most, len(engine._inbox))
                return await fired()

            await until(watched)
        assert most <= DUE_MAX
        for number in range(0, count, 7):
            kinds = [row.type for row in await store.read(f"e{number}")]
            assert kinds.count("step.done") == 1
        assert (await store.stats()).executions == {"completed": count}
        await store.close()

    asyncio.run(scenario())


def test_wake_ups_that_are_far_away_are_rows_only() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store = MemoryStore(clock=clock.now)
        await applied(
            store, *(make_start(f"e{n}", wake=clock.now() + 60 * n) for n in range(1, 100))
        )
        found = Wakes(store, clock, Shards(store, clock, ""))
        found.set("far", clock.now() + 3600)
        ticked: list[str] = []

        async def tick() -> None:
            async for batch in found.due():
                ticked.extend(batch)
                await applied(store, *(make_next(name, 1, wake=None) for name in batch))

        ticking = asyncio.create_task(tick())
        await clock.advance(50)
        assert (len(found), ticked) == (0, [])
        await clock.advance(10)
        await settle()
        assert ticked == ["e1"]
        assert len(found) <= 1
        ticking.cancel()

    asyncio.run(scenario())


def test_a_wake_up_whose_tick_comes_to_nothing_is_not_tried_again_at_once() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store = MemoryStore(clock=clock.now)
        await applied(store, *(make_start(f"e{n}", wake=clock.now()) for n in range(DUE_MAX)))
        found = Wakes(store, clock, Shards(store, clock, ""))
        ticked: list[str] = []

        async def tick() -> None:
            async for batch in found.due():
                ticked.extend(batch)

        ticking = asyncio.create_task(tick())
        await clock.advance(AGAIN_S / 2)
        assert len(ticked) == DUE_MAX
        await clock.advance(AGAIN_S)
        assert len(ticked) == 2 * DUE_MAX
        ticking.cancel()

    asyncio.run(scenario())


def test_an_execution_that_left_memory_goes_on_when_it_is_needed(tmp_path: Path) -> None:
    async def scenario() -> None:
        book = playbook(
            "  - step: wait\n    tool: {kind: wait, signal: {name: go}}\n    next: {arcs: [{step: work}]}\n"
            "  - step: work\n    tool: {kind: python, code: 'result = 42'}\n"
        )
        store = await SqliteStore.open(tmp_path / "petra.db")
        async with local(store) as petra:
            petra.engine.cache.limit(10 * ENTRY_BYTES)
            for number in range(50):
                await petra.run(book, execution=f"e{number}")
            assert len(petra.engine.cache) <= 10
            assert petra.engine.cache.get("e0") is None
            await petra.engine.ask("e0", lambda now: c.SendSignal(now=now, name="go"))
            assert (await petra.rest("e0")).output == 42
        await store.close()

    asyncio.run(scenario())


@pytest.mark.spec("S16")
@pytest.mark.parametrize("when", ["the child was not begun", "the end was not heard"])
def test_a_child_is_neither_lost_nor_started_twice_when_the_engine_dies(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        store: Store = MemoryStore(clock=SystemClock().now)
        child = playbook(
            "  - step: work\n    tool: {kind: python, code: 'result = 21'}\n", name="child"
        )
        # the parent waits for a person too, so that its row does not say that it waits for a child
        parent = playbook(
            "  - step: split\n    next: {spec: {mode: inclusive}, arcs: [{step: call}, {step: ask}]}\n"
            "  - step: call\n    tool: {kind: playbook, path: child}\n"
            "  - step: ask\n    tool: {kind: human, title: Sure?}\n"
        )
        async with local(store) as petra:
            await petra.apply(child)
            dead: list[str] = []

            async def never(*_: object) -> None:
                dead.append("letter")

            def die() -> None:
                monkeypatch.setattr(petra.engine._courier, "take", never)
                monkeypatch.setattr(petra.engine._courier, "look", never)

            if when == "the child was not begun":
                die()
            await petra.engine.start(parent, execution="p")
            if when == "the end was not heard":
                die()

            async def died() -> bool:
                return bool(dead) and len(await store.letters()) == 1

            await until(died)
        assert len(await store.letters()) == 1
        async with local(store) as petra:
            done = lambda found: found.counts.get("done", 0) == 2  # noqa: E731
            result = await petra.rest("p", done)
            assert result.status == "waiting"
        page = await store.executions(ExecutionFilter(parent="p"))
        assert [row.row.status for row in page.rows] == ["completed"]
        assert await store.letters() == []

    asyncio.run(scenario())


@pytest.mark.spec("S16")
@pytest.mark.parametrize(
    ("child", "words"),
    [
        pytest.param("", "there is no playbook 'child'", id="it is not there"),
        pytest.param(
            "executor: {spec: {input_schema: {required: [n]}}}\n", '"n" is a required', id="refused"
        ),
    ],
)
def test_a_parent_hears_of_a_child_that_cannot_be_started(child: str, words: str) -> None:
    async def scenario() -> None:
        store = MemoryStore(clock=SystemClock().now)
        parent = playbook("  - step: call\n    tool: {kind: playbook, path: child}\n", name="p")
        async with local(store) as petra:
            if child:
                text = f"apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: child}}\n{child}"
                text += "workflow:\n  - step: s\n    tool: {kind: noop}\n"
                await petra.apply(read(text).checked())
            result = await petra.run(parent, until=lambda found: found.status == "failed")
            assert result.error is not None
            assert words in result.error["message"]
            page = await store.executions(ExecutionFilter(parent=result.id))
            assert page.rows == ()
        assert await store.letters() == []

    asyncio.run(scenario())


@pytest.mark.spec("S3")
def test_nothing_is_stored_of_a_start_that_is_refused() -> None:
    async def scenario() -> None:
        store = MemoryStore(clock=SystemClock().now)
        book = playbook(
            "  - step: s\n    tool: {kind: noop}\n",
            executor="{spec: {input_schema: {required: [n]}}}",
        )
        async with local(store) as petra:
            assert (await petra.run(book, execution="e1")).status == "refused"
            assert await store.execution("e1") is None
            assert (await petra.run(book, {"n": 1}, execution="e1")).status == "completed"

    asyncio.run(scenario())


def test_a_full_inbox_holds_back_who_asks_and_nothing_else() -> None:
    async def scenario() -> None:
        inbox, one, two, three, four = Inbox(2), *(of_time(f"e{n}") for n in range(4))
        inbox.push(one)
        await inbox.room()
        inbox.push(two)
        waiting = asyncio.create_task(inbox.room())
        await settle()
        assert not waiting.done()
        inbox.push(three)  # what the engine has to do itself is never refused
        assert await inbox.take(1) == [one]
        await settle()
        assert not waiting.done()
        assert await inbox.take(10) == [two, three]
        await waiting
        taking = asyncio.create_task(inbox.take(10))
        await settle()
        inbox.push(four)
        assert await taking == [four]

    asyncio.run(scenario())


def test_reports_are_held_back_by_not_reading_the_connection() -> None:
    async def scenario() -> None:
        store = Reading()
        engine = Engine(store)  # nobody decides: it has not begun
        engine._inbox._most = 1
        engine.tell("e1", lambda now: c.Tick(now=now))
        report, hands = frames.Reports(reports=[]), Hands(store)
        await engine.connections.receive(hands, frames.Hello(worker="w"))
        receiving = asyncio.create_task(engine.connections.receive(hands, report))
        await settle()
        assert not receiving.done()
        await engine._inbox.take(1)
        await receiving

    asyncio.run(scenario())
