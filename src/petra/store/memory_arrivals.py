"""Arrivals in memory: the reference of that part of the protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from petra.store.arrivals import ARRIVALS_MAX
from petra.store.judge import read_cursor
from petra.store.paging import latest_first
from petra.store.rows import ArrivalFilter, ArrivalRow, Page, shard_of


class MemoryArrivals:
    """See ``petra.store.arrivals``."""

    def __init__(self) -> None:
        self._rows: dict[str, ArrivalRow] = {}

    def keep(self, rows: Iterable[ArrivalRow]) -> None:
        """Keep new ones; one that is there stays as it is."""
        for row in rows:
            self._rows.setdefault(row.id, row)

    async def add(self, rows: Sequence[ArrivalRow]) -> None:
        """Store new ones."""
        self.keep(rows)

    async def arrival(self, name: str) -> ArrivalRow | None:
        """Return one, or None."""
        return self._rows.get(name)

    async def known(self, names: Collection[str]) -> set[str]:
        """Return those of some ids that are there."""
        return {name for name in names if name in self._rows}

    async def due(
        self, until: float, *, shards: Collection[int] | None = None, limit: int = ARRIVALS_MAX
    ) -> list[ArrivalRow]:
        """List those that wait and are due by then."""
        arrivals = [
            row
            for row in self._rows.values()
            if row.state == "waiting" and row.due <= until and (shards is None or shard_of(row.id) in shards)
        ]  # fmt: skip
        return sorted(arrivals, key=lambda row: (row.due, row.id))[:limit]

    async def settle(self, rows: Sequence[ArrivalRow]) -> None:
        """Store what became of some."""
        self._rows.update({row.id: row for row in rows if row.id in self._rows})

    async def arrivals(
        self, wanted: ArrivalFilter, *, cursor: str | None = None, limit: int = ARRIVALS_MAX
    ) -> Page[ArrivalRow]:
        """List them, the latest first."""
        behind = read_cursor(cursor, tuple[float, str]) if cursor is not None else None
        arrivals = [
            row
            for row in self._rows.values()
            if row.namespace == wanted.namespace
            and wanted.trigger in (None, row.trigger)
            and wanted.state in (None, row.state)
            and (behind is None or (row.created, row.id) < behind)
        ]
        arrivals.sort(key=lambda row: (row.created, row.id), reverse=True)
        return latest_first(arrivals, limit)

    async def dead(self, namespace: str) -> dict[str, int]:
        """Count the dead ones of a namespace by trigger."""
        rows = [r for r in self._rows.values() if r.state == "dead" and r.namespace == namespace]
        return dict(Counter(row.trigger for row in rows))

    async def forget(self, before: float) -> int:
        """Delete those whose time is over."""
        old = [r.id for r in self._rows.values() if r.until is not None and r.until < before]
        for name in old:
            del self._rows[name]
        return len(old)
