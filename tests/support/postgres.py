"""One PostgreSQL for all tests of a process, an empty database for each."""

from __future__ import annotations

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
def new_database(cluster: Database) -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: cluster.make(f"test{next(numbers)}")
