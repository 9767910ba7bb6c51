"""Lists, counts and searches over a million executions, asked of a server: python benchmarks/lists.py [EXECUTIONS] [--postgres]

The rows are copies of a real execution, made by the database itself: fifty playbooks, all statuses, thirty days, labels on every
tenth, a reason on every hundredth. Each question is asked twenty times, by one who waits for each answer; the first is told
apart, since nothing is in memory then; CPU is what server and database took, per question. The aim is 50 ms for 95 of 100. With ``--postgres`` they are in the PostgreSQL of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import apsw
import asyncpg  # type: ignore[import-untyped]
import httpx2
from api import served, timed
from in_turn import cpu_s, started_by

import petra
from petra.clock import SystemClock
from petra.embedded import DATABASE
from petra.playbook import read
from petra.store.rows import SHARDS

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.database import Database

TIMES = 20
PATIENCE_S = 600
UNSETTLED = 500
_BEHIND = {
    "sqlite": (
        "SELECT (SELECT count(*) FROM tally_notes)"
        " + (SELECT count(*) FROM executions WHERE stream > (SELECT upto FROM searched))"
    ),
    "postgres": "SELECT count(*) FROM tally_notes",
}
DAY_S = 86_400
BOOK = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: book-0}\nworkflow:\n  - {step: one, tool: {kind: noop}}\n"
DIALECTS = {
    "sqlite": {
        "id": "printf('exec-%07d', n)",
        "newline": "char(10)",
        "team": "json_object('team', 'team-' || (n / 10 % 200))",
        "many": "(WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < {size}) SELECT n FROM many)",
    },
    "postgres": {
        "id": "('exec-' || lpad(n::text, 7, '0'))",
        "newline": "chr(10)",
        "team": "json_build_object('team', 'team-' || (n / 10 % 200))::text",
        "many": "(SELECT n::bigint AS n FROM generate_series(1, {size}) AS n)",
    },
}
MADE = {
    "stream": "{last} + n",
    "id": "{id}",
    "shard": f"n % {SHARDS}",
    "playbook": "'book-' || (n % 50)",
    "status": "CASE WHEN n % 100 < 90 THEN 'completed' WHEN n % 100 < 97 THEN 'failed' ELSE 'aborted' END",
    "reason": "CASE WHEN n % 100 = 93 THEN 'the gate of ' || (n / 100) || ' stayed shut' ELSE '' END",
    "started": "started - 30.0 * 86400 * ({size} - n) / {size}",
    "updated": "started - 30.0 * 86400 * ({size} - n) / {size} + 1",
    "ended": "started - 30.0 * 86400 * ({size} - n) / {size} + 1",
    "labels": "CASE WHEN n % 10 = 0 THEN {team} ELSE '{{}}' END",
    "search": (
        "{id} || {newline} || 'book-' || (n % 50) || {newline}"
        " || CASE WHEN n % 100 = 93 THEN 'the gate of ' || (n / 100) || ' stayed shut' ELSE '' END"
        " || CASE WHEN n % 10 = 0 THEN {newline} || 'team=team-' || (n / 10 % 200) ELSE '' END"
    ),
}


async def _real(home: Path, store: str | None = None) -> str:
    async with petra.open(home, store=store) as here:
        return (await here.run(read(BOOK).checked())).id


def _copies(dialect: str, columns: list[str], name: str, last: int, size: int) -> str:
    """Return the statement that makes copies of an execution."""
    words = {one: text.format(size=size) for one, text in DIALECTS[dialect].items()}
    made = [MADE.get(one, one).format(last=last, size=size, **words) for one in columns]
    return f"INSERT INTO executions ({', '.join(columns)}) SELECT {', '.join(made)} FROM {words['many']} AS m, executions WHERE id = '{name}'"


def filled(home: Path, size: int) -> float:
    """Put so many executions into a home; return the seconds that took."""
    name = asyncio.run(_real(home))
    begun = time.perf_counter()
    connection = apsw.Connection(str(home / DATABASE))
    connection.execute("PRAGMA synchronous = off")
    columns = [row[1] for row in connection.execute("PRAGMA table_info(executions)")]
    last = connection.execute("SELECT max(stream) FROM executions").get
    with connection:
        connection.execute(_copies("sqlite", columns, name, last, size))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return time.perf_counter() - begun


async def filled_postgres(home: Path, store: str, size: int) -> float:
    """Put so many executions into a database; return the seconds that took."""
    name = await _real(home, store)
    begun = time.perf_counter()
    connection = await asyncpg.connect(store)
    rows = await connection.fetch("SELECT column_name FROM information_schema.columns WHERE table_name = 'executions'")  # fmt: skip
    columns = [row[0] for row in rows if row[0] != "stream"]  # the database numbers them
    await connection.execute(_copies("postgres", columns, name, 0, size))
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
    return time.perf_counter() - begun


def questions(size: int, now: float) -> dict[str, tuple[str, dict[str, str | list[str]]]]:
    """Return what is asked: the call and its parameters."""

    def at(days: float) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - days * DAY_S))

    lists, counts = "/executions", "/executions/counts"
    rare = f"{size // 200 * 100 + 93:07d}"
    return {
        "list": (lists, {}),
        "list, the oldest first": (lists, {"sort": "started"}),
        "list of a status": (lists, {"status": "failed"}),
        "list of a playbook": (lists, {"playbook": "book-7"}),
        "list of a status of a playbook": (lists, {"status": "failed", "playbook": "book-43"}),
        "list of a playbook that nobody has": (lists, {"playbook": "none"}),
        "list of a status of a playbook, none": (lists, {"status": "failed", "playbook": "book-7"}),
        "list of two statuses, none": (lists, {"status": ["paused", "stuck"]}),
        "list of a label": (lists, {"label": "team:team-7"}),
        "list of a day": (lists, {"since": at(15), "until": at(14)}),
        "list of a status of a day": (lists, {"since": at(15), "until": at(14), "status": "aborted"}),
        "search, few have it": (lists, {"text": rare}),
        "search, nobody has it": (lists, {"text": "qqqqqq"}),
        "search, many have it": (lists, {"text": "stayed shut"}),
        "search, all have it": (lists, {"text": "book-"}),
        "search, two characters": (lists, {"text": "zq"}),
        "search in a status": (lists, {"text": "gate of", "status": "failed"}),
        "counts": (counts, {}),
        "counts of a playbook": (counts, {"playbook": "book-7"}),
        "counts by playbook": (counts, {"by": "playbook"}),
        "counts by hour": (counts, {"by": "hour"}),
        "counts by hour, of a day": (counts, {"by": "hour", "since": at(1)}),
        "counts of fifteen days": (counts, {"since": at(20.3), "until": at(5.3)}),
        "counts of a label": (counts, {"label": "team:team-7"}),
        "counts of a text": (counts, {"text": rare}),
    }  # fmt: skip


Behind = Callable[[], Awaitable[int]]
"""Counts what is in no index for searches and in no tally yet."""


async def measured(
    said: dict[str, str], size: int, behind: Behind, of: list[int]
) -> dict[str, dict[str, float]]:
    """Ask everything; the CPU is that of the processes whose ids are given, and of those that they have started."""
    headers = {"Authorization": f"Bearer {said['token']}"}
    found: dict[str, dict[str, float]] = {}
    async with httpx2.AsyncClient(
        base_url=f"{said['url']}/api/v1", headers=headers, timeout=600
    ) as http:
        await _settled(http, behind)
        print("| | cold | best | p95 | CPU |\n|---|---:|---:|---:|---:|")
        for name, (path, params) in questions(size, SystemClock().now()).items():
            before = _cpu_s(of)
            took = await timed(TIMES, lambda path=path, params=params: http.get(path, params=params))  # fmt: skip
            took["cpu_ms"] = round((_cpu_s(of) - before) * 1000 / TIMES, 1)
            found[name] = took
            print(f"| {name} | {' | '.join(map(str, took.values()))} |", flush=True)
        found["far behind"] = await _far(http)
    return found


def _cpu_s(of: list[int]) -> float:
    return float(sum(cpu_s(pid) for pid in {p for one in of for p in (one, *started_by(one))}))


async def _settled(http: httpx2.AsyncClient, behind: Behind) -> None:
    """Search and count until everything is indexed and added up."""
    begun = time.perf_counter()
    while await behind() >= UNSETTLED and time.perf_counter() - begun < PATIENCE_S:
        for path in ("/executions", "/executions/counts"):
            (await http.get(path, params={"text": "qqqqqq"})).raise_for_status()
        (await http.get("/executions/counts")).raise_for_status()
        await asyncio.sleep(1)
    print(f"indexed and added up in {time.perf_counter() - begun:.0f} s", flush=True)


async def _far(http: httpx2.AsyncClient) -> dict[str, float]:
    """Follow pages, a hundred of five hundred."""
    cursor, took = "", []
    for _ in range(100):
        begun = time.perf_counter()
        params = {"limit": "500"} | ({"cursor": cursor} if cursor else {})
        page = (await http.get("/executions", params=params)).json()
        took.append((time.perf_counter() - begun) * 1000)
        cursor = page["next"] or ""
    warm = sorted(took)
    print(f"| pages of 500, a hundred of them | {took[0]:.1f} | {warm[0]:.1f} | {warm[94]:.1f} |")
    return {"cold_ms": took[0], "best_ms": warm[0], "p95_ms": warm[94]}


def _in_a_file(home: Path, size: int) -> None:
    print(f"{size:,} executions made in {filled(home, size):.0f} s", flush=True)

    async def behind() -> int:
        with closing(apsw.Connection(str(home / DATABASE))) as file:
            return int(file.execute(_BEHIND["sqlite"]).get)

    with served(home) as said:
        print(json.dumps(asyncio.run(measured(said, size, behind, [int(said["pid"])]))))


def _in_postgres(home: Path, size: int) -> None:
    database = Database()
    try:
        store = database.make("lists")
        took = asyncio.run(filled_postgres(home, store, size))
        print(f"{size:,} executions made in {took:.0f} s", flush=True)

        async def behind() -> int:
            connection = await asyncpg.connect(store)
            found = await connection.fetchval(_BEHIND["postgres"])
            if found < UNSETTLED:
                await connection.execute(
                    "VACUUM tally_notes"
                )  # of a million at once, which nobody has
            await connection.close()
            return int(found)

        postmaster = int((database.folder / "data" / "postmaster.pid").read_text().split()[0])
        with served(home, "--store", store) as said:
            of = [int(said["pid"]), postmaster]
            print(json.dumps(asyncio.run(measured(said, size, behind, of))))
    finally:
        database.remove()


def main() -> None:
    """Fill a home or a database, serve it, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--postgres", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="petra-lists-") as folder:
        (_in_postgres if given.postgres else _in_a_file)(Path(folder, ".petra"), given.size)


if __name__ == "__main__":
    main()
