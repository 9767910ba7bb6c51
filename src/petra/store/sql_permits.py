"""Permits in a database that is asked in SQL: what all of them answer alike, by queries of the same names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from petra.store.permits import AHEAD_MAX, LINES_MAX, permit_of
from petra.store.queries import Fetch
from petra.store.rows import AheadRow, LineCount, LineName, LineRow, PermitRow


class SqlPermits:
    """See ``petra.store.permits``."""

    def __init__(self, fetch: Fetch, as_list: Callable[[list[Any]], object]) -> None:
        """Make one; ``as_list`` gives a list the form in which the database takes it."""
        self._fetch = fetch
        self._as_list = as_list

    async def waited_for(self, *, shards: Collection[int] | None = None) -> list[LineName]:
        """Return the lines in which somebody waits."""
        mine = None if shards is None else self._as_list(sorted(shards))
        return [_name(*row) for row in await self._fetch("waited_for", mine)]

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
        asked = self._as_list(sorted(executions))
        rows = await self._fetch("places", asked, namespace, most)
        return [_ahead(namespace, *row) for row in rows]

    async def lines(self, namespace: str, limit: str | None = None) -> list[LineCount]:
        """Return how full the lines of a namespace are."""
        rows = await self._fetch("lines", namespace, limit, LINES_MAX)
        return [_count(namespace, *row) for row in rows]

    async def totals(self) -> list[LineCount]:
        """Return how full all limits are, over all keys."""
        return [_count(*row) for row in await self._fetch("limit_totals")]


# Rows as the databases give them back


def line_row(counts: Sequence[Any], holders: Sequence[Any], queue: Sequence[Any]) -> LineRow:
    """Read a line: what is counted of it, who is in, and who waits."""
    return LineRow(
        used=counts[0], waiting=counts[1], holders=tuple(map(permit_of, holders)),
        queue=tuple(map(permit_of, queue)), recent=counts[2],
    )  # fmt: skip


def _name(namespace: str, limit: str, key: str) -> LineName:
    return LineName(namespace=namespace, limit=limit, key=key)


def _count(namespace: str, limit: str, key: str, used: int, waiting: int) -> LineCount:
    return LineCount(line=_name(namespace, limit, key), used=used, waiting=waiting)


def _ahead(namespace: str, execution: str, limit: str, key: str, ahead: int) -> AheadRow:
    return AheadRow(execution=execution, line=_name(namespace, limit, key), ahead=ahead)
