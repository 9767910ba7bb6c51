"""An event loop with time of its own: nothing waits, and processes can be killed or stopped at any callback.

Rule 1: time stands still while anything is ready to run, then jumps to the next timer.
Rule 2: callbacks run in the order in which they were scheduled, as asyncio promises; what may come in any order
(frames, tools, answers of a store) takes a drawn time instead.
Rule 3: a process is a context. Whatever is scheduled from it belongs to it: after ``kill`` nothing of it runs again,
no ``finally`` and no ``except``, as after kill -9; between ``stop`` and ``go_on`` its callbacks are held back, timers
too, as after SIGSTOP.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

CALLBACKS_MAX = 100_000
"""Callbacks after which a run counts as one that never comes to rest."""

TICK_S = 1e-6
"""No wait is shorter."""


class StandstillError(Exception):
    """Nothing can happen any more, and what was waited for has not happened."""


class RestlessError(Exception):
    """So many callbacks have run that it must be going in circles."""


class Process:
    """Something that can be killed or stopped as a whole."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.stopped = False
        self.callbacks = 0
        self.dies_at: int | None = None
        self.at_death: Callable[[], None] = lambda: None
        self._held: list[asyncio.Handle] = []

    def kill(self) -> None:
        """End it: nothing of it runs again."""
        if not self.dead:
            self.dead = True
            self.at_death()

    def stop(self) -> None:
        """Hold it back."""
        self.stopped = True

    def go_on(self) -> list[asyncio.Handle]:
        """Let it run again; what was held back comes back, in order."""
        self.stopped = False
        held, self._held = self._held, []
        return held

    def lets(self, handle: asyncio.Handle) -> bool:
        """Tell whether a callback of it may run now."""
        if not self.dead and not self.stopped:
            self.callbacks += 1
            if self.callbacks != self.dies_at:
                return True
            self.kill()
        self._held.append(handle)
        return False


OWNER: ContextVar[Process | None] = ContextVar("OWNER", default=None)


def virtual_loop() -> VirtualLoop:
    """Make a loop: it has what tasks, futures and timers need, and no sockets, threads or signals."""
    return VirtualLoop()  # type: ignore[abstract]


class VirtualLoop(asyncio.AbstractEventLoop):
    """A loop whose time jumps. ``mishaps`` are exceptions of callbacks that nobody caught."""

    def __init__(self) -> None:
        self.callbacks = 0
        self.mishaps: list[str] = []
        self._now = 0.0
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_made = 0
        self._closed = False
        self._tasks: list[tuple[Process | None, asyncio.Task[Any]]] = []

    # What asyncio asks for

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._now

    def get_debug(self) -> bool:
        """Tell that there is no debug mode."""
        return False

    def is_running(self) -> bool:
        """Tell whether it runs: whenever somebody can ask."""
        return True

    def is_closed(self) -> bool:
        """Tell whether it was closed."""
        return self._closed

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Schedule a callback."""
        # an empty context is false, and not nothing
        context = copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment] # there are no threads

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Schedule a callback for later."""
        if delay > 0:
            delay = max(delay, TICK_S)  # a wait that is lost in rounding would never end
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Schedule a callback for a moment."""
        context = copy_context() if context is None else context
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers_made += 1
        heapq.heappush(self._timers, (when, self._timers_made, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Take note of nothing: a cancelled timer is passed over when its time comes."""

    def run_in_executor(  # type: ignore[override]
        self,
        executor: object,  # noqa: ARG002
        func: Callable[..., T],
        *args: Any,
    ) -> asyncio.Future[T]:
        """Do it at once: there are no threads. Who waits hears of it in the next round."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - it is for who waits
            done.set_exception(error)
        return done

    def create_future(self) -> asyncio.Future[Any]:
        """Make a future."""
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Make a task; it belongs to the process that makes it."""
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        owner = context.get(OWNER) if context is not None else OWNER.get()
        self._tasks.append((owner, task))
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what went wrong in a callback."""
        if "handle" in context:
            self.mishaps.append(f"{context.get('message')}: {context.get('exception')!r}")

    def close(self) -> None:
        """Close it."""
        self._closed = True

    # Running

    def run_until_complete(self, future: Any) -> Any:
        """Run until a future is done.

        Raises:
            StandstillError: it will never be.
            RestlessError: it goes in circles.
        """
        asyncio._set_running_loop(self)
        try:
            task = asyncio.ensure_future(future, loop=self)
            while not task.done():
                self._run_one()
            return task.result()
        finally:
            asyncio._set_running_loop(None)

    def _run_one(self) -> None:
        if not self._ready:
            self._jump()
        handle = self._ready.popleft()
        if handle.cancelled():
            return
        owner = handle._context.get(OWNER)  # type: ignore[attr-defined]
        if owner is not None and not owner.lets(handle):
            return
        self.callbacks += 1
        if self.callbacks > CALLBACKS_MAX:
            raise RestlessError(f"{CALLBACKS_MAX:,} callbacks ran, and it goes on")
        handle._run()

    def _jump(self) -> None:
        if not self._timers:
            raise StandstillError("nothing is ready, and no timer is set")
        self._now = max(self._now, self._timers[0][0])
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(self._timers)[2])

    def go_on(self, process: Process) -> None:
        """Let a stopped process run again."""
        self._ready.extend(process.go_on())

    def start(self, process: Process, coro: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task as a process."""
        context = copy_context()
        context.run(OWNER.set, process)
        return self.create_task(coro, context=context)

    def bury(self) -> None:
        """End every task that is left, dead processes' too, so that nothing complains when they are collected."""
        self.callbacks = 0
        for owner in {owner: None for owner, _ in self._tasks if owner is not None}:
            owner.dead = False
            owner.dies_at = None
            self.go_on(owner)
        left = [task for _, task in self._tasks if not task.done()]
        for _ in range(5):
            for task in left:
                task.cancel()
            for _ in range(len(self._ready) + 200 * len(left)):
                if not self._ready:
                    break
                self._run_one_unless_finished()
            left = [task for task in left if not task.done()]
            if not left:
                break
        for _, task in self._tasks:
            if task.done() and not task.cancelled():
                task.exception()
        self._tasks.clear()

    def _run_one_unless_finished(self) -> None:
        asyncio._set_running_loop(self)
        try:
            self._run_one()
        finally:
            asyncio._set_running_loop(None)
