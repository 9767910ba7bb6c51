"""How a process that serves is told to end: by a signal, or because its engine stops."""

from __future__ import annotations

import asyncio
import signal

from petra.engine import Engine
from petra.engine.news import Ended, Topic


def heed_signals(ended: asyncio.Event) -> asyncio.Event:
    """Have a signal end what goes on; return what the next one sets: whoever sends two does not want to wait."""
    hurry = asyncio.Event()

    def signalled() -> None:
        (hurry if ended.is_set() else ended).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, signalled)
    return hurry


async def until_ended(ended: asyncio.Event, engine: Engine) -> None:
    """Wait until somebody ends this process, or the engine stops by itself."""

    async def stopped() -> None:
        with engine.feed.subscribe(Topic.WORKERS) as news:
            while not isinstance(await news.next(), Ended):
                pass

    async def signalled() -> None:
        await ended.wait()

    tasks = [asyncio.create_task(waiting()) for waiting in (stopped, signalled)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
