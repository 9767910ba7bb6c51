"""What a commit costs, durable: python benchmarks/store.py [--postgres DSN]

Each line commits for some time and prints the median of several rounds: records per second, and the time of
one commit. Every record has a body of 300 bytes; "executions" is how many of them share one commit.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from petra.store import Batch, Change, Pending, RecordRow, Store
from petra.store.memory import MemoryStore
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import make_row

ROUNDS = 3
PROBES = 200
SECONDS = 0.5
BODY = bytes(300)
SHAPES = [(1, 1), (1, 2), (10, 10), (1, 100), (50, 100), (100, 200), (500, 1000)]


class Load:
    """Executions that grow by the same number of records in every batch."""

    def __init__(self, store: Store, executions: int, records: int, name: str) -> None:
        self.store = store
        self.names = [f"{name}-{number:05}" for number in range(executions)]
        self.each = records // executions
        self.version = 0

    def batch(self, *, steps: bool) -> Batch:
        return Batch(changes=tuple(self.change(name, steps=steps) for name in self.names))

    def change(self, name: str, *, steps: bool) -> Change:
        hashes = [(self.version + n).to_bytes(32, "big") for n in range(self.each + 1)]
        records = tuple(
            RecordRow(
                seq=self.version + n + 1,
                type="step.done",
                at=float(n),
                hash=hashes[n + 1],
                previous=hashes[n],
                body=BODY,
            )
            for n in range(self.each)
        )
        row = make_row(name) if self.version == 0 else None
        if not steps:
            return Change(execution=name, expected_version=self.version, records=records, row=row)
        return Change(
            execution=name,
            expected_version=self.version,
            records=records,
            row=row,
            assigned=(Pending(run=f"r{self.version}"),),
            released=((f"r{self.version - self.each}", ""),),
            wake=float(self.version),
        )

    async def round(self, *, steps: bool) -> tuple[float, float]:
        spent, commits = 0.0, 0
        while spent < SECONDS:
            batch = self.batch(steps=steps)
            began = time.perf_counter()
            committed = await self.store.commit(batch)
            spent += time.perf_counter() - began
            assert committed.applied
            self.version += self.each
            commits += 1
        return commits * self.each * len(self.names) / spent, spent / commits


async def measure(title: str, open_store: Callable[[], Awaitable[Store]]) -> None:
    store = await open_store()
    print(
        f"{title}\n{'executions':>11} {'records':>8} {'extra':>6} {'records/s':>11} {'ms/commit':>10}"
    )
    for steps in (False, True):
        for executions, records in SHAPES:
            load = Load(store, executions, records, f"{executions}-{records}-{steps}")
            rounds = [await load.round(steps=steps) for _ in range(ROUNDS)]
            rate = statistics.median(rate for rate, _ in rounds)
            each = statistics.median(each for _, each in rounds)
            extra = "steps" if steps else "-"
            print(f"{executions:11} {records:8} {extra:>6} {rate:11,.0f} {each * 1000:10.3f}")
    await store.close()


def disk(folder: Path) -> float:
    """Return what one synced write of a page costs, in milliseconds: the floor of any commit."""
    with (folder / "probe").open("wb", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(PROBES):
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
        return (time.perf_counter() - began) / PROBES * 1000


async def in_memory() -> Store:
    return MemoryStore(clock=time.monotonic)


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--postgres", help="where a database for this is, e.g. postgresql://…")
    given = arguments.parse_args()
    await measure("memory", in_memory)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        print(f"one synced page on this disk: {disk(Path(folder)):.3f} ms")
        await measure("SQLite, synchronous=FULL", lambda: SqliteStore.open(Path(folder) / "b.db"))
    if given.postgres:
        from petra.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

        await measure(
            "PostgreSQL, synchronous_commit=on", lambda: PostgresStore.open(given.postgres)
        )


if __name__ == "__main__":
    asyncio.run(main())
