"""Events that arrived at triggers: what waits to be started, what was, and what could not be (S24).

Rule 1: an arrival comes into being with its cause, in one transaction: the execution that it starts, or the one that ended.
Rule 2: its id follows from its trigger and its key; one that is there stays as it is. So an event is dealt with once.
Rule 3: what waits is never forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from petra.store.rows import ArrivalFilter, ArrivalRow, Page, shard_of

ARRIVALS_MAX = 100
"""So many are listed at once, unless told."""
UNSETTLED = frozenset({"waiting", "dead"})
"""States that have an index of their own: few are in them."""
COLUMNS = (
    "id", "namespace", "trigger", "key", "due", "created", "updated", "body", "state", "execution", "attempts", "error",
    "until",
)  # fmt: skip


class Arrivals(Protocol):
    """The part of a store that knows which events arrived."""

    async def add(self, rows: Sequence[ArrivalRow]) -> None:
        """Store new ones, durably; one that is there stays as it is."""

    async def arrival(self, name: str) -> ArrivalRow | None:
        """Return one, or None."""

    async def known(self, names: Collection[str]) -> set[str]:
        """Return those of some ids that are there."""

    async def due(
        self, until: float, *, shards: Collection[int] | None = None, limit: int = ARRIVALS_MAX
    ) -> list[ArrivalRow]:
        """List those that wait and are due by then, the earliest first."""

    async def settle(self, rows: Sequence[ArrivalRow]) -> None:
        """Store what became of some: state, execution, due, attempts, error, updated, until, body. All of it, durably."""

    async def arrivals(
        self, wanted: ArrivalFilter, *, cursor: str | None = None, limit: int = ARRIVALS_MAX
    ) -> Page[ArrivalRow]:
        """List them, the latest first."""

    async def dead(self, namespace: str) -> dict[str, int]:
        """Count the dead ones of a namespace by trigger."""

    async def forget(self, before: float) -> int:
        """Delete those whose time is over by then; return how many."""


def arrival_of(row: Sequence[Any]) -> ArrivalRow:
    """Read one as the databases give it back."""
    return ArrivalRow(**dict(zip(COLUMNS, row, strict=True)))


def arrival_columns(row: ArrivalRow) -> tuple[Any, ...]:
    """Return one as the databases take it: its columns, then its shard."""
    return (*(getattr(row, name) for name in COLUMNS), shard_of(row.id))


def settled_arrival(row: ArrivalRow) -> tuple[Any, ...]:
    """Return what became of one, as the databases take it."""
    return (
        row.id, row.state, row.execution, row.due, row.attempts, row.error, row.updated, row.until, row.body
    )  # fmt: skip
