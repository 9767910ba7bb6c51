"""A loop over very many rows through the whole engine: python benchmarks/rows.py [--tool TOOL] [ROWS …]

A step makes a list that is stored as an object, a second one loops over it with a trivial task, on SQLite, with a worker
process. Shown for each length are the rows per second, the bytes on disk, and the memory of engine and worker: before the loop, and the most
while it ran. What grows with the rows is not flat. Each length has a process of its own, so that none begins with what another one
left. With ``--tool heavy`` each row comes to 512 KiB: 2,000 rows are a gibibyte.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from petra.embedded import Home
from petra.playbook import Playbook, read

EVERY_S = 0.2
LOOPED = 3
"""Steps that are done when the loop is."""
ROWS = (10_000, 100_000, 1_000_000)
BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {{name: rows}}
workload: {{rows: 0}}
workflow:
  - step: make
    tool: {{kind: python, args: {{n: "{{{{ workload.rows }}}}"}}, code: "result = [{{'n': one}} for one in range(n)]"}}
    next: {{arcs: [{{step: hold}}]}}
  - {{step: hold, tool: {{kind: wait, signal: {{name: go}}}}, next: {{arcs: [{{step: each}}]}}}}
  - step: each
    loop: {{in: "{{{{ make }}}}", iterator: row, spec: {{mode: parallel, max_in_flight: 64}}}}
    tool: {tool}
    next: {{arcs: [{{step: hold_again, args: {{n: "{{{{ event.counts.succeeded }}}}"}}}}]}}
  - {{step: hold_again, tool: {{kind: wait, signal: {{name: on}}}}, next: {{arcs: [{{step: last, args: {{n: "{{{{ args.n }}}}"}}}}]}}}}
  - {{step: last, tool: {{kind: python, code: "result = args['n']"}}}}
"""
TOOLS = {
    "noop": "{kind: noop}",
    "python": "{kind: python, args: {n: '{{ iter.row.n }}'}, code: 'result = n'}",
    "heavy": "{kind: python, args: {n: '{{ iter.row.n }}'}, code: 'result = [n, chr(120) * 2**19]'}",
}
HEAVY = (200, 1_000, 2_000)


def book(tool: str) -> Playbook:
    """Return the playbook whose loop runs a tool."""
    return read(BOOK.format(tool=TOOLS[tool]), "rows").checked()


def _size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20


def memory_mb(pid: int | str) -> float:
    """Return the memory of a process that is its own, or shared and used."""
    with contextlib.suppress(FileNotFoundError):  # it was replaced just now
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
    return 0.0


class Watch:
    """Notes the most memory that engine and worker have."""

    def __init__(self, petra: Home) -> None:
        self._petra = petra
        self.before = self.most = self._now()

    def _now(self) -> tuple[float, float]:
        worker = self._petra.keeper.worker
        return memory_mb("self"), memory_mb(worker.pid) if worker is not None else 0.0

    async def watch(self) -> None:
        """Look again and again."""
        while True:
            now = self._now()
            self.most = max(self.most[0], now[0]), max(self.most[1], now[1])
            await asyncio.sleep(EVERY_S)


async def measure(folder: Path, tool: str, rows: int) -> None:
    """Run one loop and show its figures."""
    async with Home.open(folder) as petra:
        await petra.start(book(tool), {"rows": rows}, execution="e")
        await petra.rest("e")
        watch = Watch(petra)
        watching = asyncio.create_task(watch.watch())
        began = perf_counter()
        await petra.signal("e", "go")
        await petra.rest("e", until=lambda found: found.counts.get("done", 0) >= LOOPED)
        took = perf_counter() - began
        watching.cancel()
        await petra.signal("e", "on")
        result = await petra.rest("e", until=lambda found: found.status == "completed")
        assert result.output == rows, result
    disk = _size_mb(folder)
    (engine, worker), (engine_most, worker_most) = watch.before, watch.most
    print(
        f"{tool:<8}{rows:>10,}{took:>9.1f}{rows / took:>10,.0f}{disk:>10.1f}"
        f"{engine:>10.0f}{engine_most:>8.0f}{worker:>10.0f}{worker_most:>8.0f}",
        flush=True,
    )


def main() -> None:
    """Measure loops of every length, each in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", choices=TOOLS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("rows", type=int, nargs="*")
    options = parser.parse_args()
    if options.alone:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(measure(Path(folder), options.tool, options.rows[0]))
        return
    print(
        f"{'tool':<8}{'rows':>10}{'s':>9}{'rows/s':>10}{'disk MB':>10}"
        f"{'engine MB':>10}{'most':>8}{'worker MB':>10}{'most':>8}",
        flush=True,
    )
    for tool in [options.tool] if options.tool else ["noop", "python"]:
        for rows in options.rows or (HEAVY if tool == "heavy" else ROWS):
            again = [sys.executable, __file__, "--alone", "--tool", tool, str(rows)]
            subprocess.run(again, check=True)


if __name__ == "__main__":
    main()
