"""The life of an engine: open, closing, closed; and the one owner of whatever runs behind it.

Rule 1: what runs in the background is begun here. What runs for ever and ends, or fails, breaks the engine, with its
reason; an errand that fails does too.
Rule 2: whoever waits is told, once: that the engine closed, or why it broke.
Rule 3: once it closes, nothing more is taken in. What was begun is finished, within a limit of time.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from petra.clock import Clock
from petra.engine.limits import RETRY_S
from petra.errors import PetraError
from petra.store.errors import FullError, UnavailableError, UncertainError

_log = logging.getLogger(__name__)


class Phase(enum.Enum):
    """Where an engine is in its life."""

    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


class StoppedError(PetraError):
    """The engine takes nothing in any more: it closes, is closed, or broke; the message says which."""


class Life:
    """Owns the tasks of an engine, and says whether it takes anything in."""

    def __init__(self, clock: Clock, told: Callable[[StoppedError], None]) -> None:
        """Make one; ``told`` has everybody who waits hear why there will be no answer."""
        self._clock = clock
        self._told = told
        self._loops: set[asyncio.Task[None]] = set()
        self._errands: set[asyncio.Task[None]] = set()
        self.phase = Phase.OPEN
        self.failure: BaseException | None = None

    def check(self) -> None:
        """Let nobody in who would wait in vain.

        Raises:
            StoppedError: the engine broke, closes, or is closed.
        """
        if self.failure is not None:
            raise _broke(self.failure)
        if self.phase is not Phase.OPEN:
            raise self.closing()

    def closing(self) -> StoppedError:
        """Return what whoever waits while the engine closes is told."""
        return StoppedError(
            f"the engine is {self.phase.value}; what was not answered may be asked again, with the same command id"
        )

    def goes_on(self) -> bool:
        """Whether it is open and whole."""
        return self.failure is None and self.phase is Phase.OPEN

    # Running

    def for_ever(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        """Run a loop until the end; it begins anew when the store was away, or full."""
        self._begin(self._loops, self._again(name, loop), name)

    def errand(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have something done beside; it is finished before the engine closes."""
        return self._begin(self._errands, work, name)

    async def _again(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await loop()
            except (UnavailableError, UncertainError, FullError):
                await self._clock.sleep(RETRY_S)
            else:
                raise RuntimeError(f"'{name}' ended, and nothing would do its work")

    def _begin(
        self, kept: set[asyncio.Task[None]], work: Coroutine[Any, Any, None], name: str
    ) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        kept.add(task)
        task.add_done_callback(lambda done: self._ended(kept, done))
        return task

    def _ended(self, kept: set[asyncio.Task[None]], task: asyncio.Task[None]) -> None:
        kept.discard(task)
        if task.cancelled():
            if self.goes_on():
                self.broke(PetraError(f"'{task.get_name()}' was cancelled"))
        elif (error := task.exception()) is not None:
            self.broke(error)

    def broke(self, error: BaseException) -> None:
        """Stop for good: whoever waits for an answer is told that there will be none."""
        if self.failure is None:
            self.failure = error
            if not isinstance(error, PetraError):
                _log.error("the engine has stopped", exc_info=error)
        for task in self._loops:
            task.cancel()
        self._told(_broke(self.failure))

    # Ending

    async def close(self, finish: Callable[[], Awaitable[None]], within_s: float) -> bool:
        """Take nothing in any more, stop what runs for ever, and finish; return whether that was done in time."""
        self.phase = Phase.CLOSING
        finishing = asyncio.create_task(self._finished(finish))
        late = asyncio.ensure_future(self._clock.sleep(within_s))
        try:
            await asyncio.wait({finishing, late}, return_when=asyncio.FIRST_COMPLETED)
            done = finishing.done()
        finally:
            late.cancel()
            await self._stopped(finishing, late, *self._loops, *self._errands)
            self.phase = Phase.CLOSED
            self._told(_broke(self.failure) if self.failure is not None else self.closing())
        return done and not finishing.cancelled() and finishing.exception() is None

    async def _finished(self, finish: Callable[[], Awaitable[None]]) -> None:
        await self._stopped(*self._loops)
        if self.failure is None:
            await finish()
        while self._errands:
            await asyncio.wait(set(self._errands))

    async def _stopped(self, *tasks: asyncio.Future[Any]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _broke(failure: BaseException) -> StoppedError:
    return StoppedError(f"the engine has stopped: {failure}")
