"""What running a tool costs: python benchmarks/tools.py

Each line is the best of several rounds, per attempt, from ``Registry.attempt`` to the outcome. The goal for a
trivial python task in thread mode is 120 µs.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from petra.tools.base import ToolContext
from petra.tools.registry import Registry

TRIVIAL = {"code": "result = 1"}
MAIN = {"code": "def main(a, ctx, n=3):\n    return {'sum': a + n, 'k': ctx['k']}"}


async def measure(  # noqa: PLR0913, PLR0917 - a row of the table
    registry: Registry,
    name: str,
    kind: str,
    fields: Mapping[str, Any],
    context: ToolContext,
    number: int,
    at_once: int = 1,
) -> None:
    async def some() -> None:
        for _ in range(number // at_once):
            outcome = await registry.attempt(kind, fields, context)
            assert outcome.status == "ok", outcome.error

    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        await asyncio.gather(*(some() for _ in range(at_once)))
        best = min(best, (time.perf_counter() - start) / number)
    print(f"{name:<44} {best * 1e6:10.1f} µs")


async def main() -> None:
    registry = Registry(plug_ins=False)
    plain = ToolContext()
    full = ToolContext(
        args={"a": 1}, scope={"ctx": {"k": 2}, "workload": {}}, spec={"timeout_s": 60}
    )
    apart = ToolContext(spec={"isolation": "process"})
    await measure(registry, "noop", "noop", {}, plain, 5000)
    await measure(registry, "python in a thread, result = 1", "python", TRIVIAL, plain, 2000)
    await measure(registry, "the same, 16 at once", "python", TRIVIAL, plain, 4000, 16)
    await measure(
        registry, "python in a thread, main(a, ctx), a timeout", "python", MAIN, full, 2000
    )
    await measure(registry, "python in a process", "python", TRIVIAL, apart, 10)
    await measure(registry, "shell, argv", "shell", {"argv": ["true"]}, plain, 50)
    with tempfile.TemporaryDirectory() as folder:
        sql = {"database": str(Path(folder) / "x"), "command": "SELECT 1 AS n"}
        await measure(registry, "sqlite, one row", "sqlite", sql, plain, 500)
    await measure(
        registry, "duckdb in memory, one row", "duckdb", {"command": "SELECT 1"}, plain, 20
    )
    await registry.close()


if __name__ == "__main__":
    asyncio.run(main())
