"""What one listener to lists is told: how things stand at first, then what changes, as far as they may see it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import msgspec

from petra.desk.letting_in import concerns, narrowed
from petra.desk.now import doing_by_row
from petra.desk.principal import EVERYWHERE, May, Principal
from petra.engine.news import Gone, Lagged, Listed, News, Notice, Published, Topic
from petra.server.parameters import LOOKED_AT_MAX
from petra.server.resources.streams import stream_event
from petra.server.service import Service
from petra.server.shapes import playbook_item, row_data, work_item
from petra.server.worker_items import worker_items
from petra.store.errors import StoreError
from petra.store.judge import fits
from petra.store.rows import ExecutionFilter, ExecutionRow, WorkItemFilter, WorkItemRow

SNAPSHOT_ROWS: Final = 50
"""Rows of each list that a stream begins with."""
ITEMS_TOLD: Final = 1_000
"""Work items that a listener is remembered to know; that another one is gone they are not told."""
OPEN: Final = ("offered", "allocated", "started", "suspended")


class ListReader:
    """One who listens: what of, and what they know of it."""

    def __init__(
        self, service: Service, who: Principal, topics: frozenset[Topic], which: ExecutionFilter
    ) -> None:
        self.service = service
        self.who = who
        self.topics = topics
        self.which = which
        self._items: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.resumed = False
        """It goes on behind what it has: nobody knows which items it was told of before."""

    @property
    def may_resume(self) -> bool:
        """Whether what followed a cursor is all they need: whoever sees some items only may not know which went to others meanwhile."""
        return Topic.WORK_ITEMS not in self.topics or May.SEE in self.who.may

    # At first

    async def opening(self, cursor: str, *, anew: bool) -> bytes:
        """Return how things stand; or that they are to be read anew, for whoever has something already."""
        if not anew:
            try:
                return stream_event("snapshot", await self._snapshot(), cursor)
            except StoreError:
                pass  # it cannot be read now: whoever listens tries by themselves
        return stream_event("reset", {"lost": 0}, cursor)

    async def _snapshot(self) -> dict[str, Any]:
        store, lists = self.service.engine.store, dict[str, Any]()
        if Topic.EXECUTIONS in self.topics:
            page = await store.executions(self.which, limit=SNAPSHOT_ROWS, look_at=LOOKED_AT_MAX)
            lists["executions"] = [self._facts(entry.row, entry.version) for entry in page.rows]
        if Topic.WORK_ITEMS in self.topics:
            wanted = narrowed(self.who, WorkItemFilter(states=OPEN))
            rows = (await store.work_items(wanted, limit=SNAPSHOT_ROWS)).rows
            for row in rows:
                self._knows(row)
            lists["work_items"] = [work_item(row) for row in rows]
        if Topic.WORKERS in self.topics:
            lists["workers"] = worker_items(self.service.engine.custody, self.who.namespace)
        return lists

    def _facts(self, row: ExecutionRow, version: int = 0) -> dict[str, Any]:
        return row_data(row, self.service.doings.at_hand(row, version) or doing_by_row(row))

    # Then

    async def events_of(self, message: News, topic: Topic | None, cursor: str) -> list[bytes]:
        """Return what a message comes to for them: mostly one event, or none."""
        if isinstance(message, Gone):
            said = await self._deleted(message, topic)
        else:
            said = self._events_of(message)
        return [stream_event(name, data, cursor) for name, data in said]

    def _events_of(self, message: News) -> list[tuple[str, Any]]:
        match message:
            case Listed(row=WorkItemRow() as row):
                return self._item(row)
            case Listed(row=ExecutionRow() as row) if row.namespace == self.who.namespace:
                return self._execution(row)
            case Published(playbook=applied) if applied.namespace == self.who.namespace:
                return [("playbook.applied", playbook_item(applied))]
            case Notice():
                return [("worker.row", {"about": message.about, "text": message.text})]
            case Lagged(lost=lost):
                return [("reset", {"lost": lost})]
            case _:
                return []

    def _execution(self, row: ExecutionRow) -> list[tuple[str, Any]]:
        if fits(row, self.which):
            return [("execution.row", self._facts(row))]
        might = msgspec.structs.replace(self.which, statuses=(), text="")
        return [("execution.gone", {"id": row.id})] if fits(row, might) else []

    def _item(self, row: WorkItemRow) -> list[tuple[str, Any]]:
        if concerns(self.who, row):
            self._knows(row)
            return [("item.row", msgspec.to_builtins(work_item(row)))]
        name = row.execution, row.id
        if name not in self._items:  # they never knew of it, and do not now
            return []
        del self._items[name]
        return [("item.gone", {"execution": row.execution, "id": row.id})]

    def _knows(self, row: WorkItemRow) -> None:
        self._items[row.execution, row.id] = None
        self._items.move_to_end((row.execution, row.id))
        while len(self._items) > ITEMS_TOLD:
            self._items.popitem(last=False)

    async def _deleted(self, message: Gone, topic: Topic | None) -> list[tuple[str, Any]]:
        """An execution was deleted; of what namespace it was, nobody knows any more."""
        if topic is Topic.WORK_ITEMS:
            own = [name for name in self._items if name[0] == message.execution]
            for name in own:
                del self._items[name]
            if self.resumed:
                return [("reset", {"lost": 1})]
            return [("item.gone", {"execution": name[0], "id": name[1]}) for name in own]
        if await self._may_know():
            return [("execution.gone", {"id": message.execution})]
        return [("reset", {"lost": 1})]

    async def _may_know(self) -> bool:
        """Tell whether they may know of whatever is deleted."""
        everywhere = May.SEE in self.who.within(EVERYWHERE).may
        return everywhere or not await self.service.register.is_divided()
