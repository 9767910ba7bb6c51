"""What a step costs as there is more of everything: python benchmarks/curves.py [--full | --quick] [--postgres] [--only W2] [--rounds 3] [--into FILE]

W2       so many executions of 5 steps alive at once
W3       a fan-out of so many with a join
waiting  so many executions that wait for a person; each counts as a step
W1-old   a chain of 20 steps on a store that holds so many executions that have ended
W2-old   500 executions of 5 steps at once on the same

Each sample is a process of its own; only one runs at a time, and the points of a curve take turns. Shown are medians: CPU of
engine, worker and database per step, wall time per step, the peak of the engine's memory, and what a step leaves on disk. Without
``--full`` the largest point of each curve is left out; ``--quick`` takes a hundredth of the sizes, to see that everything runs.
With ``--postgres`` the store is a server of our own that syncs like any other. What cannot run is an error.
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
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]
from ended import copied_in_database, copied_in_file
from in_turn import cpu_s, started_by
from machine import describe, floor_ms
from processes import peak_mb, server_cpu_s
from workloads import approval, chain, fan

from petra import event_loop
from petra.embedded import DATABASE, Home
from petra.playbook import Playbook

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.database import Database

LIMIT_S = 3_600
AT_ONCE = 500
CHAINS = 10
QUICK = 100
"""What sizes are divided by where nobody wants to know more than whether it runs."""
FIGURES = ("engine_us", "worker_us", "server_us", "wall_us", "peak_mb", "disk_bytes")
TITLES = ("engine, µs", "worker, µs", "database, µs", "wall, µs", "peak, MB", "disk, bytes")


@dataclass(frozen=True, slots=True)
class Curve:
    """A workload, and the sizes it is tried with; the last one takes long."""

    name: str
    what: str
    sizes: tuple[int, ...]


CURVES = (
    Curve("W2", "executions of 5 steps alive at once", (500, 5_000, 50_000)),
    Curve("W3", "branches of a fan-out with a join", (1_000, 10_000, 100_000)),
    Curve("waiting", "executions that wait for a person", (10_000, 100_000, 1_000_000)),
    Curve("W1-old", "ended executions in the store, a chain of 20", (0, 100_000, 1_000_000)),
    Curve("W2-old", "ended executions in the store, 500 at once", (0, 100_000, 1_000_000)),
)


# One sample


async def completed(home: Home, book: Playbook) -> None:
    result = await home.run(book)
    assert result.status == "completed", result


async def waves(count: int, run: Callable[[], Awaitable[None]]) -> None:
    """Do something so many times, not all at once."""
    for begin in range(0, count, AT_ONCE):
        await asyncio.gather(*(run() for _ in range(min(AT_ONCE, count - begin))))


async def work(home: Home, name: str, size: int) -> int:
    """Do the work of a curve; return how many steps it had."""
    if name == "W3":
        await completed(home, fan(size))
        return size
    if name == "W1-old":
        book = chain(20)
        for _ in range(CHAINS):
            await completed(home, book)
        return CHAINS * 20
    if name == "waiting":
        asking = approval()

        async def waits() -> None:
            assert (result := await home.run(asking)).status == "waiting", result

        await waves(size, waits)
        return size
    count, book = (AT_ONCE if name == "W2-old" else size), chain(5)
    await asyncio.gather(*(completed(home, book) for _ in range(count)))
    return count * 5


async def sample(name: str, size: int, folder: Path, dsn: str) -> dict[str, float]:
    """Take one sample in a folder that is new, or holds what it should."""
    if name.endswith("-old"):
        await grown_old(folder, size, dsn)
    async with Home.open(folder, store=dsn or None) as home:
        await completed(home, chain(20))
    before = await bytes_in(folder, dsn)
    async with Home.open(folder, store=dsn or None) as home:
        await completed(home, chain(20))
        own = os.getpid()
        workers = started_by(own)
        cpu, began = (cpu_s(own), sum(map(cpu_s, workers))), time.perf_counter()
        server = server_cpu_s(dsn)
        steps = await work(home, name, size)
        wall, server = time.perf_counter() - began, server_cpu_s(dsn) - server
        used = cpu_s(own) - cpu[0], sum(map(cpu_s, workers)) - cpu[1]
        peak = peak_mb(own)
    return {
        "engine_us": 1e6 * used[0] / steps,
        "worker_us": 1e6 * used[1] / steps,
        "server_us": 1e6 * server / steps,
        "wall_us": 1e6 * wall / steps,
        "peak_mb": peak,
        "disk_bytes": (await bytes_in(folder, dsn) - before) / (steps + 20),
    }


async def bytes_in(folder: Path, dsn: str) -> int:
    """Return the bytes of all files of a home, and of its database."""
    found = size_of(folder)
    if dsn:
        connection = await asyncpg.connect(dsn)
        found += await connection.fetchval("SELECT pg_database_size(current_database())")
        await connection.close()
    return found


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


async def grown_old(folder: Path, size: int, dsn: str) -> None:
    """Let a store hold many executions that have ended."""
    async with Home.open(folder, store=dsn or None) as home:
        ended = await home.run(chain(1))
        assert ended.status == "completed", ended
    if size and dsn:
        await copied_in_database(dsn, ended.id, size)
    elif size:
        copied_in_file(folder / DATABASE, ended.id, size)


# All of them


class Sampler:
    """Takes samples, each in a process of its own, on files or on a server of our own."""

    def __init__(self, database: Database | None) -> None:
        self._database = database
        self._taken = 0

    def end(self) -> None:
        """Stop the server."""
        if self._database is not None:
            self._database.remove()

    def ask(self, name: str, size: int) -> dict[str, float]:
        """Take a sample.

        Raises:
            SystemExit: it could not be taken.
        """
        self._taken += 1
        dsn = self._database.make(f"curve_{self._taken}") if self._database is not None else ""
        with tempfile.TemporaryDirectory(prefix="petra-curve-") as made:
            command = [sys.executable, __file__, "--one", name, str(size), made, dsn]
            try:
                ran = subprocess.run(
                    command, capture_output=True, text=True, timeout=LIMIT_S, check=False
                )
            except subprocess.TimeoutExpired:
                sys.exit(f"{name} with {size:,} was not done within {LIMIT_S:,} s")
        if ran.returncode:
            sys.exit(f"{name} with {size:,} cannot be measured:\n{ran.stderr[-3_000:]}")
        if self._database is not None:
            self._database.drop(f"curve_{self._taken}")
        found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
        return found


def measured(
    curves: list[Curve], rounds: int, sampler: Sampler
) -> dict[str, list[dict[str, float]]]:
    seen: dict[str, list[dict[str, float]]] = {}
    for number in range(rounds):
        for curve in curves:
            for size in curve.sizes:
                found = sampler.ask(curve.name, size)
                seen.setdefault(f"{curve.name} {size}", []).append(found)
                told = "  ".join(f"{key} {value:,.0f}" for key, value in found.items())
                print(f"round {number + 1}  {curve.name:<7}{size:>10,}  {told}", flush=True)
    return seen


def page(curves: list[Curve], seen: dict[str, list[dict[str, float]]], machine: str) -> str:
    """Return what was measured as a page."""
    how = " ".join(["python benchmarks/curves.py", *sys.argv[1:]])
    lines = ["# Cost curves", "", f"Per step, medians; `{how}`.", "", machine]
    for curve in curves:
        lines += ["", f"**{curve.name}**: {curve.what}", ""]
        lines += [f"| size | {' | '.join(TITLES)} |", "|---:" * (len(TITLES) + 1) + "|"]
        for size in curve.sizes:
            found = seen[f"{curve.name} {size}"]
            middle = [statistics.median(one[key] for one in found) for key in FIGURES]
            lines.append(f"| {size:,} | {' | '.join(f'{one:,.0f}' for one in middle)} |")
    return "\n".join(lines) + "\n"


def sizes_of(curve: Curve, *, full: bool, quick: bool) -> tuple[int, ...]:
    sizes = curve.sizes if full else curve.sizes[:-1]
    return tuple(size // QUICK for size in sizes) if quick else sizes


def main() -> None:
    """Measure, and show."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="the largest sizes too")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the sizes")
    parser.add_argument("--postgres", action="store_true", help="on a server of our own")
    parser.add_argument("--only", nargs="*", default=[one.name for one in CURVES])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--into", type=Path, help="the page that the results go to")
    parser.add_argument("--one", nargs=4, metavar=("CURVE", "SIZE", "FOLDER", "DATABASE"))
    given = parser.parse_args()
    if given.one:
        name, size, folder, dsn = given.one
        print(json.dumps(event_loop.run(sample(name, int(size), Path(folder) / "home", dsn))))
        return
    curves = [
        Curve(one.name, one.what, sizes_of(one, full=given.full, quick=given.quick))
        for one in CURVES
        if one.name in given.only
    ]
    sampler = Sampler(Database() if given.postgres else None)
    with tempfile.TemporaryDirectory() as made:
        about = describe(Path(made)) | {"one synced page": f"{floor_ms(Path(made)):.2f} ms"}
    machine = "  \n".join(f"{key}: {value}" for key, value in about.items())
    try:
        text = page(curves, measured(curves, given.rounds, sampler), machine)
    finally:
        sampler.end()
    print(text)
    if given.into is not None:
        given.into.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
