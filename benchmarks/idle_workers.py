"""What workers cost that are connected and have nothing to do: python benchmarks/idle_workers.py [--workers 1000] [--seconds 40]

It starts a server of its own and connects so many workers over WebSockets, each of which says and does what an idle one
does: hello, pings, answers to pings. Then it looks at the server for a while: its CPU, and what each worker added to it.
The CPU of those that are connected is this process's, and is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from in_turn import cpu_s
from lean_http import Connection, written
from processes import rss_mb
from starts import served
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from petra import event_loop
from petra.wire import frames as f
from petra.worker.remote import PING_S, PONG_S, socket_address

AT_ONCE = 50


async def asked(said: dict[str, Any], method: str, path: str, body: Any = None) -> Any:
    """Ask the server for something."""
    connection = await Connection.to(said["url"])
    raw = json.dumps(body).encode() if body is not None else b""
    answer = await connection.ask(
        written(said["url"], method, f"/api/v1{path}", said["token"], raw)
    )
    connection.close()
    assert answer.status < 300, answer
    return json.loads(answer.body)


async def come(url: str, token: str, number: int) -> ClientConnection:
    """Connect as a worker, and say hello."""
    connection = await connect(
        socket_address(url), additional_headers={"Authorization": f"Bearer {token}"}, subprotocols=[Subprotocol(f.SUBPROTOCOL)],
        compression=None, max_size=f.MAX_FRAME, ping_interval=PING_S, ping_timeout=PONG_S, open_timeout=60,
    )  # fmt: skip
    hello = f.Hello(worker=f"w{number}", slots=4, credit=4, kinds=["noop"], session=f"s{number}")
    await connection.send(f.encode(hello))
    return connection


async def connected(said: dict[str, Any]) -> int:
    """Return how many workers the server knows; a list of them would come in pages."""
    return sum(pool["workers"] for pool in (await asked(said, "GET", "/pools"))["items"])


async def measured(count: int, seconds: float) -> dict[str, Any]:
    """Connect so many, and look at the server."""
    with (
        tempfile.TemporaryDirectory(prefix="petra-bench-") as folder,
        served(Path(folder, ".petra"), more=("--workers", "0")) as said,
    ):
        pid = said["pid"]
        token = (await asked(said, "POST", "/tokens", {"role": "worker", "pool": "default"}))[
            "token"
        ]
        first = await come(said["url"], token, 0)  # what the first one loads is nobody's share
        await asyncio.sleep(2)
        alone_cpu, alone_mb = cpu_s(pid), rss_mb(pid)
        await asyncio.sleep(seconds / 3)
        alone = (cpu_s(pid) - alone_cpu) / (seconds / 3)
        before, connections = cpu_s(pid), [first]
        for begin in range(1, count, AT_ONCE):
            numbers = range(begin, min(begin + AT_ONCE, count))
            connections += await asyncio.gather(*(come(said["url"], token, n) for n in numbers))
        there = await connected(said)
        assert there == count, there
        came = cpu_s(pid) - before
        await asyncio.sleep(PING_S)
        before = cpu_s(pid)
        await asyncio.sleep(seconds)
        idle = (cpu_s(pid) - before) / seconds
        held = rss_mb(pid) - alone_mb
        there = await connected(said)
        assert there == count, f"{there} are left"
        for connection in connections:
            connection.transport.abort()
        return {
            "workers": count, "cpu_percent": round(100 * idle, 2), "cpu_percent_with_one": round(100 * alone, 2),
            "kb_each": round(held * 1024 / (count - 1), 1), "to_come_cpu_ms": round(1000 * came / (count - 1), 2),
        }  # fmt: skip


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=40.0)
    given = parser.parse_args()
    print(json.dumps(event_loop.run(measured(given.workers, given.seconds)), indent=2))


if __name__ == "__main__":
    main()
