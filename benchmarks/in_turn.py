"""What a step costs in CPU time, in two or more checkouts, in turn: python benchmarks/in_turn.py TREE TREE … [--rounds 15] [--only W2]

Every tree has its own ``.venv``. All of them stay open, and each runs the same small piece of work when it is its turn, so
that what else happens on the machine happens to all of them; ``TREE@asyncio`` is one on that event loop. Shown are medians over the rounds, in microseconds per
step, of engine and worker apart, and the median of the ratios to the first tree, round by round.
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
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

SIZES = {"W1": 5, "W2": 200, "W3": 1_000}
UNITS = {"W1": 20, "W2": 5, "W3": 1}
PARTS = ("engine", "worker")


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


async def side(folder: Path) -> None:
    """Do what each line of the input names, and answer with the CPU time of engine and worker."""
    from workloads import chain, fan  # noqa: PLC0415 - of the tree that is measured

    import petra  # noqa: PLC0415

    books = {"W1": chain(20), "W2": chain(5), "W3": fan(SIZES["W3"])}
    async with petra.open(folder) as home:
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            name, own = line.strip(), os.getpid()
            before = cpu_s(own), sum(map(cpu_s, workers := started_by(own)))
            await work(home, name, books[name], SIZES[name])
            after = cpu_s(own), sum(map(cpu_s, workers))
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

    def __init__(self, name: str, folder: Path) -> None:
        place, _, loop = name.partition("@")
        tree = self.tree = Path(place).resolve()
        here = [str(tree / ".venv/bin/python"), __file__, "--side", str(folder)]
        self.process = subprocess.Popen(
            here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree,
            env={"PYTHONPATH": str(tree / "benchmarks"), "PATH": os.defpath, "PETRA_LOOP": loop},
        )  # fmt: skip

    def do(self, name: str) -> list[float]:
        """Have a piece of work done; return the microseconds per step of engine and worker."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.tree}: it could not run {name}")
        return [1e6 * one / (SIZES[name] * UNITS[name]) for one in json.loads(line)]

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
            ratio = statistics.median(a / b for a, b in zip(mine, first, strict=True))
            told.append(f"{called} {statistics.median(mine):7.1f} ({ratio:.3f})")
        print(f"{name}  {Path(tree).name or tree:<16} {'   '.join(told)}", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("trees", nargs="*", metavar="TREE[@LOOP]")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=list(SIZES))
    parser.add_argument("--side", type=Path)
    given = parser.parse_args()
    if given.side:
        run_here(side(given.side))
        return
    trees = given.trees
    with tempfile.TemporaryDirectory() as made:
        sides = [Side(tree, Path(made) / str(number)) for number, tree in enumerate(trees)]
        try:
            for name in given.only:
                for one in sides:
                    one.do(name)  # to get warm
                seen: list[list[list[float]]] = [[] for _ in sides]
                for _ in range(given.rounds):
                    for one, figures in zip(sides, seen, strict=True):
                        figures.append(one.do(name))
                table(name, trees, seen)
        finally:
            for one in sides:
                one.end()


if __name__ == "__main__":
    main()
