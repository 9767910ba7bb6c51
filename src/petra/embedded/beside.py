"""The worker beside an engine: a process that loads while the engine does, and never outlives it."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import Task
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

from petra.worker.child import Child


@asynccontextmanager
async def begun(start: Callable[[], Coroutine[None, None, Child]]) -> AsyncIterator[Task[Child]]:
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
