"""Executions that a limit lets wait: python benchmarks/limits.py [--executions 10000] [--keys 50] [--limit 3] [--store memory|sqlite]

All of them are asked for at once. What was committed is looked at as it is committed: how many of a key are in, and
in which order they came. Shown are the CPU time per execution for each tenth of the run, which should not grow.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from petra.clock import SystemClock
from petra.engine import Engine
from petra.engine.codec import from_row
from petra.kernel.events import ExecutionEnded
from petra.kernel.permit_events import PermitGiven
from petra.playbook import read
from petra.store.base import Store
from petra.store.memory import MemoryStore
from petra.store.sqlite import SqliteStore

TEXT = """
apiVersion: petra/v1
kind: Playbook
metadata: {{name: limited}}
workload: {{key: 0}}
executor: {{spec: {{concurrency: {{limit: {limit}, key: "{{{{ workload.key }}}}"}}}}}}
workflow: [{{step: a, tool: {{kind: wait, for_s: 0.001}}}}]
"""


class Watched:
    """What was committed: who is in, who has ended, and the most that were in at once."""

    def __init__(self, store: Store, keys: int) -> None:
        self.keys = keys
        self.inside: Counter[int] = Counter()
        self.most = 0
        self.order: dict[int, list[int]] = {}
        self.ended = 0
        self.times: list[float] = []
        self._over, self._wanted = asyncio.Event(), 0
        self._commit = store.commit
        store.commit = self.commit  # type: ignore[method-assign]

    async def all_ended(self, executions: int) -> None:
        """Wait until so many have ended."""
        self._wanted = executions
        if self.ended < executions:
            await self._over.wait()

    async def commit(self, batch: Any) -> Any:
        """Commit, and look."""
        done = await self._commit(batch)
        for change in batch.changes:
            number = int(change.execution[1:])
            for row in change.records:
                event = from_row(row).event
                if isinstance(event, PermitGiven):
                    self.inside[number % self.keys] += 1
                    self.order.setdefault(number % self.keys, []).append(number)
                    self.most = max(self.most, self.inside[number % self.keys])
                elif isinstance(event, ExecutionEnded):
                    self.inside[number % self.keys] -= 1
                    self.ended += 1
                    if self.ended == self._wanted:
                        self._over.set()
                    self.times.append(time.process_time())
        return done


async def measure(store: Store, executions: int, keys: int, limit: int) -> None:
    """Start all, wait for all, and say what it took."""
    watched = Watched(store, keys)
    book = read(TEXT.format(limit=limit)).checked()
    begun, wall = time.process_time(), time.perf_counter()
    async with Engine(store) as engine:
        for first in range(0, executions, 500):
            some = range(first, min(first + 500, executions))
            await asyncio.gather(
                *(engine.start(book, {"key": n % keys}, execution=f"e{n:06}") for n in some)
            )
        print(f"started: {(time.process_time() - begun) / executions * 1e6:,.0f} µs of CPU each")
        await watched.all_ended(executions)
    print(f"all have ended after {time.perf_counter() - wall:,.1f} s; most at once: {watched.most}")
    assert watched.most <= limit, "more were in than may be"
    assert all(order == sorted(order) for order in watched.order.values()), "somebody was passed"
    assert sum(map(len, watched.order.values())) == executions, "somebody was forgotten"
    tenth = executions // 10
    ends = watched.times
    each = [(ends[n * tenth + tenth - 1] - ends[n * tenth]) / tenth * 1e6 for n in range(10)]
    print("CPU per execution, by tenths of the run:", " ".join(f"{one:,.0f}" for one in each), "µs")


async def main() -> None:
    """Read what is wanted, and measure it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=10_000)
    parser.add_argument("--keys", type=int, default=50)
    parser.add_argument("--limit", type=int, default=3)
    parser.add_argument("--store", choices=["memory", "sqlite"], default="sqlite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store: Store
        if given.store == "memory":
            store = MemoryStore(clock=SystemClock().now)
        else:
            store = await SqliteStore.open(Path(folder) / "petra.db")
        try:
            await measure(store, given.executions, given.keys, given.limit)
        finally:
            await store.close()


if __name__ == "__main__":
    asyncio.run(main())
