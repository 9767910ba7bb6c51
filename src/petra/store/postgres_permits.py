"""Permits in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from petra.store.permits import SHOWN
from petra.store.queries import Fetch, load_queries
from petra.store.rows import LineMoved, LineName, LineRow
from petra.store.sql_permits import SqlPermits, line_row

_SQL = load_queries("postgres")


class PostgresPermits(SqlPermits):
    """See ``petra.store.permits``."""

    def __init__(self, fetch: Fetch) -> None:
        super().__init__(fetch, as_list=list)

    async def line(self, name: LineName, *, most: int = SHOWN) -> LineRow:
        """Return a line; one that gives permits out alone reads what only it can make more of."""
        place = (name.namespace, name.limit, name.key)
        (counts,) = await self._fetch("line_counts", *place)
        holders = await self._fetch("line_holders", *place, most)
        queue = await self._fetch("line_queue", *place, most)
        return line_row(counts, holders, queue)


async def move_lines(connection: Any, moved: Collection[LineMoved]) -> None:
    """Store what was decided about lines; permits are locked in one order, as by those who give them back."""
    states = sorted(pair for move in moved for pair in move.states)
    if states:
        names, words = [name for name, _ in states], [state for _, state in states]
        await connection.execute(_SQL["move_permits"], names, words)
    for move in sorted(moved, key=lambda move: move.line):
        if move.recent is not None:
            place = (move.line.namespace, move.line.limit, move.line.key)
            await connection.execute(_SQL["set_recent"], *place, move.recent)
