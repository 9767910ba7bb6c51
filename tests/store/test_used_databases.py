"""A database that a test has used is as good as new for the next one, or is given to nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import asyncpg  # type: ignore[import-untyped]
import pytest
from support.postgres import Databases

from petra.store import Batch
from petra.store.postgres import PostgresStore
from petra.testing.store_rows import make_start

pytestmark = pytest.mark.slow


async def streams(address: str) -> list[int]:
    connection = await asyncpg.connect(address)
    try:
        return [row["stream"] for row in await connection.fetch("SELECT stream FROM executions")]
    finally:
        await connection.close()


async def started(address: str) -> None:
    store = await PostgresStore.open(address)
    await store.commit(Batch(changes=(make_start("x"),)))
    await store.close()


def test_nothing_of_the_test_before_is_left(new_database: Callable[[], str]) -> None:
    databases, seen = Databases(new_database), []
    for _ in range(3):
        with databases.one() as address:
            assert asyncio.run(streams(address)) == []
            asyncio.run(started(address))
            seen.append((address, asyncio.run(streams(address))))
    assert seen == [seen[0]] * 3, "one database, whose numbers begin anew"


def test_who_is_still_there_is_shown_out(new_database: Callable[[], str]) -> None:
    databases = Databases(new_database)

    def leave() -> None:
        with databases.one():
            pass

    async def stays(address: str) -> None:
        connection = await asyncpg.connect(address)
        await connection.execute("BEGIN; LOCK TABLE executions; INSERT INTO doomed VALUES (7)")
        await asyncio.wait_for(asyncio.to_thread(leave), 60)
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
            await connection.fetch("SELECT 1")

    with databases.one() as address:
        pass
    asyncio.run(stays(address))


def test_where_a_table_came_or_went_nobody_comes_again(new_database: Callable[[], str]) -> None:
    databases = Databases(new_database)

    async def changed(address: str, how: str) -> None:
        connection = await asyncpg.connect(address)
        await connection.execute(how)
        await connection.close()

    addresses = []
    for how in ("CREATE TABLE mine ()", "DROP TABLE doomed", "SELECT 1", "SELECT 1"):
        with databases.one() as address:
            asyncio.run(changed(address, how))
            addresses.append(address)
    assert len(set(addresses)) == 3
    assert addresses[2] == addresses[3]
