"""What a step costs PostgreSQL: python benchmarks/wal.py [--executions 500] [--before STATEMENT]

Chains of five steps run on a database of its own, once to warm it and then twice. Shown are the bytes of WAL per step, the CPU of the
server, and the rows of each table that were inserted, updated (and how many of those in place, without new entries of indices) and
deleted; at the end, what the WAL of the second time consists of. A ``--before`` is carried out first, to try what a setting would do.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from processes import server_cpu_s
from support.database import BINARIES, Database
from workloads import chain

from petra.embedded import Home

STEPS = 5
ROWS = """
SELECT regexp_replace(relname, '_[0-9]+$', '') AS name, sum(n_tup_ins) AS inserted, sum(n_tup_upd) AS updated,
  sum(n_tup_hot_upd) AS in_place, sum(n_tup_del) AS deleted
FROM pg_stat_user_tables GROUP BY 1 HAVING sum(n_tup_ins + n_tup_upd + n_tup_del) > 0 ORDER BY 2 DESC
"""
SETTLES_S = 1.5
"""Seconds after which the database's counts are told."""


SHOWN = 16
_LINE = re.compile(r"rmgr: (\S+)\s+len \(rec/tot\):\s+\d+/\s*(\d+).*?desc: (\S+)")
_RELATION = re.compile(r"rel \d+/\d+/(\d+)")


async def parts(
    database: asyncpg.Connection, folder: Path, before: str, steps: int
) -> list[tuple[str, float, float]]:
    """Return what the WAL since a place consists of: bytes and entries per step, by table or index and what was done."""
    names = {
        str(row[0]): re.sub(r"_[0-9]+(?=_|$)", "", row[1])
        for row in await database.fetch("SELECT pg_relation_filenode(oid), relname FROM pg_class")
    }
    end = await database.fetchval("SELECT pg_current_wal_flush_lsn()::text")
    told = subprocess.run(  # noqa: ASYNC221 - nothing else goes on
        [BINARIES / "pg_waldump", "-p", folder / "data" / "pg_wal", "-s", before, "-e", end],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    sizes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for line in told.stdout.splitlines():
        if (entry := _LINE.match(line)) is None:
            continue
        place = _RELATION.search(line)
        key = f"{names.get(place[1], '?') if place else ''} {entry[1]} {entry[3]}".strip()
        sizes[key] += int(entry[2])
        counts[key] += 1
    return [(key, size / steps, counts[key] / steps) for key, size in sizes.most_common(SHOWN)]


async def main(cluster: Database, dsn: str, executions: int, first: list[str]) -> None:
    """Print the figures."""
    database, book = await asyncpg.connect(dsn), chain(STEPS)
    with tempfile.TemporaryDirectory() as folder:
        async with Home.open(Path(folder), store=dsn) as petra:
            await asyncio.gather(*(petra.run(book) for _ in range(50)))
            for statement in first:
                await database.execute(statement)
            for _ in range(2):
                await database.execute("CHECKPOINT")
                await database.execute("SELECT pg_stat_reset()")
                before = await database.fetchval("SELECT pg_current_wal_flush_lsn()::text")
                server = server_cpu_s(dsn)
                await asyncio.gather(*(petra.run(book) for _ in range(executions)))
                await asyncio.sleep(SETTLES_S)
                wal = await database.fetchval(
                    "SELECT pg_current_wal_lsn() - $1::text::pg_lsn", before
                )
                steps = executions * STEPS
                spent = 1e6 * (server_cpu_s(dsn) - server) / steps
                print(f"WAL {float(wal) / steps:.0f} B per step, CPU of the server {spent:.0f} µs")
                for row in await database.fetch(ROWS):
                    told = [
                        f"{float(row[name]) / steps:6.3f}"
                        for name in ("inserted", "updated", "in_place", "deleted")
                    ]
                    print(
                        f"  {row['name']:<16} inserted {told[0]}  updated {told[1]} (in place {told[2]})  deleted {told[3]}"
                    )
            for key, size, count in await parts(database, cluster.folder, before, steps):
                print(f"  {size:7.0f} B  {count:5.2f} x  {key}")
    await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--executions", type=int, default=500)
    parser.add_argument("--before", action="append", default=[], metavar="STATEMENT")
    given = parser.parse_args()
    cluster = Database()
    try:
        asyncio.run(main(cluster, cluster.make("wal"), given.executions, given.before))
    finally:
        cluster.remove()
