"""Permits in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from petra.store.permits import AHEAD_MAX, LINES_MAX, SHOWN, permit_of
from petra.store.postgres_accounts import Fetch
from petra.store.queries import load_queries
from petra.store.rows import AheadRow, LineCount, LineMoved, LineName, LineRow, PermitRow
from petra.store.sqlite_permits import ahead_row, line_count

_SQL = load_queries("postgres")


class PostgresPermits:
    """See ``petra.store.permits``."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    async def waited_for(self, *, shards: Collection[int] | None = None) -> list[LineName]:
        """Return the lines in which somebody waits."""
        rows = await self._fetch("waited_for", None if shards is None else sorted(shards))
        return [LineName(namespace=n, limit=x, key=k) for n, x, k in rows]

    async def line(self, name: LineName, *, most: int = SHOWN) -> LineRow:
        """Return a line; one that gives permits out alone reads what only it can make more of."""
        place = (name.namespace, name.limit, name.key)
        (counts,) = await self._fetch("line_counts", *place)
        holders = await self._fetch("line_holders", *place, most)
        queue = await self._fetch("line_queue", *place, most)
        return LineRow(
            used=counts[0], waiting=counts[1], holders=tuple(map(permit_of, holders)),
            queue=tuple(map(permit_of, queue)), recent=counts[2],
        )  # fmt: skip

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
        rows = await self._fetch("places", sorted(executions), namespace, most)
        return [ahead_row(namespace, *row) for row in rows]

    async def lines(self, namespace: str, limit: str | None = None) -> list[LineCount]:
        """Return how full the lines of a namespace are."""
        rows = await self._fetch("lines", namespace, limit, LINES_MAX)
        return [line_count(namespace, *row) for row in rows]

    async def totals(self) -> list[LineCount]:
        """Return how full all limits are, over all keys."""
        return [line_count(*row) for row in await self._fetch("limit_totals")]


async def move_lines(connection: Any, moved: Collection[LineMoved]) -> None:
    """Store what was decided about lines; permits are locked in one order, as by those who give them back."""
    states = sorted(pair for one in moved for pair in one.states)
    if states:
        names, words = [name for name, _ in states], [state for _, state in states]
        await connection.execute(_SQL["move_permits"], names, words)
    for one in sorted(moved, key=lambda one: one.line):
        if one.recent is not None:
            place = (one.line.namespace, one.line.limit, one.line.key)
            await connection.execute(_SQL["set_recent"], *place, one.recent)
