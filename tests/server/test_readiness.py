"""When a server is ready: not before it has recovered, and not while it drains; that its store is away is in test_store_away."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import httpx2
from engine_support import chain, local
from server.standing import standing
from support.clocks import FakeClock, settle

from petra.engine import Engine
from petra.store.base import Store
from petra.store.memory import MemoryStore
from petra.testing.store_faults import FaultyStore, StoreFault


async def ready(client: httpx2.AsyncClient) -> tuple[int, str]:
    found = await client.get("/readyz")
    assert (await client.get("/livez")).status_code == 200
    if found.status_code != 200:
        assert found.json()["code"] == "unavailable"
        assert int(found.headers["Retry-After"]) > 0
    return found.status_code, found.json().get("detail", "")


def test_it_is_not_ready_until_what_the_last_one_lost_is_decided_about(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock, stuck = FakeClock(), True

        def plan(name: str, _: int) -> StoreFault | None:
            return StoreFault.BEFORE if stuck and name == "commit" else None

        kept = MemoryStore(clock=clock.now)
        async with Engine(kept, clock=clock) as engine:  # it dies with three runs out
            for name in ("a", "b", "c"):
                await engine.start(chain(1), execution=name, allow_unsound=True)
        store: Any = FaultyStore(cast("Store", kept), plan)
        async with local(cast("Store", store), clock=clock) as home:
            async with standing(home, tmp_path, clock) as (_, client):
                await settle()
                words = "it recovers: 3 runs are to be decided about"
                assert await ready(client) == (503, words)
                stuck = False
                done = [asyncio.create_task(home.rest(name)) for name in ("a", "b", "c")]
                await clock.run(asyncio.gather(*done))
                assert await ready(client) == (200, "")
            assert {one.result().status for one in done} == {"completed"}

    asyncio.run(scenario())


def test_it_is_not_ready_while_it_drains(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with (
            local(MemoryStore(clock=clock.now), clock=clock) as home,
            standing(home, tmp_path, clock) as (service, client),
        ):
            await settle()
            assert await ready(client) == (200, "")
            await service.close()
            assert await ready(client) == (503, "it is shutting down")

    asyncio.run(scenario())
