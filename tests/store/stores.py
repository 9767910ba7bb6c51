"""The stores that tests run on: a new, empty one for each test."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

from petra.store import Store
from petra.store.memory import MemoryStore
from petra.store.sqlite import SqliteStore

OpenStore = Callable[[], Awaitable[Store]]


def in_memory() -> OpenStore:
    ticks = itertools.count(1_000_000)

    async def open_store() -> Store:
        return MemoryStore(clock=lambda: float(next(ticks)))

    return open_store


def in_a_file(folder: Path) -> OpenStore:
    async def open_store() -> Store:
        return await SqliteStore.open(folder / "petra.db")

    return open_store


def run_with(open_store: OpenStore, work: Callable[[Store], Awaitable[None]]) -> None:
    async def main() -> None:
        store = await open_store()
        try:
            await work(store)
        finally:
            await store.close()

    asyncio.run(main())
