"""The index for searches in SQLite: whoever searches has it brought up to date, nobody else pays for it.

Indexing an execution as it starts would take as long as storing it. So it is done beside what goes on, in pieces that hold up
nobody, once somebody has searched; what is killed half-way goes on from where it was.
"""

from __future__ import annotations

from typing import Final

import apsw

from petra.store.queries import load_queries

BEHIND: Final = 500
"""With so many executions that are not in the index it is brought up to date."""
PIECE: Final = 100
"""So many executions are indexed in one transaction: some 10 ms, in which nobody else writes."""

_SQL = load_queries("sqlite")


def is_behind(connection: apsw.Connection) -> bool:
    """Tell whether so much is not in the index that searches would be slow."""
    return bool(connection.execute(_SQL["unsearched_counted"], {"most": BEHIND}).get == BEHIND)


def index_some(connection: apsw.Connection) -> bool:
    """Put some executions into the index that are new or have changed; tell whether there may be more."""
    new = connection.execute(_SQL["unsearched_new"], {"most": PIECE}).fetchall()
    for stream, text in new:
        connection.execute(_SQL["note_searched"], (stream, text))
    if new:
        connection.execute(_SQL["searched_upto"], (new[-1][0],))
    changed = connection.execute(_SQL["unsearched_changed"], {"most": PIECE}).fetchall()
    for stream, text in changed:
        connection.execute(_SQL["forget_searched"], (stream,))
        connection.execute(_SQL["note_searched"], (stream, text))
        connection.execute(_SQL["searched_again"], (stream,))
    return max(len(new), len(changed)) == PIECE
