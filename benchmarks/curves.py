"""What a step costs as there is more of everything: python benchmarks/curves.py [--full] [--only W2] [--rounds 3] [--into FILE]

W2       so many executions of 5 steps alive at once
W3       a fan-out of so many with a join
W1-old   a chain of 20 steps on a store that holds so many executions that have ended
W2-old   500 executions of 5 steps at once on the same

Each sample is a process of its own; only one runs at a time, and the points of a curve take turns. Shown are medians: CPU of
engine and worker per step, wall time per step, the peak of the engine's memory, and what a step leaves on disk. Without ``--full`` the
largest point of each curve is left out. What cannot run is an error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
from in_turn import cpu_s, started_by
from machine import describe, floor_ms
from processes import peak_mb
from workloads import chain, fan

import petra
from petra import event_loop
from petra.embedded import DATABASE
from petra.playbook import Playbook
from petra.store.rows import shard_of

LIMIT_S = 3_600
AT_ONCE = 500
CHAINS = 10
SEQ_BITS = 32
FIGURES = ("engine_us", "worker_us", "wall_us", "peak_mb", "disk_bytes")
TITLES = ("engine, µs", "worker, µs", "wall, µs", "peak, MB", "disk, bytes")


@dataclass(frozen=True, slots=True)
class Curve:
    """A workload, and the sizes it is tried with; the last one takes long."""

    name: str
    what: str
    sizes: tuple[int, ...]


CURVES = (
    Curve("W2", "executions of 5 steps alive at once", (500, 5_000, 50_000)),
    Curve("W3", "branches of a fan-out with a join", (1_000, 10_000, 100_000)),
    Curve("W1-old", "ended executions in the store, a chain of 20", (0, 100_000, 1_000_000)),
    Curve("W2-old", "ended executions in the store, 500 at once", (0, 100_000, 1_000_000)),
)


# One sample


async def completed(home: Any, book: Playbook) -> None:
    result = await home.run(book)
    assert result.status == "completed", result


async def work(home: Any, name: str, size: int) -> int:
    """Do the work of a curve; return how many steps it had."""
    if name == "W3":
        await completed(home, fan(size))
        return size
    if name == "W1-old":
        book = chain(20)
        for _ in range(CHAINS):
            await completed(home, book)
        return CHAINS * 20
    count, book = (AT_ONCE if name == "W2-old" else size), chain(5)
    await asyncio.gather(*(completed(home, book) for _ in range(count)))
    return count * 5


async def sample(name: str, size: int, folder: Path) -> dict[str, float]:
    """Take one sample in a folder that is new, or holds what it should."""
    async with petra.open(folder) as home:
        await completed(home, chain(20))
    if name.endswith("-old"):
        await grown_old(folder, size)
    before = bytes_in(folder)
    async with petra.open(folder) as home:
        await completed(home, chain(20))
        own = os.getpid()
        workers = started_by(own)
        cpu, began = (cpu_s(own), sum(map(cpu_s, workers))), time.perf_counter()
        steps = await work(home, name, size)
        wall = time.perf_counter() - began
        used = cpu_s(own) - cpu[0], sum(map(cpu_s, workers)) - cpu[1]
        peak = peak_mb(own)
    return {
        "engine_us": 1e6 * used[0] / steps,
        "worker_us": 1e6 * used[1] / steps,
        "wall_us": 1e6 * wall / steps,
        "peak_mb": peak,
        "disk_bytes": (bytes_in(folder) - before) / (steps + 20),
    }


def bytes_in(folder: Path) -> int:
    """Return the bytes of all files of a home."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


async def grown_old(folder: Path, size: int) -> None:
    """Let a store hold many executions that have ended: copies of a real one, which differ in their ids only."""
    if not size:
        return
    async with petra.open(folder) as home:
        ended = await home.run(chain(1))
        assert ended.status == "completed", ended
    copy_rows(folder / DATABASE, ended.id, size)


