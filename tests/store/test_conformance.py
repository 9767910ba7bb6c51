"""Every claim of the conformance suite, on every store."""

from __future__ import annotations

from pathlib import Path

import pytest
from store.stores import OpenStore, in_a_file, in_memory, in_postgres, run_with

from petra.testing.store_conformance import CLAIMS, Claim


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    match request.param:
        case "memory":
            return in_memory()
        case "sqlite":
            return in_a_file(tmp_path)
        case _:
            return in_postgres(request.getfixturevalue("database"))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_a_store_keeps_its_word(claim: Claim, open_store: OpenStore) -> None:
    run_with(open_store, claim)
