"""The engine on a store in memory and in a file, with a worker beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from engine_support import chain, local, opened, playbook

from petra.clock import SystemClock
from petra.embedded import CLOSED, Home, result_of
from petra.engine.codec import execution_row, from_row
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.kernel import replay, verify
from petra.store.base import Committed, Store
from petra.store.memory import MemoryStore
from petra.store.rows import Batch, ExecutionFilter, WorkItemFilter

Opener = Callable[[Path], "AsyncIterator[Store]"]


def test_a_chain_runs_to_its_end_and_its_log_verifies(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            result = await petra.run(chain(5), execution="e1")
            assert (result.status, result.output) == ("completed", 1)
            records = [from_row(row) for row in await store.read("e1")]
            assert verify("e1", records) is None
            assert len(records) == 1 + 2 * 5 + 2  # start, two per step, ending and end

    asyncio.run(scenario())


def test_rows_are_what_the_log_says(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            book = playbook("  - step: ask\n    tool: {kind: human, title: Sure?}\n")
            await petra.run(book, execution="e1")
            page = await store.executions(ExecutionFilter())
            state = replay("e1", [from_row(row) for row in await store.read("e1")])
            entry = petra.engine.cache.get("e1")
            assert entry is not None
            assert page.rows[0].row == execution_row(entry.program, state)
            assert (page.rows[0].row.status, page.rows[0].row.reason) == ("waiting", "human")
            items = await store.work_items(WorkItemFilter())
            assert [(item.step, item.state, item.title) for item in items.rows] == [
                ("ask", "offered", "Sure?")
            ]

    asyncio.run(scenario())


def test_the_same_command_id_gets_the_same_answer_and_starts_nothing(
    kind: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            book = chain(1)
            first = await petra.engine.start(book, {"a": 1}, execution="e1", command="c1")
            again = await petra.engine.start(book, {"a": 1}, execution="e2", command="c1")
            assert again.execution == first.execution == "e1"
            assert await store.execution("e2") is None
            with pytest.raises(UsageError, match="used before for a different request"):
                await petra.engine.start(book, {"a": 2}, execution="e3", command="c1")

    asyncio.run(scenario())


def test_what_one_engine_leaves_the_next_one_finishes(tmp_path: Path) -> None:
    async def scenario() -> None:
        book = playbook(
            "  - step: wait\n    tool: {kind: wait, signal: {name: go}}\n    next: {arcs: [{step: work}]}\n"
            "  - step: work\n    tool: {kind: python, code: 'result = 41 + 1'}\n"
        )
        async with opened("sqlite", tmp_path) as store, local(store) as petra:
            assert (await petra.run(book, execution="e1")).status == "waiting"
        async with opened("sqlite", tmp_path) as store, local(store) as petra:
            await petra.engine.ask("e1", lambda now: c.SendSignal(now=now, name="go"))
            result = await petra.rest("e1")
            assert (result.status, result.output) == ("completed", 42)

    asyncio.run(scenario())


@pytest.mark.spec("S16")
def test_a_sub_playbook_is_an_execution_of_its_own(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            child = playbook(
                "  - step: work\n    tool: {kind: python, code: 'result = workload[\"n\"] * 2'}\n",
                name="double",
            )
            await petra.apply(child)
            parent = playbook(
                "  - step: call\n    tool: {kind: playbook, path: double, args: {n: 21}}\n"
            )
            result = await petra.run(
                parent,
                execution="e1",
            )
            while result.status == "waiting":
                result = await petra.rest("e1", lambda found: found.status != "waiting")
            assert result.status == "completed", result
            children = await store.executions(ExecutionFilter(parent="e1"))
            assert len(children.rows) == 1

    asyncio.run(scenario())


def test_timers_fire_and_survive_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        book = playbook("  - step: nap\n    tool: {kind: wait, for_s: 0.2}\n")
        async with opened("sqlite", tmp_path) as store, local(store) as petra:
            assert (await petra.run(book, execution="e1")).status == "waiting"
        async with opened("sqlite", tmp_path) as store, local(store) as petra:
            result = await petra.rest("e1", lambda found: found.status == "completed")
            assert result.output == {"which": 0, "payload": None}

    asyncio.run(scenario())


def test_many_executions_at_once_all_end(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            book = chain(3)
            results = await asyncio.gather(*(petra.run(book) for _ in range(50)))
            assert {result.status for result in results} == {"completed"}
            stats = await store.stats()
            assert stats.pending == 0
            assert stats.executions == {"completed": 50}

    asyncio.run(scenario())


def test_an_unknown_execution_is_an_error_and_the_engine_goes_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened("memory", tmp_path) as store, local(store) as petra:
            with pytest.raises(Exception, match="there is no execution 'nobody'"):
                await petra.engine.ask("nobody", lambda now: c.Pause(now=now))
            entry_result = await petra.run(chain(1), execution="e1")
            assert entry_result == result_of(await petra.engine.cache.load("e1"))

    asyncio.run(scenario())


@pytest.mark.spec("S9", "S10")
def test_iterations_of_a_sequential_loop_see_what_the_ones_before_them_wrote(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        book = playbook(
            "  - step: add\n    loop: {in: '{{ range(200) }}', iterator: n}\n"
            "    tool:\n      kind: noop\n      spec: {policy: {rules: [{else: {then: {do: continue,"
            ' set_ctx: {sum: "{{ (ctx.sum | default(0)) + iter.n }}"}}}}]}}\n'
        )
        async with opened("memory", tmp_path) as store, local(store) as petra:
            result = await petra.run(book, execution="e1")
            assert (result.status, result.ctx["sum"]) == ("completed", sum(range(200)))
            started = [
                row for row in await store.read("e1") if row.type == "loop.iterations.started"
            ]
            assert len(started) < 50  # they were handed out together

    asyncio.run(scenario())


@pytest.mark.slow
def test_closing_in_order_loses_no_delivery_and_dying_does(tmp_path: Path) -> None:
    async def started(home: Path, *, die: bool) -> int:
        async with Home.open(home, workers=0) as petra:  # nobody has it yet
            await petra.engine.start(chain(1), execution="e1")
        if die:
            (home / CLOSED).unlink()  # what a kill -9 leaves
        async with Home.open(home) as petra:
            result = await petra.rest("e1")
            assert result.status == "completed"
            rows = await petra.engine.store.read("e1")
        return sum(row.type == "run.redelivered" for row in rows)

    assert asyncio.run(started(tmp_path / "order", die=False)) == 0
    assert asyncio.run(started(tmp_path / "dead", die=True)) == 1


class SlowStore(MemoryStore):
    """A store that takes its time to commit, so that decisions run ahead of it."""

    async def commit(self, batch: Batch) -> Committed:
        await asyncio.sleep(0.02)
        return await super().commit(batch)


def test_nobody_sees_the_end_before_it_is_durable() -> None:
    async def scenario() -> None:
        store = SlowStore(clock=SystemClock().now)
        async with local(store) as petra:
            book = playbook("  - step: ask\n    tool: {kind: wait, signal: {name: go}}\n")
            await petra.run(book, execution="e1")
            asking = asyncio.create_task(
                petra.engine.ask("e1", lambda now: c.PatchCtx(now=now, values={"a": 1}))
            )
            await asyncio.sleep(0.01)  # the patch is being committed while the signal is decided
            petra.engine.tell("e1", lambda now: c.SendSignal(now=now, name="go"))
            await asking
            await petra.rest("e1", lambda found: found.status == "completed")
            assert (await store.read("e1"))[-1].type == "execution.ended"

    asyncio.run(scenario())
