"""Lists, counts and searches over a million executions, asked of a server: python benchmarks/lists.py [EXECUTIONS]

The rows are copies of a real execution, made by SQLite itself: fifty playbooks, all statuses, thirty days, labels on every
tenth, a reason on every hundredth. Each question is asked twenty times, by one who waits for each answer; the first is told
apart, since nothing is in memory then. The aim is 50 ms for 95 of 100.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

import apsw
import httpx2
from api import served, timed

import petra
from petra.clock import SystemClock
from petra.embedded import DATABASE
from petra.playbook import read
from petra.store.rows import shard_of

TIMES = 20
DAY_S = 86_400
BOOK = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: book-0}\nworkflow:\n  - {step: one, tool: {kind: noop}}\n"
MADE = {
    "stream": ":last + n",
    "id": "printf('exec-%07d', n)",
    "shard": "shard_of(printf('exec-%07d', n))",
    "playbook": "'book-' || (n % 50)",
    "status": "CASE WHEN n % 100 < 90 THEN 'completed' WHEN n % 100 < 97 THEN 'failed' ELSE 'cancelled' END",
    "reason": "CASE WHEN n % 100 = 93 THEN 'the gate of ' || (n / 100) || ' stayed shut' ELSE '' END",
    "started": "started - 30.0 * 86400 * (:size - n) / :size",
    "updated": "started - 30.0 * 86400 * (:size - n) / :size + 1",
    "ended": "started - 30.0 * 86400 * (:size - n) / :size + 1",
    "labels": "CASE WHEN n % 10 = 0 THEN json_object('team', 'team-' || (n / 10 % 200)) ELSE '{}' END",
    "search": (
        "printf('exec-%07d', n) || char(10) || 'book-' || (n % 50) || char(10)"
        " || CASE WHEN n % 100 = 93 THEN 'the gate of ' || (n / 100) || ' stayed shut' ELSE '' END"
        " || CASE WHEN n % 10 = 0 THEN char(10) || 'team=team-' || (n / 10 % 200) ELSE '' END"
    ),
}


async def _real(home: Path) -> str:
    async with petra.open(home) as here:
        return (await here.run(read(BOOK).checked())).id


def filled(home: Path, size: int) -> float:
    """Put so many executions into a home; return the seconds that took."""
    name = asyncio.run(_real(home))
    begun = time.perf_counter()
    connection = apsw.Connection(str(home / DATABASE))
    connection.create_scalar_function("shard_of", lambda one: shard_of(str(one)), 1)
    connection.execute("PRAGMA synchronous = off")
    columns = [row[1] for row in connection.execute("PRAGMA table_info(executions)")]
    last = connection.execute("SELECT max(stream) FROM executions").get
    with connection:
        connection.execute(
            "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < :size) "
            f"INSERT INTO executions ({', '.join(columns)}) "
            f"SELECT {', '.join(MADE.get(one, one) for one in columns)} FROM many, executions WHERE id = :id",
            {"last": last, "id": name, "size": size},
        )
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return time.perf_counter() - begun


def questions(size: int, now: float) -> dict[str, tuple[str, dict[str, str]]]:
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
        "list of a label": (lists, {"label": "team:team-7"}),
        "list of a day": (lists, {"since": at(15), "until": at(14)}),
        "list of a status of a day": (lists, {"since": at(15), "until": at(14), "status": "cancelled"}),
        "search, few have it": (lists, {"text": rare}),
        "search, nobody has it": (lists, {"text": "qqqqqq"}),
        "search, many have it": (lists, {"text": "stayed shut"}),
        "search, all have it": (lists, {"text": "book-"}),
        "search, two characters": (lists, {"text": "zq"}),
        "search in a status": (lists, {"text": "gate of", "status": "failed"}),
        "counts": (counts, {}),
        "counts of a playbook": (counts, {"playbook": "book-7"}),
        "counts by playbook": (counts, {"by": "playbook"}),
        "counts by hour, of a day": (counts, {"by": "hour", "since": at(1)}),
        "counts of a label": (counts, {"label": "team:team-7"}),
        "counts of a text": (counts, {"text": rare}),
    }  # fmt: skip


async def measured(url: str, token: str, size: int) -> dict[str, dict[str, float]]:
    """Ask everything."""
    headers = {"Authorization": f"Bearer {token}"}
    found: dict[str, dict[str, float]] = {}
    async with httpx2.AsyncClient(base_url=f"{url}/api/v1", headers=headers, timeout=600) as http:
        await _indexed(http)
        for name, (path, params) in questions(size, SystemClock().now()).items():
            found[name] = await timed(
                TIMES, lambda path=path, params=params: http.get(path, params=params)
            )  # type: ignore[misc]
            print(f"| {name} | {' | '.join(map(str, found[name].values()))} |", flush=True)
        found["far behind"] = await _far(http)
    return found


async def _indexed(http: httpx2.AsyncClient) -> None:
    """Search until everything is in the index: what is behind it is looked through."""
    begun = time.perf_counter()
    took = 1.0
    while took > 0.05 and time.perf_counter() - begun < 600:
        at = time.perf_counter()
        (await http.get("/executions", params={"text": "qqqqqq"})).raise_for_status()
        took = time.perf_counter() - at
        await asyncio.sleep(1)
    print(f"indexed for searches in {time.perf_counter() - begun:.0f} s", flush=True)


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


def main() -> None:
    """Fill a home, serve it, ask."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="petra-lists-") as folder:
        home = Path(folder, ".petra")
        print(f"{size:,} executions made in {filled(home, size):.0f} s", flush=True)
        with served(home) as said:
            found = asyncio.run(measured(said["url"], said["token"], size))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
