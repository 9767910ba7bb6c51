"""Waiting until executions rest: they, and those that they wait for (S11, S16).

Rule 1: an execution that waits for a sub-playbook rests when that does: as long as the child goes on, so will it.
Rule 2: one that waits for its turn at a limit is still on its way: others will let it in.
Rule 3: nobody asks now and then: a bell rings for whoever is waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from petra.desk.result import REST, Result, result_of
from petra.engine.bells import Bell
from petra.engine.cache import Entry, UnknownExecutionError
from petra.engine.codec import status_of
from petra.engine.feed import Feed

OVER: Final = frozenset({"completed", "partial", "failed", "aborted", "stuck"})
ENDED: Final = OVER - {"stuck"}
FOLLOWED_S: Final = 60.0
"""A timer that is due so soon is waited for; nobody else would fire it."""


_ON_ITS_WAY: Final = frozenset({("waiting", "limit"), ("waiting", "resource")})
"""Its turn is before it."""


class Resting:
    """Waits for executions that a feed tells about."""

    def __init__(
        self,
        feed: Feed,
        look: Callable[[str], Awaitable[Entry]],
        now: Callable[[], float],
        check: Callable[[], None] = lambda: None,
        peek: Callable[[str], Entry | None] = lambda _: None,
    ) -> None:
        """Make one; ``look`` brings an execution, ``check`` raises once nobody goes on with any.

        ``peek`` returns one that is in memory, for which nobody has to wait.
        """
        self._feed = feed
        self._look = look
        self._now = now
        self._check = check
        self._peek = peek

    async def until(self, execution: str, wanted: Callable[[Result], bool]) -> Result:
        """Wait until a change is what the caller waits for."""
        with self._feed.bell(execution) as bell:
            while True:
                entry = await self._entry(execution)
                # while it is busy, the state is ahead of what is durable, and nobody may see it
                if not entry.busy and wanted(result := result_of(entry)):
                    return result
                await bell.heard()

    async def over(self, execution: str) -> Result:
        """Wait until an execution has ended, or is stuck."""
        with self._feed.bell(execution, curious=False) as bell:
            while True:
                entry = await self._entry(execution)
                if not entry.busy and (result := result_of(entry)).status in OVER:
                    return result
                await bell.heard()

    async def settled(self, execution: str, followed_s: float = 0.0) -> Result:
        """Wait until an execution ends, or rests and neither a child nor, within that time, a timer will wake it."""
        with self._feed.bell(execution, curious=False) as bell:
            while True:
                self._check()
                entry = self._peek(execution) or await self._look(execution)
                if entry.busy or not self._rests(entry, followed_s):
                    await bell.heard()
                    continue
                result = result_of(entry)
                if result.status in OVER or not entry.state.children:
                    return result
                over = await self._children(entry, bell, followed_s)
                entry = await self._entry(execution)
                if entry.busy or entry.state.seq != result.version:
                    continue
                if not over:
                    return result
                await bell.heard()  # one of them is over, and it will hear of that

    async def above(self, execution: str, followed_s: float) -> None:
        """Wait until those are settled that waited for an execution which is over now."""
        parent = (await self._entry(execution)).state.parent
        while parent:
            try:
                result = await self.settled(parent, followed_s)
                parent = (await self._entry(parent)).state.parent if result.status in OVER else ""
            except UnknownExecutionError:
                return

    async def _children(self, parent: Entry, bell: Bell, followed_s: float) -> bool:
        """Wait until those are settled that an execution waits for; True: one of them is over."""
        over = False
        for child in list(parent.state.children):
            # asked before every wait: a bell that rang for another child does not ring again for this one
            while await self._waits(parent.state.id, child):
                if await self._is_begun(child, bell):
                    result = await self.settled(child, followed_s)
                    over = over or result.status in ENDED
                    break
        return over

    async def _waits(self, parent: str, child: str) -> bool:
        """Tell whether an execution still waits for a child: one that has ended waits for none."""
        state = (await self._entry(parent)).state
        return not state.terminal and child in state.children

    async def _is_begun(self, child: str, bell: Bell) -> bool:
        """Wait until a child is there; False: its parent has moved on, perhaps because it will not be."""
        with self._feed.bell(child) as born:
            while True:
                with contextlib.suppress(UnknownExecutionError):
                    await self._entry(child)
                    return True
                either = [asyncio.ensure_future(waiting.heard()) for waiting in (born, bell)]
                try:
                    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                    if either[1].done():
                        return False
                finally:
                    for waiting in either:
                        waiting.cancel()

    async def _entry(self, execution: str) -> Entry:
        self._check()
        return await self._look(execution)

    def _rests(self, entry: Entry, followed_s: float) -> bool:
        shown = status, _ = status_of(entry.program, entry.state)
        if status not in REST or shown in _ON_ITS_WAY:
            return False
        if not followed_s or shown != ("waiting", "timer"):
            return True
        due = entry.state.next_due()
        return due is None or due - self._now() > followed_s
