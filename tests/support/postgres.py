"""One PostgreSQL for all tests of a process, and databases in it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from support.database import Database


@pytest.fixture(scope="session")
def cluster() -> Iterator[Database]:
    database = Database(fsync=False)
    yield database
    database.remove()


@pytest.fixture(scope="session")
def empty_database(cluster: Database) -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: cluster.make(f"empty{next(numbers)}")


@pytest.fixture(scope="session")
def new_database(cluster: Database) -> Callable[[], str]:
    """Make databases that have the tables of a store, and nothing in them: to lay them out takes longer than most tests."""
    asyncio.run(_lay_out(cluster.make("laid_out")))
    numbers = itertools.count(1)
    return lambda: cluster.make(f"test{next(numbers)}", "laid_out")


@pytest.fixture(scope="session")
def databases(new_database: Callable[[], str]) -> Databases:
    return Databases(new_database)


@pytest.fixture
def database(databases: Databases) -> Iterator[str]:
    """The address of a database that has the tables of a store, and nothing in them, for one test alone."""
    with databases.one() as address:
        yield address


async def _lay_out(address: str) -> None:
    from petra.store.postgres import PostgresStore  # noqa: PLC0415 - most runs have no use for it

    store = await PostgresStore.open(address)
    await store.close()


class Databases:
    """Databases that are cleaned after use: to make one takes longer, and nine megabytes of memory."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make
        self._free: list[str] = []
        self._tables: set[str] | None = None

    @contextmanager
    def one(self) -> Iterator[str]:
        address = self._free.pop() if self._free else self._make()
        if self._tables is None:
            self._tables = asyncio.run(_tables(address))
        yield address
        if asyncio.run(_cleaned(address)) == self._tables:
            self._free.append(address)  # else somebody changed more than rows, and nobody gets it


_TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"

_LEAVE = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

# Emptied are those in which something was ever written; a table keeps its blocks when its rows are gone.
_EMPTY = """
DO $$
DECLARE written text;
BEGIN
  SELECT string_agg(quote_ident(relname), ', ') INTO written FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'migrations' AND pg_relation_size(oid) > 0;
  IF written IS NOT NULL THEN EXECUTE 'TRUNCATE ' || written || ' RESTART IDENTITY CASCADE'; END IF;
END $$
"""


async def _tables(address: str) -> set[str]:
    return await _asked(address)


async def _cleaned(address: str) -> set[str]:
    """End who is still there, and leave no row; return what tables and indexes there are."""
    return await _asked(address, _LEAVE, _EMPTY)


async def _asked(address: str, *before: str) -> set[str]:
    import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415 - most runs have no use for it

    connection = await asyncpg.connect(address)
    try:
        for statement in before:
            await connection.execute(statement)
        return {row["relname"] for row in await connection.fetch(_TABLES)}
    finally:
        await connection.close()
