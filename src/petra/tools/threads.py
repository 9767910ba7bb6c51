"""Threads for what blocks: daemon threads, made when none is idle, reused afterwards.

Unlike an executor of the standard library, nothing ever waits for a thread that does not come back: the
caller can be cancelled, further work gets another thread, and the process can end.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from petra.tools.base import ToolError

T = TypeVar("T")


class Threads:
    """A pool of threads; to be used from one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._alive = 0
        self._idle = 0
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    async def call(self, function: Callable[[], T]) -> T:
        """Call a function in a thread, with the caller's context variables.

        Raises:
            ToolError: every thread is taken.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        inside = contextvars.copy_context().run

        def work() -> None:
            try:
                result, error = inside(function), None
            except BaseException as caught:  # noqa: BLE001 - it belongs to the caller
                result, error = None, caught
            # A loop that is closed has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._came_back, future, result, error)

        self._take_thread()
        self._calls.put(work)
        return await future

    def close(self) -> None:
        """Let every thread end once it is idle."""
        for _ in range(self._alive):
            self._calls.put(None)
        self._alive = self._idle = 0

    def _take_thread(self) -> None:
        if self._idle:
            self._idle -= 1
            return
        if self._alive >= self._most:
            raise ToolError(
                "quota",
                f"all {self._most} threads are taken by code that does not end; "
                "spec.isolation: process can be stopped",
            )
        self._alive += 1
        threading.Thread(target=self._serve, name="petra-tool", daemon=True).start()

    def _came_back(self, future: asyncio.Future[Any], result: Any, error: Any) -> None:
        self._idle += 1
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            work()
