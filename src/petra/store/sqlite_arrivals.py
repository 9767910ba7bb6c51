"""Arrivals in SQLite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import apsw
import msgspec

from petra.store.arrivals import (
    ARRIVALS_MAX,
    UNSETTLED,
    arrival_columns,
    arrival_of,
    settled_arrival,
)
from petra.store.judge import read_cursor
from petra.store.paging import latest_first
from petra.store.queries import load_queries
from petra.store.rows import ArrivalFilter, ArrivalRow, Page
from petra.store.sqlite_accounts import Run

_SQL = load_queries("sqlite")


class SqliteArrivals:
    """See ``petra.store.arrivals``."""

    def __init__(self, read: Run, write: Run) -> None:
        self._read = read
        self._write = write

    async def _rows(self, query: str, **given: object) -> list[Any]:
        return await self._read(lambda c: c.execute(_SQL[query], given).fetchall())

    async def _many(self, query: str, rows: Sequence[tuple[Any, ...]]) -> None:
        def work(connection: apsw.Connection) -> None:
            connection.executemany(_SQL[query], rows)

        await self._write(work)

    async def add(self, rows: Sequence[ArrivalRow]) -> None:
        """Store new ones."""
        await self._many("insert_arrival", [arrival_columns(row) for row in rows])

    async def arrival(self, name: str) -> ArrivalRow | None:
        """Return one, or None."""
        rows = await self._rows("arrival", id=name)
        return arrival_of(rows[0]) if rows else None

    async def known(self, names: Collection[str]) -> set[str]:
        """Return those of some ids that are there."""
        ids = msgspec.json.encode(list(names)).decode()
        return {name for (name,) in await self._rows("known_arrivals", ids=ids)}

    async def due(
        self, until: float, *, shards: Collection[int] | None = None, limit: int = ARRIVALS_MAX
    ) -> list[ArrivalRow]:
        """List those that wait and are due by then."""
        mine = None if shards is None else msgspec.json.encode(sorted(shards)).decode()
        rows = await self._rows("due_arrivals", until=until, shards=mine, limit=limit)
        return [arrival_of(row) for row in rows]

    async def settle(self, rows: Sequence[ArrivalRow]) -> None:
        """Store what became of some."""
        await self._many("settle_arrival", [settled_arrival(row) for row in rows])

    async def arrivals(
        self, wanted: ArrivalFilter, *, cursor: str | None = None, limit: int = ARRIVALS_MAX
    ) -> Page[ArrivalRow]:
        """List them, the latest first."""
        created, name = read_cursor(cursor, tuple[float, str]) if cursor else (None, "")
        conditions = [
            f"{key} = :{key}"
            for key, value in msgspec.structs.asdict(wanted).items()
            if value is not None
        ]
        if wanted.state in UNSETTLED:
            conditions.append(_SQL["arrivals_unsettled"])  # by which its index is known again
        if cursor:
            conditions.append("(created, id) < (:created, :name)")
        sql = _SQL["arrivals"].format(where=" AND ".join(conditions))
        values = {
            **msgspec.structs.asdict(wanted),
            "created": created,
            "name": name,
            "limit": limit + 1,
        }
        rows: list[Any] = await self._read(lambda c: c.execute(sql, values).fetchall())
        return latest_first([arrival_of(row) for row in rows], limit)

    async def dead(self, namespace: str) -> dict[str, int]:
        """Count the dead ones of a namespace by trigger."""
        return dict(await self._rows("dead_arrivals", namespace=namespace))

    async def forget(self, before: float) -> int:
        """Delete those whose time is over."""

        def work(connection: apsw.Connection) -> int:
            connection.execute(_SQL["forget_arrivals"], (before,))
            return connection.changes()

        return await self._write(work)
