"""The store is away for half a minute, in virtual time: nothing is lost, and whoever asks is told to come again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import httpx2
from engine_support import chain, local
from server.standing import standing
from support.clocks import FakeClock, settle

from petra.engine.limits import SHARD_LEASE_S
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
                    assert "petra_store_up 0" in (await client.get("/metrics")).text
                assert not under_way.done()
                away = False
                assert (await clock.run(under_way)).refused == ""
                assert (await client.get("/readyz")).status_code == 200
                assert "petra_store_up 1" in (await client.get("/metrics")).text
                listed = await client.get("/api/v1/executions")
                assert [one["id"] for one in listed.json()["items"]] == ["e"]
            assert sum(row.type == "execution.started" for row in await store.read("e")) == 1

    asyncio.run(scenario())


def test_while_the_store_is_silent_nobody_waits_for_it(tmp_path: Path) -> None:
    """A database that is frozen, or a way to it that is cut, gives no answer, not even a bad one."""

    async def scenario() -> None:
        clock, silent, back = FakeClock(), False, asyncio.Event()

        def plan(_name: str, _: int) -> StoreFault | None:
            return StoreFault.DELAY if silent else None

        store: Any = FaultyStore(
            cast("Store", MemoryStore(clock=clock.now)), plan, pause=lambda: waited(back)
        )
        async with (
            local(cast("Store", store), clock=clock, holder="one") as home,
            standing(home, tmp_path, clock) as (_, client),
        ):
            silent = True
            said: list[dict[str, Any]] = []
            asked = asyncio.create_task(call(client, "GET", "/api/v1/executions", said))
            await settle()
            assert said == []
            await clock.advance(SHARD_LEASE_S + 1)
            await settle()
            assert [one.get("status") for one in said] == [503, None]
            assert (b"retry-after", b"1") in said[0]["headers"]
            assert not asked.done(), "what was begun goes on"
            for path in ("/readyz", "/api/v1/executions", "/hooks/x"):
                found = await client.get(path)
                assert (found.status_code, found.json()["code"]) == (503, "unavailable"), path
                assert int(found.headers["Retry-After"]) > 0
            log_in = await client.post("/api/v1/session", json={"code": "x"})
            assert log_in.status_code == 503, "nothing can be noted"
            assert (await client.get("/livez")).status_code == 200
            assert "petra_store_up 0" in (await client.get("/metrics")).text
            silent = False
            back.set()
            await clock.run(asked)
            assert len(said) == 2, "the late answer is for nobody"
            await clock.advance(SHARD_LEASE_S)
            assert (await client.get("/api/v1/executions")).status_code == 200

    asyncio.run(scenario())


async def waited(event: asyncio.Event) -> None:
    await event.wait()


async def call(
    client: httpx2.AsyncClient, method: str, path: str, said: list[dict[str, Any]]
) -> None:
    """Ask as a server does: what is sent is heard at once, not when everything is over."""
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "http_version": "1.1",
        "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1), "root_path": "",
        "headers": [(b"authorization", client.headers["authorization"].encode())],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    app: Any = client._transport.app  # type: ignore[attr-defined]
    await app(scope, receive, send)
