"""One engine beside two of a server on PostgreSQL, in turn: python benchmarks/servers.py [--rounds 5] [--executions 150]

Each round starts a server of its own on a database of its own, for one engine and then for two, starts that many chains of 20
steps over HTTP, and waits for their ends. Shown are wall time and CPU time per step, medians of the rounds, and the median of
the ratios round by round. CPU is that of all engines, of their workers, and of the database.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from in_turn import cpu_s, started_by
from support.database import Database
from workloads import chain_text

STEPS, AT_ONCE, WARM = 20, 32, 60
PARTS = ("wall", "engines", "workers", "database")


def split(server: int) -> tuple[float, float]:
    """Return the CPU seconds of engines and of workers so far."""
    names = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in started_by(server)}
    engines = [pid for pid, name in names.items() if b"further_engine" in name]
    rest = [pid for pid in names if pid not in engines]
    return cpu_s(server) + sum(map(cpu_s, engines)), sum(map(cpu_s, rest))


async def warm(url: str, token: str) -> None:
    """Have all engines come, take their share, and load what they need: a start of a program is not what is measured."""
    await asyncio.sleep(4.0)
    await run(url, token, WARM)


async def run(url: str, token: str, executions: int) -> float:
    """Start so many executions, and wait until all there are have ended; return how long that took."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=f"{url}/api/v1", headers=headers, timeout=600) as api:
        assert (await api.post("/playbooks", json={"text": chain_text(STEPS)})).is_success
        done = asyncio.Semaphore(AT_ONCE)

        async def start() -> None:
            async with done:
                found = await api.post("/executions", json={"playbook": "bench"})
                assert found.status_code == 201, found.text

        known = (await api.get("/executions/counts")).json()["total"]
        began = time.monotonic()
        await asyncio.gather(*(start() for _ in range(executions)))
        while True:
            counts = (await api.get("/executions/counts", params={"by": "status"})).json()["counts"]
            if counts.get("completed") == known + executions:
                return time.monotonic() - began
            await asyncio.sleep(0.05)


def one(cluster: Database, number: int, engines: int, executions: int) -> list[float]:
    """Return what a step took with so many engines, in microseconds, by part."""
    dsn = cluster.make(f"round{number}_{engines}")
    petra = str(Path(sys.executable).parent / "petra")
    with tempfile.TemporaryDirectory() as folder:
        words = ["serve", "--home", f"{folder}/.petra", "--port", "0", "-o", "json", "--store", dsn]
        process = subprocess.Popen(
            [petra, *words, "--engines", str(engines)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )  # fmt: skip
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            asyncio.run(warm(said["url"], said["token"]))
            postmaster = int((cluster.folder / "data/postmaster.pid").read_text().split()[0])
            before = (*split(process.pid), sum(map(cpu_s, started_by(postmaster))))
            wall = asyncio.run(run(said["url"], said["token"], executions))
            after = (*split(process.pid), sum(map(cpu_s, started_by(postmaster))))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
    spent = [wall, *(b - a for a, b in zip(before, after, strict=True))]
    return [1e6 * seconds / (executions * STEPS) for seconds in spent]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--executions", type=int, default=150)
    given = parser.parse_args()
    cluster = Database()
    seen: dict[int, list[list[float]]] = {1: [], 2: []}
    try:
        for number in range(given.rounds):
            for engines, figures in seen.items():
                figures.append(one(cluster, number, engines, given.executions))
                print(engines, [round(x) for x in figures[-1]], file=sys.stderr, flush=True)
    finally:
        cluster.remove()
    for at, part in enumerate(PARTS):
        alone, two = ([figures[at] for figures in seen[engines]] for engines in (1, 2))
        ratio = statistics.median(a / b for a, b in zip(alone, two, strict=True))
        print(
            f"{part:<9} one {statistics.median(alone):7.0f} µs   two {statistics.median(two):7.0f} µs   one/two {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
