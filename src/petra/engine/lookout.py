"""The lookout: executions that somebody here listens to, and that somebody else acts for.

They are read from the store now and then, and what is new is told on the feed, as if this engine had done it. A
process without an engine, which only reads a store, has everything told so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from petra.clock import Clock, doze
from petra.engine.cache import Cache, Entry, UnknownExecutionError
from petra.engine.codec import status_of
from petra.engine.feed import Feed
from petra.engine.limits import FOLLOW_S


class Lookout:
    """Looks at executions of others for whoever listens here."""

    def __init__(self, feed: Feed, cache: Cache, clock: Clock, owns: Callable[[str], bool]) -> None:
        """Make one; executions that are owned tell of themselves."""
        self._feed = feed
        self._cache = cache
        self._clock = clock
        self._owns = owns
        self._known: dict[str, Entry] = {}
        self._turn = asyncio.Lock()

    async def look(self, execution: str) -> Entry:
        """Return an execution of somebody else's as it is stored now; what is new in it is told.

        It is kept as long as somebody listens to it.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        async with self._turn:  # two that advance the same entry would apply a record twice
            entry = self._known.get(execution)
            if entry is None:
                entry = self._known[execution] = await self._cache.read(execution)
            while records := await self._cache.advance(entry):
                status, reason = status_of(entry.program, entry.state)
                if self._feed.changed(execution, status):
                    self._feed.appended(execution, records, status, reason)
            return entry

    async def run(self) -> None:
        """Look, for ever, as long as somebody listens; at what is new at once, at the rest now and then."""
        while True:
            wanted = self._others()
            for execution in [known for known in self._known if known not in wanted]:
                del self._known[execution]
            for execution in wanted:
                await self._look(execution)
            while not await self._rest_over():
                for execution in self._others():
                    if execution not in self._known:
                        await self._look(execution)

    def _others(self) -> dict[str, None]:
        return {execution: None for execution in self._feed.followed() if not self._owns(execution)}

    async def _rest_over(self) -> bool:
        """Rest for a while, or until somebody comes; for good while there is nothing to look at."""
        sought = self._feed.sought
        if self._known:
            await doze(self._clock, FOLLOW_S, sought)
        else:
            await sought.wait()
        over = not sought.is_set()
        sought.clear()
        return over

    async def _look(self, execution: str) -> None:
        is_new = execution not in self._known
        try:
            await self.look(execution)
        except UnknownExecutionError:
            self._known.pop(execution, None)
            self._feed.stirred(execution)  # who waits for it will find out
            return
        if is_new:
            self._feed.stirred(execution)


@asynccontextmanager
async def looking_on(cache: Cache, clock: Clock) -> AsyncIterator[tuple[Feed, Lookout]]:
    """Give a feed of what others do in a store."""
    feed = Feed()
    lookout = Lookout(feed, cache, clock, owns=lambda _: False)
    looking = asyncio.create_task(lookout.run())
    try:
        yield feed, lookout
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
