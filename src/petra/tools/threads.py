"""Threads for what blocks: daemon threads, made when none is idle, reused afterwards.

Unlike an executor of the standard library, nothing ever waits for a thread that does not come back: the
caller can be cancelled, further work gets another thread, and the process can end.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from petra.tools.base import ToolError

T = TypeVar("T")

GRACE_S: Final = 1.0
"""How long a thread that was asked to stop is waited for."""
ASKED: Final = 20
"""How often it is asked in that time."""
CLOSE_S: Final = 0.2
"""How long a pool that closes waits for its threads."""


def _as_error(caught: BaseException) -> Exception:
    """Return an exception as one that says nothing to a loop: a cancellation that code raises cancels nobody."""
    if isinstance(caught, Exception) and not isinstance(caught, StopIteration):
        return caught
    return ToolError("unknown", f"{type(caught).__name__} was raised in a thread")


class Threads:
    """A pool of threads; to be used from one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.stuck = 0
        """Threads that still run for callers who have given up."""

    async def call(
        self, function: Callable[[], T], *, stop: Callable[[], object] | None = None
    ) -> T:
        """Call a function in a thread, with the caller's context variables.

        When the caller is cancelled, ``stop`` is called, and the thread has a moment to come back.

        Raises:
            ToolError: every thread is taken.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        inside = contextvars.copy_context().run
        back: list[bool] = []  # whether the thread came back, or was given up first

        def work() -> None:
            try:
                result, error = inside(function), None
            except BaseException as caught:  # noqa: BLE001 - it belongs to the caller
                result, error = None, _as_error(caught)
            # A loop that is closed has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._came_back, back, future, result, error)

        self._take_thread()
        self._calls.put(work)
        try:
            return await (future if stop is None else asyncio.shield(future))
        except asyncio.CancelledError:
            if stop is not None:
                await self._stopped(future, stop)
                if future.done() and not future.cancelled():
                    future.exception()  # seen, so that nobody reports it as forgotten
            if not back:
                self.stuck += 1
                back.append(False)
            raise

    async def _stopped(self, future: asyncio.Future[Any], stop: Callable[[], object]) -> None:
        """Ask a thread to stop until it does: a request that comes before the work has begun is lost."""
        for _ in range(ASKED):
            stop()
            done, _ = await asyncio.wait([future], timeout=GRACE_S / ASKED)
            if done:
                return

    def close(self) -> None:
        """End the idle threads; those that are stuck are given ``CLOSE_S`` together, and left behind."""
        threads, self._threads = self._threads, []
        for _ in threads:
            self._calls.put(None)
        self._idle = 0
        until = time.monotonic() + CLOSE_S
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0))

    def _take_thread(self) -> None:
        if self._idle:
            self._idle -= 1
            return
        if len(self._threads) >= self._most:
            raise ToolError(
                "quota",
                f"all {self._most} threads are taken by code that does not end; "
                "spec.isolation: process can be stopped",
            )
        thread = threading.Thread(target=self._serve, name="petra-tool", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _came_back(
        self, back: list[bool], future: asyncio.Future[Any], result: Any, error: Any
    ) -> None:
        self._idle += 1
        self.stuck -= len(back)
        back.append(True)
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            work()
            del work  # a thread that waits holds on to nothing
