"""Retention: what ended long ago goes, with the objects that only it referred to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import chain, local, playbook
from support.clocks import FakeClock

from petra.clock import SystemClock
from petra.engine import Engine
from petra.engine.limits import EXPIRE_EVERY_S
from petra.engine.references import objects_of
from petra.engine.retention import Retention
from petra.errors import ObjectError
from petra.objects import LocalObjects, Reference
from petra.store.base import Store
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import applied, make_row, make_start


async def ended(store: Store, name: str, at: float, *references: Reference) -> None:
    row = make_row(name, status="completed", ended=at)
    await applied(store, make_start(name, row=row, objects=tuple(r.key for r in references)))


def test_executions_go_when_they_are_old_with_their_objects(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store = await SqliteStore.open(tmp_path / "petra.db")
        objects = LocalObjects(tmp_path / "objects")
        mine, shared = await objects.put("old", [1]), await objects.put("old", [2])
        untold = await objects.put("old", [3])
        young = await objects.put("young", [4])
        await ended(store, "old", clock.now() - 100, mine, shared)
        await ended(store, "young", clock.now() - 10, young, shared)
        retention = Retention(store, 50, objects=objects, clock=clock)
        assert await retention.once() == ("old",)
        assert await store.execution("old") is None
        with pytest.raises(ObjectError):
            await objects.get(mine)
        assert await objects.get(shared) == [2]  # another execution still refers to it
        assert await objects.get(untold) == [3]
        await clock.advance(60)
        assert await retention.once() == ("young",)
        for gone in (shared, young, untold):
            with pytest.raises(ObjectError):
                await objects.get(gone)
        assert list((tmp_path / "objects").iterdir()) == []
        assert await store.orphans() == []
        await store.close()

    asyncio.run(scenario())


def test_an_engine_forgets_what_retention_deleted() -> None:
    async def scenario() -> None:
        store = MemoryStore(clock=SystemClock().now)
        clock = FakeClock(SystemClock().now() + 100)
        retention = Retention(store, 50, clock=clock)
        async with Engine(store, retention=retention) as engine:
            book = playbook("  - step: ask\n    tool: {kind: wait, signal: {name: go}}\n")
            await engine.start(book, execution="waits")
        async with local(store, retention=retention) as petra:
            await petra.run(chain(1), execution="e1")
            assert await store.execution("e1") is not None
            await clock.advance(EXPIRE_EVERY_S)
            assert petra.engine.cache.get("e1") is None
            page = await store.executions(ExecutionFilter())
            assert [row.row.id for row in page.rows] == ["waits"]

    asyncio.run(scenario())


@pytest.mark.spec("S18")
def test_the_store_knows_which_objects_an_execution_refers_to(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        objects = LocalObjects(tmp_path / "objects")
        made = await objects.put("e1", "x" * 1000)
        code = f"result = [{{'deep': {made.as_data()!r}}}]"
        book = playbook(f'  - step: s\n    tool: {{kind: python, code: "{code}"}}\n')
        async with local(store) as petra:
            assert (await petra.run(book, execution="e1")).status == "completed"
        assert await store.refers_to("e1/")
        assert objects_of(await store.read("e1")) == (made.key,)
        await store.close()

    asyncio.run(scenario())
