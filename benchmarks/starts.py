"""What a start over HTTP costs: ``POST /executions`` of a playbook of two steps, by 32 connections, durable on SQLite.

    .venv/bin/python benchmarks/starts.py                       so many a second, and the slowest of a hundred at half of that
    .venv/bin/python benchmarks/starts.py TREE TREE --rounds 9  CPU of two checkouts, in turn, and the ratios to the first

Server, worker and client share the processors; so what says most is the CPU that a start costs each of them, which is
told apart. A start is accepted when its answer was read: 201, an id of its own, and where it is. The rate is that of
accepted starts while the worker does the steps of those that began before; what is left to do afterwards is said, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from in_turn import cpu_s, started_by
from lean_http import Connection, written

from petra import event_loop

CONNECTIONS = 32
HERE = Path(__file__).parents[1]
TWO_STEPS = (
    "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: two}\nworkflow:\n"
    "  - {step: one, tool: {kind: noop}, next: {arcs: [{step: two}]}}\n  - {step: two, tool: {kind: noop}}\n"
)
PARTS = ("server", "worker", "client")


@contextmanager
def served(home: Path, tree: Path = HERE, more: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Run a server of a tree on a home; give what it says of itself, and after how many seconds it answered."""
    command = [sys.executable, "-m", "petra", "serve", "--home", str(home), "--port", "0"]
    begun = time.perf_counter()
    server = subprocess.Popen(
        [*command, "-o", "json", *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=home.parent,
        env={**os.environ, "PYTHONPATH": str(tree.resolve() / "src")},
    )  # fmt: skip
    try:
        assert server.stdout is not None
        said = json.loads(server.stdout.readline())
        yield said | {"answers_s": round(time.perf_counter() - begun, 2)}
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


class Starter:
    """Starts executions at a server, by so many connections that stay."""

    def __init__(self, said: dict[str, Any]) -> None:
        self._url, self._token, self.pid = said["url"], said["token"], said["pid"]
        self._connections: list[Connection] = []
        self._ids: set[str] = set()

    async def open(self, connections: int = CONNECTIONS) -> None:
        """Connect, and apply the playbook."""
        self._connections = [await Connection.to(self._url) for _ in range(connections)]
        body = json.dumps({"text": TWO_STEPS}).encode()
        path = "/api/v1/playbooks"
        answer = await self._connections[0].ask(written(self._url, "POST", path, self._token, body))
        assert answer.status in (200, 201), answer

    def close(self) -> None:
        """Hang up."""
        for one in self._connections:
            one.close()

    async def starts(self, total: int, rate: float = 0.0) -> dict[str, float]:
        """Start so many at once; with a ``rate`` each at its moment, from which it is timed."""
        left, took = iter(range(total)), list[float]()
        request = written(
            self._url, "POST", "/api/v1/executions", self._token, b'{"playbook": "two"}'
        )

        async def one(connection: Connection) -> None:
            for number in left:
                begun = time.perf_counter()
                if rate:
                    due = begun_all + number / rate
                    await asyncio.sleep(max(0.0, due - begun))
                    begun = due
                answer = await connection.ask(request)
                took.append(time.perf_counter() - begun)
                assert answer.status == 201, answer
                made = json.loads(answer.body)["id"]
                assert answer.headers[b"location"].decode().endswith(f"/{made}"), answer
                self._ids.add(made)

        known, begun_all = len(self._ids), time.perf_counter()
        await asyncio.gather(*map(one, self._connections))
        seconds = time.perf_counter() - begun_all
        assert len(self._ids) == known + total, "every start has an id of its own"
        return {
            "starts_per_s": round(total / seconds, 1),
            "p99_ms": round(statistics.quantiles(took, n=100)[98] * 1000, 1),
        }

    async def done(self) -> float:
        """Wait until everything that was started has ended well; return how many seconds that took."""
        begun = time.perf_counter()
        while await self._listed("running"):  # noqa: ASYNC110 - it is another process that ends them
            await asyncio.sleep(0.1)
        assert not await self._listed("failed")
        return round(time.perf_counter() - begun, 2)

    async def _listed(self, status: str) -> list[Any]:
        path = f"/api/v1/executions?playbook=two&status={status}&limit=1"
        answer = await self._connections[0].ask(written(self._url, "GET", path, self._token))
        assert answer.status == 200, answer
        found: list[Any] = json.loads(answer.body)["items"]
        return found

    def used(self) -> list[float]:
        """Return the CPU seconds of server, worker and client so far."""
        return [cpu_s(self.pid), sum(map(cpu_s, started_by(self.pid))), time.process_time()]

    async def round(self, total: int) -> list[float]:
        """Start so many, to their ends; return the CPU milliseconds that each cost server, worker and client."""
        before = self.used()
        await self.starts(total)
        await self.done()
        return [1000 * (b - a) / total for a, b in zip(before, self.used(), strict=True)]


async def alone(total: int) -> dict[str, Any]:
    """Measure this tree."""
    with (
        tempfile.TemporaryDirectory(prefix="petra-bench-") as folder,
        served(Path(folder, ".petra")) as said,
    ):
        starter = Starter(said)
        await starter.open()
        await starter.starts(min(200, total))
        before, begun = starter.used(), time.perf_counter()
        found: dict[str, Any] = {"answers_s": said["answers_s"]}
        found["starts"] = await starter.starts(total)
        found["done after another s"] = await starter.done()
        found["ended_per_s"] = round(total / (time.perf_counter() - begun), 1)
        parts = zip(PARTS, before, starter.used(), strict=True)
        found["cpu_ms"] = {name: round(1000 * (b - a) / total, 3) for name, a, b in parts}
        half = found["starts"]["starts_per_s"] / 2
        found["at half of that"] = await starter.starts(total // 3, half)
        starter.close()
    return found


async def in_turn(trees: list[Path], total: int, rounds: int) -> None:
    """Measure several trees in turn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="petra-bench-")))
        homes = [folder / str(number) / ".petra" for number in range(len(trees))]
        for home in homes:
            home.parent.mkdir()
        said = [
            stack.enter_context(served(home, tree)) for home, tree in zip(homes, trees, strict=True)
        ]
        starters = [Starter(one) for one in said]
        for starter in starters:
            await starter.open()
            await starter.round(total)  # to get warm
        seen: list[list[list[float]]] = [[] for _ in starters]
        for _ in range(rounds):
            for starter, figures in zip(starters, seen, strict=True):
                figures.append(await starter.round(total))
        for tree, mine in zip(trees, seen, strict=True):
            print(f"{tree.resolve().name:<16} {_told(mine, seen[0])}", flush=True)
        for starter in starters:
            starter.close()


def _told(mine: list[list[float]], first: list[list[float]]) -> str:
    words = []
    for place, name in enumerate([*PARTS, "server + worker"]):
        ours, theirs = (
            [sum(one[:2]) if place == len(PARTS) else one[place] for one in seen]
            for seen in (mine, first)
        )
        ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        words.append(f"{name} {statistics.median(ours):.3f} ms ({ratio:.3f})")
    return "   ".join(words)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--starts", type=int, default=0)
    given = parser.parse_args()
    if given.trees:
        event_loop.run(in_turn(given.trees, given.starts or 300, given.rounds))
    else:
        print(json.dumps(event_loop.run(alone(given.starts or 6_000)), indent=2))


if __name__ == "__main__":
    main()
