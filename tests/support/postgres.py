"""One PostgreSQL for all tests of a process, a database for each."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator

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


async def _lay_out(address: str) -> None:
    from petra.store.postgres import PostgresStore  # noqa: PLC0415 - most runs have no use for it

    store = await PostgresStore.open(address)
    await store.close()
