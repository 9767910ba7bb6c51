"""The store is away for half a minute, in virtual time: nothing is lost, and whoever asks is told to come again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from engine_support import chain, local
from server.standing import standing
from support.clocks import FakeClock, settle

from petra.store.base import Store
from petra.store.memory import MemoryStore
from petra.testing.store_faults import FaultyStore, StoreFault

AWAY_S = 30.0


def test_while_the_store_is_away_it_is_not_ready_and_nothing_is_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock, away = FakeClock(), False

        def plan(name: str, _: int) -> StoreFault | None:
            lost = StoreFault.AFTER if name == "commit" else StoreFault.BEFORE
            return lost if away else None

        store: Any = FaultyStore(cast("Store", MemoryStore(clock=clock.now)), plan)
        async with local(cast("Store", store), clock=clock) as home:
            async with standing(home, tmp_path, clock) as (_, client):
                assert (await client.get("/readyz")).status_code == 200
                away = True
                under_way = asyncio.create_task(
                    home.engine.start(chain(1), execution="e", allow_unsound=True)
                )
                await settle()
                for _ in range(3):
                    await clock.advance(AWAY_S / 3)
                    for found in (
                        await client.get("/readyz"),
                        await client.get("/api/v1/executions"),
                    ):
                        assert found.status_code == 503
                        assert int(found.headers["Retry-After"]) > 0
                        assert found.json()["code"] == "unavailable"
                    assert (await client.get("/livez")).status_code == 200
                assert not under_way.done()
                away = False
                assert (await clock.run(under_way)).refused == ""
                assert (await client.get("/readyz")).status_code == 200
                listed = await client.get("/api/v1/executions")
                assert [one["id"] for one in listed.json()["items"]] == ["e"]
            assert sum(row.type == "execution.started" for row in await store.read("e")) == 1

    asyncio.run(scenario())
