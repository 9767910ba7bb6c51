"""A thread beside an event loop that must not wait: it does one piece of work after the other.

It costs a third of what a pool of threads does: no future of its own, one call back into the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, TypeVar

STILL_S: Final = 0.0005
"""Seconds that the loop stands still at most; nobody is served meanwhile."""
CALM: Final = 50
"""Pieces of work after a slow one for which it does not: where all are slow, that costs little."""

T = TypeVar("T")


class SideThread:
    """One thread, first in, first out."""

    def __init__(self, name: str) -> None:
        self._calm = 0
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[], T], *, alone: bool = False) -> T:
        """Have something done, and wait for it; it is seen through even when nobody waits any more.

        For one that is ``alone`` the whole loop stands still for a moment: it has nothing else to do, and what is done by
        then needs no turn of it. After one that took longer it does so no more for a while.
        """
        try:
            return await self._begin(work, alone=alone)
        except asyncio.CancelledError:
            await self._begin(_nothing)  # what was begun before has ended when this has
            raise

    def leave(self, work: Callable[[], None]) -> None:
        """Have something done in its turn that nobody waits for; it must not fail."""
        self._queue.put(work)

    def close(self) -> None:
        """Finish what was begun, and end."""
        self._queue.put(None)
        self._thread.join()

    def _begin(self, work: Callable[[], T], *, alone: bool = False) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        meeting = self._meeting() if alone else None

        def do() -> None:
            result: Any = None
            error: BaseException | None = None
            try:
                result = work()
            except BaseException as raised:  # noqa: BLE001 - whoever waits gets it
                error = raised
            if meeting is not None and meeting.bring(result, error):
                return
            with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits
                loop.call_soon_threadsafe(_settle, done, result, error)

        self._queue.put(do)
        if meeting is not None:
            if meeting.wait(STILL_S):
                _settle(done, meeting.result, meeting.error)
            else:
                self._calm = CALM
        return done

    def _meeting(self) -> _Meeting | None:
        if self._calm:
            self._calm -= 1
            return None
        return _Meeting()

    def _serve(self) -> None:
        while (do := self._queue.get()) is not None:
            do()


class _Meeting:
    """Where what came of some work is handed over between two threads, if both come in time."""

    __slots__ = ("_brought", "_first", "error", "result")

    def __init__(self) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._brought = threading.Lock()
        self._brought.acquire()
        self._first = threading.Lock()
        """Whoever has it decides: it was brought, or who waited has left."""

    def bring(self, result: Any, error: BaseException | None) -> bool:
        """Bring what came of it; False: nobody waits here any more."""
        self.result, self.error = result, error
        if not self._first.acquire(blocking=False):
            return False
        self._brought.release()
        return True

    def wait(self, seconds: float) -> bool:
        """Wait for it; False: it did not come in time."""
        if self._brought.acquire(timeout=seconds):
            return True
        if self._first.acquire(blocking=False):
            return False
        self._brought.acquire()  # it is being brought in this very moment
        return True


def _settle(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.cancelled():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)


def _nothing() -> None:
    """Do nothing, in turn."""
