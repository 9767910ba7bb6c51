"""The backlog: rows of what is out with workers, for offers that had no room in memory."""

from __future__ import annotations

from petra.engine.packed import PackedRows
from petra.engine.scope import Scope
from petra.engine.shards import Shards
from petra.store.base import Store
from petra.store.errors import UnavailableError
from petra.store.rows import PendingRow


class Backlog:
    """What is out, as the store has it."""

    def __init__(self, store: Store, shards: Shards, scope: Scope) -> None:
        self._store = store
        self._shards = shards
        self._scope = scope
        self.lost = PackedRows()
        """Deliveries of an engine that died, which are to be decided about first (``petra.engine.recovery``)."""

    async def behind(self, after: tuple[str, str, str]) -> list[PendingRow]:
        """Return a page of what is out, behind a row.

        Raises:
            UnavailableError: the store is away, or lost deliveries are among it.
        """
        if self.lost:
            raise UnavailableError("deliveries that were lost are not decided about yet")
        rows = await self._store.pending(shards=self._shards.mine(), after=after)
        return [row for row in rows if self._scope.holds(row.execution)]
