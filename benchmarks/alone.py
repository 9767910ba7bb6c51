"""One measurement of Petra that has no peer, in a process of its own: python benchmarks/alone.py WORK SIZE FOLDER

loop      a loop of SIZE items: its rate, and the memory of engine and worker on the way
waiting   SIZE executions that wait for a person: what one of them holds in memory and on disk
kernel    SIZE plain steps through the kernel alone, and the replay of their records
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kernel import plain_steps, replayed
from petra_side import completed, pids
from processes import forget_peak, measured, peak_mb, rss_mb, show
from workloads import approval, chain, loop

from petra.embedded import Home
from petra.engine.news import Appended, News, Topic
from petra.errors import PetraError
from petra.kernel.events import IterationsEnded

MARKS = (0.1, 0.5, 1.0)
"""Where on the way through a loop memory is looked at."""
AT_ONCE = 500


class Watcher:
    """Notes the memory of engine and worker when so many iterations have ended."""

    def __init__(self, processes: list[int], marks: list[int]) -> None:
        self.ended, self.marks, self.processes = 0, marks, processes
        self.seen: dict[int, list[float]] = {}

    def end(self, why: PetraError) -> None:
        pass

    def take(self, message: News) -> None:
        for record in message.records if isinstance(message, Appended) else ():
            if isinstance(record.event, IterationsEnded):
                self.ended += len(record.event.ended)
        while self.marks and self.ended >= self.marks[0]:
            self.seen[self.marks.pop(0)] = [rss_mb(pid) for pid in self.processes]


async def looped(petra: Home, size: int) -> dict[str, Any]:
    await completed(petra, chain(20))
    watcher = Watcher(pids(petra), [int(size * mark) for mark in MARKS])
    petra.engine.feed.attach(Topic.RECORDS, watcher)
    for pid in pids(petra):
        forget_peak(pid)
    with measured(pids(petra)) as figures:
        await completed(petra, loop(size))
    assert watcher.ended == size, watcher.ended
    peak = [peak_mb(pid) for pid in pids(petra)]
    return {**figures, "units": size, "resident": watcher.seen, "peak": peak}


async def waiting(petra: Home, size: int) -> dict[str, Any]:
    book = approval()
    await petra.run(book)
    gc.collect()
    before, stored = rss_mb(os.getpid()), (await petra.engine.store.stats()).bytes
    for start in range(0, size, AT_ONCE):
        wave = (petra.run(book) for _ in range(min(AT_ONCE, size - start)))
        results = await asyncio.gather(*wave)
        assert {result.status for result in results} == {"waiting"}
    gc.collect()
    return {
        "units": size,
        "memory_kb": (rss_mb(os.getpid()) - before) * 1024 / size,
        "stored_kb": ((await petra.engine.store.stats()).bytes - stored) / 1024 / size,
    }


ON_A_STORE: dict[str, Callable[[Home, int], Awaitable[dict[str, Any]]]] = {
    "loop": looped,
    "waiting": waiting,
}


async def on_a_store(work: str, size: int, folder: Path) -> dict[str, Any]:
    async with Home.open(folder) as petra:
        return await ON_A_STORE[work](petra, size)


def kernel_alone(size: int) -> dict[str, Any]:
    steps, _ = plain_steps(size)
    _, log = plain_steps(size, keep=True)
    return {"steps": steps, "records": replayed(log)}


def main() -> None:
    work, size, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    show(kernel_alone(size) if work == "kernel" else asyncio.run(on_a_store(work, size, folder)))


if __name__ == "__main__":
    main()