def copy_rows(file: Path, execution: str, size: int) -> None:
    connection = apsw.Connection(str(file))
    connection.create_scalar_function("shard_of", lambda name: shard_of(str(name)), 1)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(executions)")]
    own = {
        "stream": ":last + n",
        "id": "'copy-' || n",
        "shard": "shard_of('copy-' || n)",
        "search": "replace(search, :id, 'copy-' || n)",
    }
    numbers = (
        "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < :size)"
    )
    (last,) = connection.execute("SELECT max(stream) FROM executions").fetchall()[0]
    (stream,) = connection.execute(
        "SELECT stream FROM executions WHERE id = ?", (execution,)
    ).fetchall()[0]
    given = {"last": last, "id": execution, "size": size, "stream": stream}
    with connection:
        connection.execute(
            f"{numbers} INSERT INTO executions ({', '.join(columns)}) "
            f"SELECT {', '.join(own.get(one, one) for one in columns)} FROM many, executions WHERE id = :id",
            given,
        )
        connection.execute(
            f"{numbers} INSERT INTO records (place, type, at, hash, previous, body) "
            f"SELECT ((:last + n) << {SEQ_BITS}) | (place & {(1 << SEQ_BITS) - 1}), type, at, hash, previous, body "
            f"FROM many, records WHERE place >> {SEQ_BITS} = :stream",
            given,
        )
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


# All of them


def ask(name: str, size: int) -> dict[str, float]:
    """Take a sample in a process of its own.

    Raises:
        SystemExit: it could not be taken.
    """
    with tempfile.TemporaryDirectory(prefix="petra-curve-") as made:
        command = [sys.executable, __file__, "--one", name, str(size), made]
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            sys.exit(f"{name} with {size:,} was not done within {LIMIT_S:,} s")
    if ran.returncode:
        sys.exit(f"{name} with {size:,} cannot be measured:\n{ran.stderr[-3_000:]}")
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


def measured(curves: list[Curve], rounds: int) -> dict[str, list[dict[str, float]]]:
    seen: dict[str, list[dict[str, float]]] = {}
    for number in range(rounds):
        for curve in curves:
            for size in curve.sizes:
                found = ask(curve.name, size)
                seen.setdefault(f"{curve.name} {size}", []).append(found)
                told = "  ".join(f"{key} {value:,.0f}" for key, value in found.items())
                print(f"round {number + 1}  {curve.name:<7}{size:>10,}  {told}", flush=True)
    return seen


def page(curves: list[Curve], seen: dict[str, list[dict[str, float]]], machine: str) -> str:
    """Return what was measured as a page."""
    lines = ["# Cost curves", "", "Per step, medians; `python benchmarks/curves.py`.", "", machine]
    for curve in curves:
        lines += ["", f"**{curve.name}**: {curve.what}", ""]
        lines += [f"| size | {' | '.join(TITLES)} |", "|---:" * (len(TITLES) + 1) + "|"]
        for size in curve.sizes:
            found = seen[f"{curve.name} {size}"]
            middle = [statistics.median(one[key] for one in found) for key in FIGURES]
            lines.append(f"| {size:,} | {' | '.join(f'{one:,.0f}' for one in middle)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and show."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="the largest sizes too")
    parser.add_argument("--only", nargs="*", default=[one.name for one in CURVES])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--into", type=Path, help="the page that the results go to")
    parser.add_argument("--one", nargs=3, metavar=("CURVE", "SIZE", "FOLDER"))
    given = parser.parse_args()
    if given.one:
        name, size, folder = given.one
        print(json.dumps(event_loop.run(sample(name, int(size), Path(folder) / "home"))))
        return
    curves = [
        Curve(one.name, one.what, one.sizes if given.full else one.sizes[:-1])
        for one in CURVES
        if one.name in given.only
    ]
    with tempfile.TemporaryDirectory() as made:
        about = describe(Path(made)) | {"one synced page": f"{floor_ms(Path(made)):.2f} ms"}
    machine = "  \n".join(f"{key}: {value}" for key, value in about.items())
    text = page(curves, measured(curves, given.rounds), machine)
    print(text)
    if given.into is not None:
        given.into.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
