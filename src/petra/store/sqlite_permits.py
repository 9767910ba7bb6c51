"""Permits in SQLite."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import apsw
import msgspec

from petra.store.permits import SHOWN
from petra.store.queries import load_queries
from petra.store.rows import LineMoved, LineName, LineRow
from petra.store.sql_permits import SqlPermits, line_row
from petra.store.sqlite_accounts import Run

_SQL = load_queries("sqlite")


class SqlitePermits(SqlPermits):
    """See ``petra.store.permits``."""

    def __init__(self, read: Run) -> None:
        async def fetch(query: str, /, *arguments: object) -> list[Any]:
            rows: list[Any] = await read(lambda c: c.execute(_SQL[query], arguments).fetchall())
            return rows

        super().__init__(fetch, as_list=lambda values: msgspec.json.encode(values).decode())
        self._read = read

    async def line(self, name: LineName, *, most: int = SHOWN) -> LineRow:
        """Return a line, as it is at one moment."""
        place = (name.namespace, name.limit, name.key)

        def work(connection: apsw.Connection) -> LineRow:
            counts: Any = connection.execute(_SQL["line_counts"], place).fetchall()[0]
            holders = connection.execute(_SQL["line_holders"], (*place, most)).fetchall()
            queue = connection.execute(_SQL["line_queue"], (*place, most)).fetchall()
            return line_row(counts, holders, queue)

        return await self._read(work)


def move_lines(connection: apsw.Connection, moved: Collection[LineMoved]) -> None:
    """Store what was decided about lines."""
    for move in moved:
        states = [(state, name) for name, state in move.states]
        connection.executemany(_SQL["move_permit"], states)
        if move.recent is not None:
            place = (move.line.namespace, move.line.limit, move.line.key)
            connection.execute(_SQL["set_recent"], (*place, move.recent))
