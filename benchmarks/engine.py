"""W1 to W3 and a loop, durable: SQLite with synchronous=FULL, the worker in a process of its own.

python benchmarks/engine.py [--only W2] [--profile [FOLDER]] [--top 20]

Beside each figure stand the wall time and the CPU time of engine and worker. ``--profile`` writes a cProfile of
each of them per workload; it makes everything slower, so that those figures are for comparing functions only.
Times depend on the disk: the floor of one synced commit is printed first.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import os
import pstats
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from machine import floor_ms
from processes import profiled_workers, take_profile, used
from workloads import chain, fan, loop

from petra.embedded import Home, Result
from petra.playbook import Playbook


@dataclass(frozen=True, slots=True)
class Workload:
    """Something to run, and how its time becomes a figure."""

    name: str
    what: str
    run: Callable[[Home], Awaitable[None]]
    units: int
    unit: str

    def figure(self, seconds: float) -> str:
        if self.unit == "ms per step":
            return f"{seconds / self.units * 1000:.2f} {self.unit}"
        return f"{self.units / seconds:,.0f} {self.unit}"


async def completed(petra: Home, book: Playbook) -> Result:
    result = await petra.run(book)
    assert result.status == "completed", result
    return result


def one(book: Playbook, times: int = 1) -> Callable[[Home], Awaitable[None]]:
    async def run(petra: Home) -> None:
        for _ in range(times):
            await completed(petra, book)

    return run


def at_once(book: Playbook, executions: int) -> Callable[[Home], Awaitable[None]]:
    async def run(petra: Home) -> None:
        await asyncio.gather(*(completed(petra, book) for _ in range(executions)))

    return run


def workloads() -> list[Workload]:
    return [
        Workload(
            "W1", "chain of 20 python steps, 10 times", one(chain(20), 10), 200, "ms per step"
        ),
        Workload(
            "W2", "500 executions of 5 steps at once", at_once(chain(5), 500), 2500, "steps/s"
        ),
        Workload("W3", "fan-out of 1,000 with a join", one(fan(1_000)), 1_000, "items/s"),
        Workload("W3", "fan-out of 10,000 with a join", one(fan(10_000)), 10_000, "items/s"),
        Workload("loop", "loop of 20,000 items", one(loop(20_000)), 20_000, "items/s"),
    ]


class Profiles:
    """A profile of each process per workload, in one folder."""

    def __init__(self, folder: Path, top: int) -> None:
        self.folder, self.top = folder, top
        self.of_worker = folder / "worker.now"

    async def around(self, pid: int, name: str, work: Awaitable[None]) -> None:
        take_profile(pid, self.of_worker, self.folder / "before.prof")
        profile = cProfile.Profile()
        profile.enable()
        try:
            await work
        finally:
            profile.disable()
        profile.dump_stats(self.folder / f"{name}.engine.prof")
        take_profile(pid, self.of_worker, self.folder / f"{name}.worker.prof")
        (self.folder / "before.prof").unlink()

    def show(self) -> None:
        for file in sorted(self.folder.glob("*.prof")):
            print(f"\n== {file}")
            pstats.Stats(str(file)).sort_stats("tottime").print_stats(self.top)


async def measure(folder: Path, only: str | None, profiles: Profiles | None) -> None:
    async with Home.open(folder / "home") as petra:
        await completed(petra, chain(20))  # the worker is up, and what is loaded late is loaded
        assert petra.keeper.worker is not None
        pid = petra.keeper.worker.pid
        for load in workloads():
            if only is not None and load.name.lower() != only.lower():
                continue
            began, engine, worker = time.perf_counter(), used(os.getpid()), used(pid)
            if profiles is None:
                await load.run(petra)
            else:
                await profiles.around(pid, f"{load.name}-{load.units}", load.run(petra))
            wall = time.perf_counter() - began
            engine, worker = used(os.getpid()) - engine, used(pid) - worker
            print(
                f"{load.name:<5} {load.what:<36} {load.figure(wall):>18}   wall {wall:.2f} s   "
                f"engine {engine}   worker {worker}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", help="W1, W2, W3 or loop")
    parser.add_argument(
        "--profile", nargs="?", const="", metavar="FOLDER", help="write a cProfile of each process"
    )
    parser.add_argument("--top", type=int, default=15, help="functions to show of each profile")
    given = parser.parse_args()
    profiles = None
    if given.profile is not None:
        folder = Path(given.profile or tempfile.mkdtemp(prefix="petra-profile-"))
        folder.mkdir(parents=True, exist_ok=True)
        profiles = Profiles(folder, given.top)
    with tempfile.TemporaryDirectory(prefix="petra-bench-") as home:
        print(f"one synced page: {floor_ms(Path(home)):.2f} ms")
        with profiled_workers(profiles.of_worker) if profiles else nullcontext():
            asyncio.run(measure(Path(home), given.only, profiles))
    if profiles:
        profiles.show()


if __name__ == "__main__":
    main()
