"""Listings: what lists show of executions that other engines act for, told here to those who listen to lists.

Rule 1: an engine whose lists are listened to says so now and then. Those who hear it tell the names of what changes: hints, small
and gathered for a moment. Nobody tells while nobody listens.
Rule 2: whoever hears a name reads its row from the store, and tells what stands there: the state decides, not the order of hints.
Rows are read one after the other, each once however often it is named; of too many, those who listen are told to read anew.
Rule 3: hints get lost. So the newest executions and work items are looked at now and then; and where the ear was lost, those
who listen are told to read anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import Final

import msgspec

from petra.clock import doze
from petra.engine.ground import Ground
from petra.engine.limits import (
    CHANGES_MAX,
    GATHERED_S,
    HINT_BYTES,
    LISTENED_S,
    LISTENS_S,
    ROWS_LOOKED,
    ROWS_TOLD,
)
from petra.engine.news import OF_LISTS, Gone, Lagged, Listed, News, Topic
from petra.engine.parcels import batches
from petra.errors import PetraError
from petra.store.errors import StoreError
from petra.store.rows import ExecutionFilter, ExecutionRow, WorkItemFilter, WorkItemRow

LISTENS: Final = "listens"
"""The hint that somebody listens to lists at an engine."""
LISTED: Final = "listed"
"""The hint that rows have changed."""
OPEN: Final = ("offered", "allocated", "started", "suspended")

_log = logging.getLogger(__name__)

Name = tuple[str, str]
"""An execution, and a work item of it; nothing, for the execution itself."""


class Changes(msgspec.Struct, frozen=True):
    """What has changed at another engine; with ``many`` there was too much to name."""

    names: list[Name] = []
    gone: list[str] = []
    many: bool = False


class Listings:
    """Tells lists of what others do, and others of what is done here."""

    def __init__(self, ground: Ground) -> None:
        self._store, self._feed, self._bus = ground.store, ground.feed, ground.bus
        self._clock, self._shards = ground.clock, ground.shards
        self._until = 0.0  # then nobody elsewhere listens any more
        self._attached = False
        self._changed: dict[Name, None] = {}
        self._gone: dict[str, None] = {}
        self._some = asyncio.Event()
        self._named: dict[Name, None] = {}
        """What others told of and is to be read."""
        self._is_named = asyncio.Event()
        self._repeating = False
        self._told: OrderedDict[Name, float] = OrderedDict()
        self._open: set[Name] = set()
        self._ears = 0

    # Where it happens

    def take(self, message: News) -> None:
        """Note what is new here, for those who listen elsewhere; what was heard from them is not told back."""
        if self._repeating:
            return
        if isinstance(message, Gone):
            self._gone[message.execution] = None
        elif isinstance(message, Listed):
            row = message.row
            name = (row.execution, row.id) if isinstance(row, WorkItemRow) else (row.id, "")
            self._changed[name] = None
        self._some.set()

    def end(self, why: PetraError) -> None:
        """Hear that there will be no more: the engine ends."""

    async def tell(self) -> None:
        """Tell those who listen elsewhere what has changed here, for ever."""
        while True:
            await self._some.wait()
            await self._clock.sleep(GATHERED_S)
            self._some.clear()
            self._tell()

    def _tell(self) -> None:
        names, self._changed = list(self._changed), {}
        gone, self._gone = list(self._gone), {}
        if self._clock.monotonic() > self._until:
            self._detach()
            return
        if len(names) + len(gone) > CHANGES_MAX:
            self._bus.tell(self._hint(Changes(many=True)))
            return
        for some in batches(names, HINT_BYTES, _size):
            self._bus.tell(self._hint(Changes(names=some)))
        for some in batches([(name, "") for name in gone], HINT_BYTES, _size):
            self._bus.tell(self._hint(Changes(gone=[name for name, _ in some])))

    def _hint(self, changes: Changes) -> str:
        return f"{LISTED} {self._shards.holder} {msgspec.json.encode(changes).decode()}"

    def _detach(self) -> None:
        for topic in OF_LISTS if self._attached else ():
            self._feed.detach(topic, self)
        self._attached = False

    # Where somebody listens

    def heard(self, hint: str) -> bool:
        """Take a hint of another engine; False where it is about something else."""
        what, _, rest = hint.partition(" ")
        if what not in (LISTENS, LISTED):
            return False
        holder, _, body = rest.partition(" ")
        if holder == self._shards.holder:
            return True
        if what == LISTENS:
            self._until = self._clock.monotonic() + LISTENED_S
            for topic in OF_LISTS if not self._attached else ():
                self._feed.attach(topic, self)
            self._attached = True
        elif self._is_listened_to():
            try:
                changes = msgspec.json.decode(body, type=Changes)
            except msgspec.MsgspecError:
                return True  # of another version; the look finds what it was about
            self._pass_on(changes)
        return True

    def _is_listened_to(self) -> bool:
        return any(self._feed.listeners(topic) > self._attached for topic in OF_LISTS)

    def _pass_on(self, changes: Changes) -> None:
        for execution in changes.gone:
            self._repeat(*OF_LISTS, message=Gone(execution=execution))
        self._named.update(dict.fromkeys(changes.names))
        if changes.many or len(self._named) > CHANGES_MAX:
            self._named.clear()
            self._repeat(*OF_LISTS, message=Lagged(lost=1))
        self._is_named.set()

    async def read(self) -> None:
        """Read the rows that others tell of, for ever."""
        while True:
            await self._is_named.wait()
            self._is_named.clear()
            while self._named:
                name = next(iter(self._named))
                del self._named[name]
                try:
                    await self._read(*name)
                except PetraError as error:  # it is away, or cannot look for such a name; the look finds what there is
                    self._named.clear()
                    _log.warning("rows that another engine told of are not told of here: %s", error)

    async def _read(self, execution: str, item: str) -> None:
        if item:
            row = await self._store.work_item(execution, item)
            if row is not None:
                self._tell_row(row, row.updated)
            return
        stored = await self._store.execution(execution)
        if stored is not None:
            self._tell_row(stored.row, float(stored.version))

    def _tell_row(self, row: ExecutionRow | WorkItemRow, version: float) -> None:
        """Tell a row, unless it was told as it is."""
        item = isinstance(row, WorkItemRow)
        name = (row.execution, row.id) if isinstance(row, WorkItemRow) else (row.id, "")
        if self._told.get(name) == version:
            return
        self._told[name] = version
        self._told.move_to_end(name)
        while len(self._told) > ROWS_TOLD:
            self._told.popitem(last=False)
        topic = Topic.WORK_ITEMS if item else Topic.EXECUTIONS
        self._repeat(topic, message=Listed(row=row))

    def _repeat(self, *topics: Topic, message: News) -> None:
        self._repeating = True
        try:
            for topic in topics:
                self._feed.tell(topic, message)
        finally:
            self._repeating = False

    async def run(self) -> None:
        """While somebody listens to lists here: say so, and look."""
        while True:
            await self._feed.lists_sought.wait()
            self._feed.lists_sought.clear()
            self._told.clear()
            self._open.clear()
            self._ears = getattr(self._bus, "ears", 0)
            while self._is_listened_to():
                self._bus.tell(f"{LISTENS} {self._shards.holder}")
                await self._look()
                await doze(self._clock, LISTENS_S, self._feed.lists_sought)
                self._feed.lists_sought.clear()

    async def _look(self) -> None:
        """Look at the newest executions, and at the work items that are most urgent."""
        ears = getattr(self._bus, "ears", 0)
        if ears != self._ears:
            self._repeat(*OF_LISTS, message=Lagged(lost=1))  # what was told meanwhile was not heard
        self._ears = ears
        try:
            executions = await self._store.executions(ExecutionFilter(), limit=ROWS_LOOKED)
            items = await self._store.work_items(WorkItemFilter(states=OPEN), limit=ROWS_LOOKED)
            opened = {(row.execution, row.id): row for row in items.rows}
            for execution, item in sorted(self._open - opened.keys()):
                await self._read(execution, item)
        except StoreError:
            return
        for stored in executions.rows:
            if not self._shards.owns(stored.row.id):
                self._tell_row(stored.row, float(stored.version))
        self._open = {name for name in opened if not self._shards.owns(name[0])}
        for name in self._open:
            self._tell_row(opened[name], opened[name].updated)


def _size(name: Name) -> int:
    """Return the bytes that a name takes in a hint, at most."""
    return 2 * sum(len(part.encode()) for part in name) + 8
