"""A real PostgreSQL for the tests of tools."""

from __future__ import annotations

import pytest
from support.database import Database


@pytest.fixture(scope="session")
def postgres_url(cluster: Database) -> str:
    """The address of the database ``postgres``, which no other tests use."""
    return cluster.dsn()
