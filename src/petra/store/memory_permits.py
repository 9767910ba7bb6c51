"""Permits in memory: the reference of that part of the protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from petra.store.permits import AHEAD_MAX, LINES_MAX, SHOWN
from petra.store.rows import AheadRow, LineCount, LineMoved, LineName, LineRow, PermitRow

_IN_USE = ("held", "leaving")


class MemoryPermits:
    """See ``petra.store.permits``."""

    def __init__(self) -> None:
        self._rows: dict[str, PermitRow] = {}
        self._recent: dict[LineName, bytes] = {}

    def change(self, asked: Iterable[PermitRow], returned: Iterable[str]) -> None:
        """Keep what is asked for, and forget what is given back; one that is there stays as it is."""
        for row in asked:
            self._rows.setdefault(row.id, row)
        for name in returned:
            self._rows.pop(name, None)

    def move(self, moved: LineMoved) -> None:
        """Store what was decided about a line."""
        for name, state in moved.states:
            known = self._rows.get(name)
            if known is not None:
                self._rows[name] = msgspec.structs.replace(known, state=state)
        if moved.recent is not None:
            self._recent[moved.line] = moved.recent

    async def waited_for(self, *, shards: Collection[int] | None = None) -> list[LineName]:
        """Return the lines in which somebody waits."""
        lines = {row.line for row in self._rows.values() if row.state == "waiting"}
        return sorted(line for line in lines if shards is None or line.shard in shards)

    async def line(self, name: LineName, *, most: int = SHOWN) -> LineRow:
        """Return a line."""
        rows = [row for row in self._rows.values() if row.line == name]
        rows.sort(key=lambda row: (row.rank, row.id))
        holders = [row for row in rows if row.state in _IN_USE]
        queue = [row for row in rows if row.state == "waiting"]
        return LineRow(
            used=sum(row.units for row in holders), waiting=len(queue), holders=tuple(holders[:most]),
            queue=tuple(queue[:most]), recent=self._recent.get(name, b""),
        )  # fmt: skip

    async def of(self, execution: str) -> list[PermitRow]:
        """Return what an execution holds and waits for."""
        permits = (row for row in self._rows.values() if row.execution == execution)
        return sorted(permits, key=lambda row: row.id)

    async def ahead(self, permit: PermitRow) -> int:
        """Count those who wait in front of one."""
        place = (permit.rank, permit.id)
        return sum(
            row.state == "waiting" and row.line == permit.line and (row.rank, row.id) < place
            for row in self._rows.values()
        )

    async def places(
        self, executions: Collection[str], namespace: str, *, most: int = AHEAD_MAX
    ) -> list[AheadRow]:
        """Return how many wait in front of some executions."""
        first: dict[str, PermitRow] = {}
        for row in sorted(self._rows.values(), key=lambda row: (row.step != "", row.rank, row.id)):
            known = row.execution in executions and row.namespace == namespace
            if known and row.state == "waiting":
                first.setdefault(row.execution, row)
        return [
            AheadRow(execution=execution, line=first[execution].line, ahead=min(most, await self.ahead(first[execution])))
            for execution in sorted(first)
        ]  # fmt: skip

    async def totals(self) -> list[LineCount]:
        """Return how full all limits are, over all keys."""
        rows = _counted(msgspec.structs.replace(row, key="") for row in self._rows.values())
        return sorted(rows, key=lambda row: row.line)

    async def lines(self, namespace: str, limit: str | None = None) -> list[LineCount]:
        """Return how full the lines of a namespace are."""
        rows = _counted(
            row
            for row in self._rows.values()
            if row.namespace == namespace and limit in (None, row.limit)
        )
        return sorted(rows, key=lambda row: (-row.waiting, row.line))[:LINES_MAX]


def _counted(rows: Iterable[PermitRow]) -> list[LineCount]:
    lines: dict[LineName, list[int]] = {}
    for row in rows:
        counts = lines.setdefault(row.line, [0, 0])
        counts[0] += row.units if row.state in _IN_USE else 0
        counts[1] += row.state == "waiting"
    return [LineCount(line=name, used=u, waiting=w) for name, (u, w) in lines.items()]
