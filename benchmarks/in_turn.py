"""What a step costs in CPU time, in two or more checkouts, in turn: python benchmarks/in_turn.py TREE TREE … [--rounds 15] [--only W2] [--postgres]

Every tree has its own ``.venv``. All of them stay open, and each runs the same small piece of work when it is its turn, so
that what else happens on the machine happens to all of them; ``TREE@asyncio`` is one on that event loop. Shown are medians over the rounds, in microseconds per
step, of engine and worker apart and of the clock (which says something on a quiet machine), and the median of the ratios to the first
tree, round by round. All of them are warm: a new process takes longer (``peers.py``). With ``--postgres`` each tree has a database of its own on one
server that syncs like any other, and what the server takes is shown too.
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
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from processes import server_cpu_s

sys.path.append(str(Path(__file__).parents[1] / "tests"))

SIZES = {"W1": 20, "W2": 200, "W3": 1_000, "loop": 30_000}
UNITS = {"W1": 20, "W2": 5, "W3": 1, "loop": 1}
PARTS = ("engine", "worker", "wall", "database")


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process so far, with all threads that it had."""
    return time.clock_gettime((~pid << 3) | 2)  # the clock of another process, as Linux names it


def started_by(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended while we looked
            fields = stat.read_text("utf-8").rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


# A side: one tree, which works when it is told to


async def work(petra: Any, name: str, book: Any, size: int) -> None:
    """Do one piece of work."""

    async def completed() -> None:
        result = await petra.run(book)
        assert result.status == "completed", result

    if name == "W2":
        await asyncio.gather(*(completed() for _ in range(size)))
    else:
        for _ in range(size if name == "W1" else 1):
            await completed()


async def side(folder: Path, dsn: str) -> None:
    """Do what each line of the input names, and answer with the CPU time of engine and worker, and the time it took."""
    import workloads as w  # noqa: PLC0415 - of the tree that is measured

    import petra  # noqa: PLC0415

    books = {
        "W1": w.chain(20),
        "W2": w.chain(5),
        "W3": w.fan(SIZES["W3"]),
        "loop": w.loop(SIZES["loop"]),
    }
    async with petra.open(folder, store=dsn or None) as home:
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            name, own = line.strip(), os.getpid()
            before = cpu_s(own), sum(map(cpu_s, workers := started_by(own))), time.perf_counter()
            await work(home, name, books[name], SIZES[name])
            after = cpu_s(own), sum(map(cpu_s, workers)), time.perf_counter()
            print(json.dumps([b - a for a, b in zip(before, after, strict=True)]), flush=True)


def run_here(main: Coroutine[Any, Any, None]) -> None:
    """Run on the loop that the tree chooses; older ones have no choice."""
    try:
        run = import_module("petra.event_loop").run
    except ModuleNotFoundError:
        run = asyncio.run
    run(main)


# The one who tells them


class Side:
    """A process of one tree."""

    def __init__(self, name: str, folder: Path, dsn: str = "") -> None:
        self.dsn = dsn
        place, _, loop = name.partition("@")
        tree = self.tree = Path(place).resolve()
        here = [str(tree / ".venv/bin/python"), __file__, "--side", str(folder), dsn]
        self.process = subprocess.Popen(
            here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree,
            env={"PYTHONPATH": str(tree / "benchmarks"), "PATH": os.defpath, "PETRA_LOOP": loop},
        )  # fmt: skip

    def do(self, name: str) -> list[float]:
        """Have a piece of work done; return the microseconds per step of engine and worker, and in all."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        served = server_cpu_s(self.dsn)
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.tree}: it could not run {name}")
        used = [*json.loads(line), server_cpu_s(self.dsn) - served]
        return [1e6 * one / (SIZES[name] * UNITS[name]) for one in used]

    def end(self) -> None:
        """Have it close in order."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def table(name: str, trees: list[str], seen: list[list[list[float]]]) -> None:
    """Show the medians of a workload."""
    for place, tree in enumerate(trees):
        told = []
        for part, called in enumerate(PARTS):
            mine, first = ([one[part] for one in seen[at]] for at in (place, 0))
            if not all(first):  # there is no server
                continue
            ratio = statistics.median(a / b for a, b in zip(mine, first, strict=True))
            told.append(f"{called} {statistics.median(mine):7.1f} ({ratio:.3f})")
        print(f"{name}  {Path(tree).name or tree:<16} {'   '.join(told)}", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("trees", nargs="*", metavar="TREE[@LOOP]")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=list(SIZES))
    parser.add_argument("--postgres", action="store_true", help="on a server of our own")
    parser.add_argument("--side", nargs=2, metavar=("FOLDER", "DATABASE"))
    given = parser.parse_args()
    if given.side:
        folder, dsn = given.side
        run_here(side(Path(folder), dsn))
        return
    with ExitStack() as ending:
        made = Path(ending.enter_context(tempfile.TemporaryDirectory()))
        database = import_module("support.database").Database() if given.postgres else None
        if database is not None:
            ending.callback(database.remove)
        sides = []
        for number, tree in enumerate(given.trees):
            dsn = database.make(f"side_{number}") if database is not None else ""
            sides.append(Side(tree, made / str(number), dsn))
            ending.callback(sides[-1].end)
        for name in given.only:
            take_turns(name, given.trees, sides, given.rounds)


def take_turns(name: str, trees: list[str], sides: list[Side], rounds: int) -> None:
    """Have all sides do a piece of work so many times, and show what it took them."""
    for one in sides:
        one.do(name)  # to get warm
    seen: list[list[list[float]]] = [[] for _ in sides]
    for _ in range(rounds):
        for one, figures in zip(sides, seen, strict=True):
            figures.append(one.do(name))
    table(name, trees, seen)


if __name__ == "__main__":
    main()
