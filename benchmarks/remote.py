"""A worker over WebSocket against one beside the engine: python benchmarks/remote.py [--rounds 7] [--only W2]

Two engines, each on a SQLite file of its own, do the same small pieces of work in turn: one with the worker that an open
folder starts, one as a server with a worker elsewhere (``petra worker``) that is connected to it. Callers are in the
process of the engine for both, so that what differs is the way to the worker. Shown are steps a second, the median of
the ratios round by round, and the CPU that a step costs engine and worker.
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
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from in_turn import UNITS, cpu_s, started_by, work
from workloads import chain, fan

from petra import __version__, event_loop
from petra.accounts import Register
from petra.desk import owner
from petra.embedded import Home
from petra.server import Identity, Reach, Service, serving

SIZES = {"W1": 10, "W2": 400, "W3": 2_000}
SLOTS = 64
BOOKS = {"W1": chain(20), "W2": chain(5), "W3": fan(SIZES["W3"])}


@asynccontextmanager
async def beside(folder: Path) -> AsyncIterator[tuple[Home, list[int]]]:
    """Give an engine with a worker beside it, and which processes are its workers'."""
    async with Home.open(folder, slots=SLOTS) as home:
        await home.run(BOOKS["W1"])
        yield home, [pid for pid in started_by(os.getpid()) if _is_worker(pid)]


@asynccontextmanager
async def elsewhere(folder: Path) -> AsyncIterator[tuple[Home, list[int]]]:
    """Give an engine whose worker came over a WebSocket, and which process that is."""
    async with Home.open(folder, workers=0) as home:
        register = Register(home.engine.store.accounts, home.clock)
        identity = Identity(folder, register, home.clock)
        await identity.open()
        service = Service(home.desk, identity, home.clock, folder, __version__)
        _, token = await register.issue(owner(), roles=["worker"], pool="default")
        async with serving(service, Reach(port=0)) as at:
            command = ["worker", "--server", at.url, "--slots", str(SLOTS)]
            worker = subprocess.Popen(  # noqa: ASYNC220 - once, before anything is measured
                [sys.executable, "-m", "petra", *command], env={**os.environ, "PETRA_TOKEN": token},
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                await home.run(BOOKS["W1"])
                yield home, [worker.pid, *started_by(worker.pid)]
            finally:
                worker.terminate()
                await asyncio.to_thread(worker.wait)


def _is_worker(pid: int) -> bool:
    """Whether a process is of the worker that the folder started, and not the one that came over a WebSocket."""
    return b"--server" not in Path(f"/proc/{pid}/cmdline").read_bytes()


async def piece(home: Home, workers: list[int], name: str) -> tuple[float, float, float]:
    """Do a piece of work; return steps a second, and microseconds of CPU that each cost engine and worker."""
    steps = SIZES[name] * UNITS[name]
    before, begun = (time.process_time(), sum(map(cpu_s, workers))), time.perf_counter()
    await work(home, name, BOOKS[name], SIZES[name])
    seconds = time.perf_counter() - begun
    after = time.process_time(), sum(map(cpu_s, workers))
    engine, worker = (1e6 * (b - a) / steps for a, b in zip(before, after, strict=True))
    return steps / seconds, engine, worker


async def measured(names: list[str], rounds: int) -> None:
    """Measure, and show."""
    with tempfile.TemporaryDirectory(prefix="petra-bench-") as folder:
        async with beside(Path(folder, "a")) as here, elsewhere(Path(folder, "b")) as there:
            for name in names:
                for side in (here, there):
                    await piece(*side, name)  # to get warm
                seen = [
                    (await piece(*here, name), await piece(*there, name)) for _ in range(rounds)
                ]
                ratio = statistics.median(b[0] / a[0] for a, b in seen)
                shown = {"ratio": round(ratio, 3)}
                for called, which in (("beside", 0), ("elsewhere", 1)):
                    median = [
                        statistics.median(one[which][part] for one in seen) for part in range(3)
                    ]
                    shown[called] = {
                        "steps_per_s": round(median[0]), "engine_us": round(median[1], 1), "worker_us": round(median[2], 1),
                    }  # fmt: skip
                print(name, json.dumps(shown), flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=list(SIZES))
    given = parser.parse_args()
    event_loop.run(measured(given.only, given.rounds))


if __name__ == "__main__":
    main()
