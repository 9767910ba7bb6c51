"""The PostgreSQL of the tests of stores serves those of faults too."""

from __future__ import annotations

from store.conftest import cluster, new_database

__all__ = ["cluster", "new_database"]
