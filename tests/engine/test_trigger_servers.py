"""Triggers at engines that share a store, in memory and in PostgreSQL: one event, one execution, whoever brings it (S24)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from engine_support import local, playbook, until
from support.trigger_works import HOOK, REST, WHO, a_trigger

from petra.clock import SystemClock
from petra.desk.triggers import DeskTriggers
from petra.embedded import Home
from petra.engine.trigger_intake import Taken
from petra.store.base import Store
from petra.store.memory import MemoryStore
from petra.store.postgres import PostgresStore
from petra.store.rows import ExecutionFilter
from petra.triggers.incoming import Occurrence

pytestmark = pytest.mark.spec("S24")


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.slow)])
def two_stores(
    request: pytest.FixtureRequest, new_database: Callable[[], str]
) -> Callable[[], Awaitable[list[Store]]]:
    """Return how two servers open the same store."""

    async def opened() -> list[Store]:
        if request.param == "memory":
            both = MemoryStore(clock=SystemClock().now)
            return [both, both]
        address = new_database()
        return [await PostgresStore.open(address), await PostgresStore.open(address)]

    return opened


@asynccontextmanager
async def _two(stores: list[Store]) -> AsyncIterator[list[Home]]:
    try:
        async with (
            local(stores[0], holder="one", shard_lease_s=5.0) as one,
            local(stores[1], holder="two", shard_lease_s=5.0) as two,
        ):
            homes = [one, two]

            async def fair() -> bool:
                return all(home.engine.shards.mine() for home in homes)

            await until(fair)
            yield homes
    finally:
        for store in {id(one): one for one in stores}.values():
            await store.close()


async def _comes(home: Home, name: str) -> Taken:
    kept = home.engine.triggers.registry.get("default", "orders")
    assert kept is not None
    return await home.engine.triggers.intake.take(kept, Occurrence({"kind": "webhook"}, name))


async def _started(home: Home, name: str) -> list[str]:
    page = await home.engine.store.executions(ExecutionFilter(playbook=name), limit=500)
    return [one.row.labels.get("petra/event", one.row.id) for one in page.rows]


async def _knows(home: Home, name: str) -> bool:
    return home.engine.triggers.registry.get("default", name) is not None


@pytest.mark.slow
def test_two_servers_that_get_the_same_events_at_once_start_each_once(
    two_stores: Callable[[], Awaitable[list[Store]]],
) -> None:
    async def scenario() -> None:
        async with _two(await two_stores()) as homes:
            await homes[0].desk.apply(WHO, [playbook(REST, "ship")])
            await DeskTriggers(homes[0].engine).apply(WHO, a_trigger(HOOK))
            await until(lambda: _knows(homes[1], "orders"))
            names = [f"e{number}" for number in range(20)]
            taken = await asyncio.gather(
                *(_comes(home, name) for name in names for home in homes for _ in range(2))
            )
            states = [one.state for one in taken]
            assert (states.count("started"), states.count("duplicate")) == (20, 60)
            assert sorted(await _started(homes[1], "ship")) == sorted(names)

    asyncio.run(scenario())


def test_ends_are_dealt_with_once_whichever_server_decides_them(
    two_stores: Callable[[], Awaitable[list[Store]]],
) -> None:
    async def scenario() -> None:
        async with _two(await two_stores()) as homes:
            books = [playbook(REST, name) for name in ("ship", "bill")]
            await homes[0].desk.apply(WHO, books)
            after = a_trigger("playbook: bill\non: {playbook: ship}\n", "bills")
            await DeskTriggers(homes[1].engine).apply(WHO, after)
            await until(lambda: _knows(homes[0], "bills"))
            ids = [home.desk.new_id() for home in homes for _ in range(8)]
            await asyncio.gather(
                *(
                    homes[n % 2].desk.begin(WHO, books[0], {}, execution=one)
                    for n, one in enumerate(ids)
                )
            )

            async def all_billed() -> bool:
                return len(await _started(homes[0], "bill")) >= len(ids)

            await until(all_billed)
            assert sorted(await _started(homes[0], "bill")) == sorted(ids)

    asyncio.run(scenario())
