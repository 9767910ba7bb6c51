"""Work that takes long, beside the engine's loop: checking, proving, testing, exporting. Bounded, with a queue that ends.

A process does what takes seconds: Python runs one thread at a time, and the engine's has to go on. What takes moments, and
much data, such as folding a log, is done by a few threads.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Generic, TypeVar

import msgspec

from petra.server.problems import ProblemError

A = TypeVar("A")
T = TypeVar("T")

WAITING_MAX = 16
"""So many pieces of work may wait; whoever comes then is told to come again."""
LIMIT_S = 60.0
THREADS = 2
THREADS_WAITING_MAX = 64


class FarWork(msgspec.Struct, Generic[A], frozen=True):
    """Work by its place: the process that does it loads what it needs, and the one that asks for it does not."""

    module: str
    name: str

    def __call__(self, material: A) -> dict[str, Any]:
        """Do it."""
        done: dict[str, Any] = getattr(import_module(self.module), self.name)(material)
        return done


class LongWork:
    """A process of its own for long work."""

    def __init__(self, waiting_max: int = WAITING_MAX) -> None:
        self._most = waiting_max
        self._waiting = 0
        self._pool: ProcessPoolExecutor | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._threaded = 0

    async def aside(self, work: Callable[[], T]) -> T:
        """Have something done by one of a few threads.

        Raises:
            ProblemError: too much waits already.
        """
        if self._threaded >= THREADS_WAITING_MAX:
            raise ProblemError("busy", f"{self._threaded} pieces of work wait already")
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="petra-long-work")
        self._threaded += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._threaded -= 1

    async def do(self, work: Callable[[A], T], material: A) -> T:
        """Have something worked out of a text, or of other plain data; what comes of it is plain data.

        Raises:
            ProblemError: too much waits already, it takes too long, or it killed its process.
        """
        if self._waiting >= self._most:
            raise ProblemError("busy", f"{self._waiting} pieces of work wait already")
        self._waiting += 1
        try:
            async with asyncio.timeout(LIMIT_S):
                future = self._started().submit(work, material)
                return await asyncio.wrap_future(future)
        except TimeoutError:
            self._drop()
            raise ProblemError(
                "busy", f"it took longer than {LIMIT_S:g} s and was given up"
            ) from None
        except BrokenProcessPool:
            self._drop()
            raise ProblemError("busy", "the process that worked on it died") from None
        finally:
            self._waiting -= 1

    def warm(self, work: Callable[[A], T], material: A) -> None:
        """Have the process begin before it is needed: the first work would wait a second for it."""
        if self._pool is None:
            self._started().submit(work, material)

    def close(self) -> None:
        """End the process and the threads."""
        self._drop()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            spawn = get_context("spawn")
            self._pool = ProcessPoolExecutor(1, spawn, initializer=_end_with_the_server)
        return self._pool

    def _drop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            for process in list(pool._processes.values()):  # noqa: SLF001 - it offers no other way to end work
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)


def _end_with_the_server() -> None:
    """Have this process end when the one that began it does, however that was: it would wait for work for ever."""
    server = parent_process()
    if server is not None:
        Thread(target=_end_after, args=(server,), daemon=True).start()


def _end_after(server: BaseProcess) -> None:
    server.join()
    os._exit(1)  # whatever it works on, nobody waits for it
