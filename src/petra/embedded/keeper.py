"""The keeper of workers: a worker process beside an engine, which never outlives it and is replaced when it dies."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import Task
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

from petra.clock import Clock
from petra.engine import Engine
from petra.worker.child import Child
from petra.worker.transport import LostError, Transport

Start = Callable[[], Coroutine[None, None, Child]]
"""Starts a worker process."""

AGAIN_S = 0.05
"""Seconds after which a worker that ended is replaced."""
END_S = 2.0
"""Seconds that a busy worker has to end what its steps have started."""


@asynccontextmanager
async def begun(start: Start) -> AsyncIterator[Task[Child]]:
    """Have a first worker started, which loads while we do; at the end it is gone, whoever used it."""
    first = asyncio.create_task(start())
    try:
        yield first
    finally:
        with contextlib.suppress(OSError):  # there is none; who waited for it knows
            await end(await first)


async def end(child: Child, *, busy: bool = False) -> None:
    """End a worker, and return when it is gone.

    One that is busy is left alone for a moment first: it ends what its steps have started, which a signal to it
    would leave behind.
    """
    child.transport.close()
    gone = asyncio.ensure_future(child.wait())
    cancelled = False
    try:
        if busy:
            await asyncio.wait({gone}, timeout=END_S)
    except asyncio.CancelledError:
        cancelled = True
    child.kill()
    while not gone.done():
        try:
            await asyncio.wait({gone})
        except asyncio.CancelledError:
            cancelled = True  # it is told on, once there is nothing left behind
    if cancelled:
        raise asyncio.CancelledError


class Keeper:
    """Keeps one worker process running and carries what it says to the engine."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self.worker: Child | None = None

    @asynccontextmanager
    async def keeping(self, first: Task[Child], start: Start) -> AsyncIterator[None]:
        """Keep a worker running meanwhile; at the end there is none."""
        keeping = asyncio.create_task(self._keep(first, start))
        keeping.add_done_callback(self._kept)
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    def _kept(self, keeping: Task[None]) -> None:
        """Have the engine stop with the reason if nobody keeps a worker any more: nothing would ever run."""
        if not keeping.cancelled() and (error := keeping.exception()) is not None:
            self._engine.life.broke(error)

    async def _keep(self, first: Task[Child], start: Start) -> None:
        """Keep one worker process running; a dead one is replaced, and its work handed out again."""
        child = await asyncio.shield(first)
        while True:
            self.worker = child
            try:
                await self.talk(child.transport)
                self._engine.lost(child.transport)  # not when we are closing: then nothing was lost
            finally:
                await end(child, busy=bool(self._engine.dispatcher.held()))
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
                await self._engine.receive(transport, frame)  # type: ignore[arg-type]
