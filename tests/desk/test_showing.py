"""What is shown of an execution from memory is what the store has of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import chain, local, opened, playbook

from petra.desk import owner
from petra.desk.showing import shown
from petra.kernel.commands import PatchCtx
from petra.playbook import Playbook

ASK = playbook("  - step: ask\n    tool: {kind: human, title: Sure?}\n")
FAILS = playbook("  - step: fail\n    tool: {kind: python, code: 'raise ValueError()'}\n")


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("book", [chain(2), ASK, FAILS], ids=["ended", "waiting", "failed"])
def test_the_row_is_the_stored_one(kind: str, book: Playbook, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            await petra.run(book, execution="e1", labels={"team": "blue"})
            found = await shown(petra.desk, owner(), "e1")
            assert found.stored == await store.execution("e1")
            assert (found.stored.row.status, found.stored.version) == (
                found.result.status, found.result.version,
            )  # fmt: skip
            petra.engine.cache.drop("e1")
            assert await shown(petra.desk, owner(), "e1") == found

    asyncio.run(scenario())


def test_a_row_moves_on_with_its_execution(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened("sqlite", tmp_path) as store, local(store) as petra:
            await petra.run(ASK, execution="e1")
            first = await shown(petra.desk, owner(), "e1")
            await petra.desk.give(owner(), "e1", PatchCtx(now=0.0, values={"seen": 1}))
            second = await shown(petra.desk, owner(), "e1")
            assert second.stored == await store.execution("e1")
            assert second.stored.version > first.stored.version

    asyncio.run(scenario())
