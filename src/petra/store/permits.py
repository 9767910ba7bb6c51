"""Permits: what executions ask of limits, hold, and give back (S15).

Rule 1: a permit is asked for and given back by the change of its execution that is the cause, in the same transaction. So
whoever dies, and however an execution ends, none is lost and none stays behind.
Rule 2: those of one limit and key stand in one line, and the owner of its shard alone gives permits out: others
only ask and give back. So no number of engines exceeds a limit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from petra.store.rows import AheadRow, LineCount, LineName, LineRow, PermitRow

SHOWN = 100
"""So many of those who hold and of those who wait are read, unless told."""
LINES_MAX = 1_000
"""So many lines are listed."""
AHEAD_MAX = 1_000
"""So many who stand in front are counted for a list."""
COLUMNS = (
    "id", "execution", "limit", "rank", "asked", "key", "units", "most", "on_limit", "state", "parent", "step",
    "namespace",
)  # fmt: skip


class Permits(Protocol):
    """The part of a store that knows who holds what, and who waits for it."""

    async def waited_for(self, *, shards: Collection[int] | None = None) -> list[LineName]:
        """Return the lines in which somebody waits, in order."""

    async def line(self, name: LineName, *, most: int = SHOWN) -> LineRow:
        """Return a line: all its counts, and the first of those who hold and of those who wait."""

    async def of(self, execution: str) -> list[PermitRow]:
        """Return what an execution holds and waits for, by id."""

    async def ahead(self, permit: PermitRow) -> int:
        """Count those who wait in front of one."""

    async def places(
        self, executions: Collection[str], namespace: str, *, most: int = AHEAD_MAX
    ) -> list[AheadRow]:
        """Return how many wait in front of some executions, by id, ``most`` at most; of those that wait for nothing, none.

        One that waits in several lines stands in that of the whole execution, else in that of the step that is next.
        """

    async def lines(self, namespace: str, limit: str | None = None) -> list[LineCount]:
        """Return how full the lines of a namespace are, those in which most wait first; of all limits, or of one."""

    async def totals(self) -> list[LineCount]:
        """Return how much is in use of every limit and how many wait, over all keys, by namespace and limit."""


def permit_of(row: Sequence[Any]) -> PermitRow:
    """Read one as the databases give it back."""
    return PermitRow(**dict(zip(COLUMNS, row, strict=True)))


def permit_columns(row: PermitRow) -> tuple[Any, ...]:
    """Return one as the databases take it: its columns, then its shard."""
    return (*(getattr(row, name) for name in COLUMNS), row.line.shard)
