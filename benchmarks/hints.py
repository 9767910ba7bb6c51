"""What hints between engines cost: python benchmarks/hints.py [--flush-ms 10]

Clients commit one execution each, over and over, on a PostgreSQL of their own. Each commit has a hint for others: none at
all, inside of the transaction (as it was once), or told once it is durable, as the bus does. Commits per second, the
median of several rounds that take turns. ``--flush-ms`` makes every flush take longer, as a standby elsewhere would.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.database import Database

from petra.store import postgres_write
from petra.store.postgres import PostgresStore
from petra.store.queries import load_queries
from petra.store.rows import Batch
from petra.testing.store_rows import make_next, make_start

CLIENTS, ROUNDS, SECONDS = 32, 3, 2.0
_NOTIFY = load_queries("postgres")["notify"]
Commit = Callable[[PostgresStore, Batch, str], Awaitable[None]]


async def silent(store: PostgresStore, batch: Batch, _: str) -> None:
    """Commit, and tell nobody."""
    await store.commit(batch)


async def inside(store: PostgresStore, batch: Batch, hint: str) -> None:
    """Commit with the hint in the transaction."""

    async def work(connection: postgres_write.Connection) -> None:
        await postgres_write.BatchWriter(connection).write(batch)
        await connection.execute(_NOTIFY, [hint])

    await store._write(work)  # noqa: SLF001 - the way that is no more


async def after(store: PostgresStore, batch: Batch, hint: str) -> None:
    """Commit, then hint."""
    await store.commit(batch)
    store.bus.tell(hint)


async def measured(store: PostgresStore, commit: Commit, name: str) -> float:
    """Return commits per second of all clients."""
    done, until = 0, time.monotonic() + SECONDS

    async def client(number: int) -> None:
        nonlocal done
        execution, version = f"{name}-{number}", 1
        await store.commit(Batch(changes=(make_start(execution),)))
        while time.monotonic() < until:
            await commit(store, Batch(changes=(make_next(execution, version),)), f"letter {number}")
            version, done = version + 1, done + 1

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return done / SECONDS


async def slowed(dsn: str, flush_us: int) -> None:
    """Have every flush of a database wait that long."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"ALTER DATABASE hints SET commit_delay = {flush_us}")
    await connection.execute("ALTER DATABASE hints SET commit_siblings = 0")
    await connection.close()


async def main(dsn: str) -> None:
    """Print the figures."""
    store = await PostgresStore.open(dsn, connections=CLIENTS)
    figures: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        for way in (silent, inside, after):
            found = await measured(store, way, f"{way.__name__}-{number}")
            figures.setdefault(way.__name__, []).append(found)
    await store.close()
    for name, found in figures.items():
        print(f"{name:8} {statistics.median(found):8,.0f} commits/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--flush-ms", type=float, default=0.0)
    flush_us = int(parser.parse_args().flush_ms * 1000)
    database = Database(fsync=True)
    try:
        made = database.make("hints")
        asyncio.run(slowed(made, flush_us))
        asyncio.run(main(made))
    finally:
        database.remove()
