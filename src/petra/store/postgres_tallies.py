"""Tallies of executions in PostgreSQL: notes of what changed are added up, a piece at a time, by one server at a time."""

from __future__ import annotations

from typing import Any

from petra.store import tallies
from petra.store.queries import Fetch, load_queries

_SQL = load_queries("postgres")


async def is_behind(fetch: Fetch) -> bool:
    """Tell whether there are so many notes that counts would be slow."""
    return bool((await fetch("tally_notes_counted", tallies.BEHIND))[0][0] == tallies.BEHIND)


async def add_some(connection: Any) -> bool:
    """Add some notes to the tallies, unless somebody does; tell whether there may be more."""
    if not await connection.fetchval(_SQL["tally_lock"]):
        return False
    count = await connection.fetchval(_SQL["add_to_tallies"], tallies.PIECE)
    await connection.execute(_SQL["forget_empty_tallies"])
    return bool(count == tallies.PIECE)
