"""Permits in SQLite."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import apsw
import msgspec

from petra.store.permits import AHEAD_MAX, LINES_MAX, SHOWN, permit_of
from petra.store.queries import load_queries
from petra.store.rows import AheadRow, LineCount, LineMoved, LineName, LineRow, PermitRow
from petra.store.sqlite_accounts import Run

_SQL = load_queries("sqlite")


class SqlitePermits:
    """See ``petra.store.permits``."""

    def __init__(self, read: Run) -> None:
        self._read = read

    async def _fetch(self, query: str, *given: object) -> list[Any]:
        rows: list[Any] = await self._read(lambda c: c.execute(_SQL[query], given).fetchall())
        return rows

    async def waited_for(self, *, shards: Collection[int] | None = None) -> list[LineName]:
        """Return the lines in which somebody waits."""
        mine = None if shards is None else msgspec.json.encode(sorted(shards)).decode()
        return [LineName(namespace=n, limit=x, key=k) for n, x, k in await self._fetch("waited_for", mine)]  # fmt: skip

    async def line(self, name: LineName, *, most: int = SHOWN) -> LineRow:
        """Return a line."""
        place = (name.namespace, name.limit, name.key)

        def work(connection: apsw.Connection) -> LineRow:
            counts: Any = connection.execute(_SQL["line_counts"], place).fetchall()[0]
            holders = connection.execute(_SQL["line_holders"], (*place, most)).fetchall()
            queue = connection.execute(_SQL["line_queue"], (*place, most)).fetchall()
            return LineRow(
                used=counts[0], waiting=counts[1], holders=tuple(map(permit_of, holders)),
                queue=tuple(map(permit_of, queue)), recent=counts[2],
            )  # fmt: skip

        return await self._read(work)

    async def of(self, execution: str) -> list[PermitRow]:
        """Return what an execution holds and waits for."""
        return [permit_of(row) for row in await self._fetch("permits_of", execution)]

    async def ahead(self, permit: PermitRow) -> int:
        """Count those who wait in front of one."""
        place = (permit.namespace, permit.limit, permit.key, permit.rank, permit.id)
        return int((await self._fetch("permits_ahead", *place))[0][0])

    async def places(
        self, executions: Collection[str], namespace: str, *, most: int = AHEAD_MAX
    ) -> list[AheadRow]:
        """Return how many wait in front of some executions."""
        asked = msgspec.json.encode(sorted(executions)).decode()
        return [ahead_row(namespace, *row) for row in await self._fetch("places", asked, namespace, most)]  # fmt: skip

    async def lines(self, namespace: str, limit: str | None = None) -> list[LineCount]:
        """Return how full the lines of a namespace are."""
        rows = await self._fetch("lines", namespace, limit, LINES_MAX)
        return [line_count(namespace, *row) for row in rows]

    async def totals(self) -> list[LineCount]:
        """Return how full all limits are, over all keys."""
        return [line_count(*row) for row in await self._fetch("limit_totals")]


def ahead_row(namespace: str, execution: str, limit: str, key: str, ahead: int) -> AheadRow:
    """Read how many stand in front as the databases give it back."""
    name = LineName(namespace=namespace, limit=limit, key=key)
    return AheadRow(execution=execution, line=name, ahead=ahead)


def line_count(namespace: str, limit: str, key: str, used: int, waiting: int) -> LineCount:
    """Read a count of a line as the databases give it back."""
    name = LineName(namespace=namespace, limit=limit, key=key)
    return LineCount(line=name, used=used, waiting=waiting)


def move_lines(connection: apsw.Connection, moved: Collection[LineMoved]) -> None:
    """Store what was decided about lines."""
    for one in moved:
        states = [(state, name) for name, state in one.states]
        connection.executemany(_SQL["move_permit"], states)
        if one.recent is not None:
            place = (one.line.namespace, one.line.limit, one.line.key)
            connection.execute(_SQL["set_recent"], (*place, one.recent))
