"""How many webhooks a server takes in a second: signed, verified, each a durable start of its own execution.

    .venv/bin/python benchmarks/webhooks.py                 2,000 events by 32 connections
    .venv/bin/python benchmarks/webhooks.py --events 20000  on a quiet machine

It starts a server of its own, in a folder of its own, and ends it. On a machine that others use, look at the CPU time that
an event costs the server: that is what 'cpu_ms' says, and what a quiet core would do with it is 'per_core_s'.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from petra.clock import SystemClock
from petra.notify.signing import signed

BIN = Path(sys.executable).parent
SECRET = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ="
BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: hooked}
workflow:
  - step: rest
    tool: {kind: wait, signal: {name: go}}
"""
TRIGGER = """
apiVersion: petra/v1
kind: Trigger
metadata: {name: load}
playbook: hooked
webhook: {path: load, secret: load}
when: "{{ event.body.total > 10 }}"
workload: {order: "{{ event.body.order }}", total: "{{ event.body.total }}"}
"""
YAML = {"Content-Type": "application/yaml"}


async def prepared(url: str, token: str) -> None:
    """Apply what is needed."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=f"{url}/api/v1", headers=headers, timeout=60) as http:
        (await http.put("/playbooks/hooked", content=BOOK, headers=YAML)).raise_for_status()
        (await http.put("/secrets/load", json={"value": SECRET})).raise_for_status()
        (await http.put("/triggers/load", content=TRIGGER, headers=YAML)).raise_for_status()


async def sent(url: str, prefix: str, total: int, connections: int) -> dict[str, Any]:
    """Send so many events; return what came of them and how long each took."""
    left, took, states = iter(range(total)), list[float](), dict[str, int]()
    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)

    async def one(http: httpx2.AsyncClient) -> None:
        for number in left:
            body = json.dumps({"order": number, "total": 11 + number}).encode()
            name, at = f"{prefix}{number}", int(SystemClock().now())
            headers = {
                "webhook-id": name, "webhook-timestamp": str(at), "webhook-signature": signed(SECRET, name, at, body),
                "content-type": "application/json",
            }  # fmt: skip
            begun = time.perf_counter()
            answer = await http.post(f"{url}/hooks/load", content=body, headers=headers)
            took.append(time.perf_counter() - begun)
            state = answer.json().get("state", str(answer.status_code))
            states[state] = states.get(state, 0) + 1

    begun = time.perf_counter()
    async with httpx2.AsyncClient(limits=limits, timeout=600) as http:
        await asyncio.gather(*(one(http) for _ in range(connections)))
    seconds = time.perf_counter() - begun
    quantiles = statistics.quantiles(took, n=100)
    return {
        "events_per_s": round(total / seconds, 1), "p50_ms": round(quantiles[49] * 1000, 1),
        "p99_ms": round(quantiles[98] * 1000, 1), "states": states,
    }  # fmt: skip


def cpu_s(pid: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start a server, send it webhooks, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--connections", type=int, default=32)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        words = [
            BIN / "petra",
            "serve",
            "--home",
            folder,
            "--port",
            "0",
            "--workers",
            "0",
            "-o",
            "json",
        ]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as server:
            assert server.stdout is not None
            said = json.loads(server.stdout.readline())
            try:
                asyncio.run(prepared(said["url"], said["token"]))
                asyncio.run(sent(said["url"], "warm", 100, 8))
                before, own = cpu_s(server.pid), resource.getrusage(resource.RUSAGE_SELF).ru_utime
                found = asyncio.run(sent(said["url"], "e", given.events, given.connections))
                used = (cpu_s(server.pid) - before) / given.events
                mine = (resource.getrusage(resource.RUSAGE_SELF).ru_utime - own) / given.events
                again = asyncio.run(
                    sent(said["url"], "e", min(500, given.events), given.connections)
                )
                print(json.dumps({
                    **found, "cpu_ms": round(used * 1000, 3), "per_core_s": round(1 / used), "sender_cpu_ms": round(mine * 1000, 3),
                    "again": again["states"],
                }, indent=2))  # fmt: skip
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait()


if __name__ == "__main__":
    main()
