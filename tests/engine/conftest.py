"""The stores that engines are tested on; the PostgreSQL is that of the tests of stores."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> str:
    """Which store a test runs on: ``memory``, ``sqlite``, or the address of an empty database."""
    if request.param == "postgres":
        return str(request.getfixturevalue("database"))
    return str(request.param)
