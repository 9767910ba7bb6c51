"""The keeper of workers: a worker process beside an engine, which never outlives it and is replaced when it dies."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import Task
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

from petra.clock import Clock
from petra.engine import Engine
from petra.wire.frames import Retrying
from petra.worker.child import Child
from petra.worker.transport import LostError, Transport

Start = Callable[[], Coroutine[None, None, Child]]
"""Starts a worker process."""

AGAIN_S = 0.05
"""Seconds after which a worker that ended is replaced."""


@asynccontextmanager
async def begun(start: Start) -> AsyncIterator[Task[Child]]:
    """Have a first worker started, which loads while we do; at the end it is gone, whoever used it."""
    first = asyncio.create_task(start())
    try:
        yield first
    finally:
        with contextlib.suppress(OSError):  # there is none; who waited for it knows
            await end(await first)


async def end(child: Child) -> None:
    """End a worker, and wait until it is gone."""
    child.kill()
    with contextlib.suppress(asyncio.CancelledError):
        await child.wait()
    child.transport.close()


class Keeper:
    """Keeps one worker process running and carries what it says to the engine."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self.worker: Child | None = None
        self.watchers: list[Callable[[Retrying], None]] = []

    @asynccontextmanager
    async def keeping(self, first: Task[Child], start: Start) -> AsyncIterator[None]:
        """Keep a worker running meanwhile; at the end there is none."""
        keeping = asyncio.create_task(self._keep(first, start))
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _keep(self, first: Task[Child], start: Start) -> None:
        """Keep one worker process running; a dead one is replaced, and its work handed out again."""
        child = await asyncio.shield(first)
        while True:
            self.worker = child
            try:
                await self.talk(child.transport)
                self._engine.lost(child.transport)  # not when we are closing: then nothing was lost
            finally:
                await end(child)
            await self._clock.sleep(AGAIN_S)
            child = await start()

    async def talk(self, transport: Transport) -> None:
        """Carry what a worker says to the engine, until the connection is gone."""
        while True:
            try:
                frames = await transport.receive()
            except LostError:
                return
            for frame in frames:
                if isinstance(frame, Retrying):
                    for watcher in self.watchers:
                        watcher(frame)
                else:
                    await self._engine.receive(transport, frame)  # type: ignore[arg-type]
