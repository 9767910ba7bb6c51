"""Threads for what blocks: daemon threads, made when none is idle, reused afterwards.

Unlike an executor of the standard library, nothing ever waits for a thread that does not come back: the
caller can be cancelled, further work gets another thread, and the process can end. Threads that end together wake the
loop once: waking it is a call to the system, and costs more than most of what runs here.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from petra.tools.base import ToolError, ToolSettings
from petra.tools.untouched import hooks, put_back

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


class _Back:
    """A call on its way back from its thread."""

    __slots__ = ("error", "future", "is_back", "result", "was_given_up")

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self.future = future
        self.result: Any = None
        self.error: Exception | None = None
        self.is_back = False
        self.was_given_up = False


class Threads:
    """A pool of threads; to be used from one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._back: deque[_Back] = deque()
        self._woken = False
        """Whether the loop has been told, and has not looked yet."""
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
        back = _Back(future)

        def work() -> None:
            before = hooks()
            try:
                back.result = inside(function)
            except BaseException as caught:  # noqa: BLE001 - it belongs to the caller
                back.error = _as_error(caught)
            finally:
                put_back(before)
            self._come_back(loop, back)

        self._take_thread()
        self._calls.put(work)
        try:
            return await (future if stop is None else asyncio.shield(future))
        except asyncio.CancelledError:
            if stop is not None:
                await self._stopped(future, stop)
                if future.done() and not future.cancelled():
                    future.exception()  # seen, so that nobody reports it as forgotten
            if not back.is_back:
                self.stuck += 1
                back.was_given_up = True
            raise

    async def _stopped(self, future: asyncio.Future[Any], stop: Callable[[], object]) -> None:
        """Ask a thread to stop until it does: a request that comes before the work has begun is lost.

        Whoever is cancelled once more meanwhile, by a timeout say, does not leave a thread that was asked too early.
        """
        for _ in range(ASKED):
            stop()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([future], timeout=GRACE_S / ASKED)
            if future.done():
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

    def _come_back(self, loop: asyncio.AbstractEventLoop, back: _Back) -> None:
        """Tell the loop that a call has ended; in the thread that made it."""
        self._back.append(
            back
        )  # first: whoever finds the loop told relies on its looking afterwards
        if self._woken:
            return
        self._woken = True
        # A loop that is closed has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._take_back)

    def _take_back(self) -> None:
        """Hand on what has ended since the loop was told."""
        self._woken = False  # first: what ends from here on tells the loop again
        while self._back:
            back = self._back.popleft()
            self._idle += 1
            self.stuck -= back.was_given_up
            back.is_back = True
            if back.future.done():
                continue
            if back.error is None:
                back.future.set_result(back.result)
            else:
                back.future.set_exception(back.error)

    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            work()
            del work  # a thread that waits holds on to nothing


class ThreadedTool:
    """What tools have in common whose work blocks: threads of their own to do it in."""

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._settings = settings or ToolSettings()
        self._threads = Threads(self._settings.threads)

    def stuck(self) -> int:
        """Return how many threads run on for tasks that were given up."""
        return self._threads.stuck

    def close(self) -> None:
        """Let the threads end."""
        self._threads.close()
