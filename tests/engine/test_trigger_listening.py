"""Notifications of a real PostgreSQL: heard, started once by their key, and what was missed is told (S24)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import pytest
from engine_support import playbook
from support.trigger_works import Keeper, eventually

from petra.desk import Desk, owner
from petra.desk.triggers import DeskTriggers
from petra.engine import Engine
from petra.playbook.documents import read_document
from petra.playbook.trigger import Trigger
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionFilter

pytestmark = pytest.mark.spec("S24")
WHO = owner("ada")
TEXT = """
apiVersion: petra/v1
kind: Trigger
metadata: {name: heard}
playbook: ship
postgres: {channel: orders, connection: shop-db}
key: "{{ event.payload.id }}"
workload: {id: "{{ event.payload.id }}"}
"""
REST = "  - step: rest\n    tool: {kind: wait, for_s: 0.01}\n"


@pytest.mark.slow
def test_what_is_heard_starts_executions_and_what_was_missed_is_told(
    new_database: Callable[[], str],
) -> None:
    asyncio.run(_scenario(new_database()))


async def _scenario(address: str) -> None:
    engine = Engine(MemoryStore(clock=lambda: 0.0), secrets=Keeper({"shop-db": address}))
    async with engine:
        desk, triggers = Desk(engine, engine.clock), DeskTriggers(engine)
        await desk.apply(WHO, [playbook(REST, "ship")])
        await triggers.apply(WHO, read_document(TEXT).checked_as(Trigger))

        async def watch() -> dict[str, Any]:
            return (await triggers.get(WHO, "heard"))["watch"] or {}

        async def listens() -> bool:
            found = await watch()
            return "listening_since" in found and not found["trouble"]

        async def started() -> int:
            return len((await engine.store.executions(ExecutionFilter(playbook="ship"))).rows)

        await eventually(listens)
        shop = await asyncpg.connect(address)
        for number in (1, 2, 2, 1):
            await shop.execute(f"SELECT pg_notify('orders', '{{\"id\": {number}}}')")
        await shop.execute("SELECT pg_notify('orders', 'no JSON')")
        await eventually(lambda: _is(started, 2))
        await eventually(lambda: _has_dead(triggers))
        assert (await watch())["missed"] == []
        before = (await watch())["listening_since"]
        await shop.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query ILIKE 'LISTEN%'"
        )

        async def back() -> bool:
            found = await watch()
            return found["listening_since"] > before and not found["trouble"]

        await eventually(back)
        [gap] = (await watch())["missed"]
        assert gap["since"] < gap["until"]
        await shop.execute("SELECT pg_notify('orders', '{\"id\": 3}')")
        await eventually(lambda: _is(started, 3))
        await shop.close()


async def _is(count: Callable[[], Awaitable[int]], number: int) -> bool:
    return await count() == number


async def _has_dead(triggers: DeskTriggers) -> bool:
    letters, _ = await triggers.dead(WHO, "heard")
    return len(letters) == 1
