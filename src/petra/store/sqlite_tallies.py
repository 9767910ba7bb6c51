"""Tallies of executions in SQLite: notes of what changed are added up, a piece at a time."""

from __future__ import annotations

import apsw

from petra.store import tallies
from petra.store.queries import load_queries

_SQL = load_queries("sqlite")


def is_behind(connection: apsw.Connection) -> bool:
    """Tell whether there are so many notes that counts would be slow."""
    most = tallies.BEHIND
    return bool(connection.execute(_SQL["tally_notes_counted"], {"most": most}).get == most)


def add_some(connection: apsw.Connection) -> bool:
    """Add some notes to the tallies; tell whether there may be more."""
    count, upto = connection.execute(_SQL["tally_notes_first"], {"most": tallies.PIECE}).get
    if count:
        connection.execute(_SQL["add_to_tallies"], {"upto": upto})
        connection.execute(_SQL["forget_empty_tallies"])
        connection.execute(_SQL["forget_tally_notes"], {"upto": upto})
    return bool(count == tallies.PIECE)
