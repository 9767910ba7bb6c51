"""Arrivals in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from petra.store.arrivals import (
    ARRIVALS_MAX,
    UNSETTLED,
    arrival_columns,
    arrival_of,
    settled_arrival,
)
from petra.store.judge import read_cursor
from petra.store.paging import latest_first
from petra.store.postgres_accounts import Writing
from petra.store.queries import Fetch, load_queries
from petra.store.rows import ArrivalFilter, ArrivalRow, Page

_SQL = load_queries("postgres")


class PostgresArrivals:
    """See ``petra.store.arrivals``."""

    def __init__(self, fetch: Fetch, write: Writing) -> None:
        self._fetch = fetch
        self._write = write

    async def add(self, rows: Sequence[ArrivalRow]) -> None:
        """Store new ones."""
        if not rows:
            return
        columns = zip(*(arrival_columns(row) for row in _in_order(rows)), strict=True)
        arguments = [list(column) for column in columns]

        async def work(connection: Any) -> None:
            await connection.execute(_SQL["insert_arrivals"], *arguments)

        await self._write(work)

    async def arrival(self, name: str) -> ArrivalRow | None:
        """Return one, or None."""
        rows = await self._fetch("arrival", name)
        return arrival_of(rows[0]) if rows else None

    async def known(self, names: Collection[str]) -> set[str]:
        """Return those of some ids that are there."""
        return {row[0] for row in await self._fetch("known_arrivals", list(names))}

    async def due(
        self, until: float, *, shards: Collection[int] | None = None, limit: int = ARRIVALS_MAX
    ) -> list[ArrivalRow]:
        """List those that wait and are due by then."""
        mine = None if shards is None else sorted(shards)
        return [arrival_of(row) for row in await self._fetch("due_arrivals", until, mine, limit)]

    async def settle(self, rows: Sequence[ArrivalRow]) -> None:
        """Store what became of some."""
        arguments = [settled_arrival(row) for row in _in_order(rows)]

        async def work(connection: Any) -> None:
            await connection.executemany(_SQL["settle_arrival"], arguments)

        await self._write(work)

    async def arrivals(
        self, wanted: ArrivalFilter, *, cursor: str | None = None, limit: int = ARRIVALS_MAX
    ) -> Page[ArrivalRow]:
        """List them, the latest first."""
        created, name = read_cursor(cursor, tuple[float, str]) if cursor else (None, "")
        of = "arrivals" if wanted.trigger is None else "arrivals_of_trigger"
        rows = await self._fetch(
            "arrivals_unsettled" if wanted.state in UNSETTLED else of,
            wanted.namespace, wanted.trigger, wanted.state, created, name, limit + 1,
        )  # fmt: skip
        return latest_first([arrival_of(row) for row in rows], limit)

    async def dead(self, namespace: str) -> dict[str, int]:
        """Count the dead ones of a namespace by trigger."""
        return dict(await self._fetch("dead_arrivals", namespace))

    async def forget(self, before: float) -> int:
        """Delete those whose time is over."""

        async def work(connection: Any) -> int:
            return len(await connection.fetch(_SQL["forget_arrivals"], before))

        return await self._write(work)


def _in_order(rows: Sequence[ArrivalRow]) -> list[ArrivalRow]:
    """Two who write the same rows take them in the same order, and so never wait for each other in a circle."""
    return sorted(rows, key=lambda row: row.id)
