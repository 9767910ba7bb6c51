"""Stories of executions, kept in memory: each is folded from its log once, and goes on with it.

Rule 1: a story is as long as the log was when it was asked for; nothing is read twice.
Rule 2: folding is work, and is done elsewhere than on the loop.
Rule 3: memory is bounded by records; the stories that were asked for longest ago make room.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from petra.engine.cache import UnknownExecutionError
from petra.engine.limits import READ_BATCH
from petra.store.base import Store
from petra.store.rows import RecordRow
from petra.story import Story

T = TypeVar("T")
RECORDS_MAX = 1_000_000
"""So many records the stories that are kept have in all; a record is some 150 bytes."""


class Elsewhere(Protocol):
    """Has something done that would hold up the loop."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Do it."""


class _Kept:
    """A story, and the hash of the last record that it has."""

    def __init__(self) -> None:
        self.story = Story()
        self.hash = b""
        self.turn = asyncio.Lock()


class Stories:
    """The stories of the executions of a store."""

    def __init__(self, store: Store, elsewhere: Elsewhere, most: int = RECORDS_MAX) -> None:
        self._store = store
        self._elsewhere = elsewhere
        self._most = most
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def of(self, execution: str) -> Story:
        """Return the story of an execution up to now.

        Raises:
            UnknownExecutionError: it has no records.
        """
        kept = self._kept.setdefault(execution, _Kept())
        self._kept.move_to_end(execution)
        async with kept.turn:
            if not await self._follows(execution, kept):
                kept.story, kept.hash = Story(), b""
            while rows := await self._store.read(
                execution, after=len(kept.story), limit=READ_BATCH
            ):
                await self._take(kept, rows)
        if not len(kept.story):
            self._kept.pop(execution, None)
            raise UnknownExecutionError(f"there is no execution '{execution}'")
        self._make_room()
        return kept.story

    async def _follows(self, execution: str, kept: _Kept) -> bool:
        """Tell whether the log is still the one that was read: one that was removed may have been begun anew."""
        seen = len(kept.story)
        if not seen:
            return True
        last = await self._store.read(execution, after=seen - 1, limit=1)
        return bool(last) and last[0].hash == kept.hash

    async def _take(self, kept: _Kept, rows: Sequence[RecordRow]) -> None:
        def fold() -> None:
            for row in rows:
                kept.story.take(row.at, row.body)

        if len(rows) < AT_ONCE:
            fold()
        else:
            await self._elsewhere(fold)
        kept.hash = rows[-1].hash

    def _make_room(self) -> None:
        total = sum(len(kept.story) for kept in self._kept.values())
        for execution, kept in list(self._kept.items())[:-1]:
            if total <= self._most:
                return
            if not kept.turn.locked():
                total -= len(kept.story)
                del self._kept[execution]


AT_ONCE = 20
"""So few records are folded at once: a thread would take longer to begin."""
