"""Hostile cases run on a file, and on a PostgreSQL when there is time."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> str:
    """Which store a case runs on: ``sqlite``, or the address of an empty database."""
    if request.param == "postgres":
        return str(request.getfixturevalue("database"))
    return str(request.param)
