"""How long hostile executions hold up others: python benchmarks/bystander.py [--busy N] [CASE …]

Small executions, one every tenth of a second, run beside each hostile case in the same engine. Shown for each case are how
many there were, how many took two seconds longer than usual, and the worst delay: the longest that one took, beyond the median
without any hostile company. With ``--busy N``, as many other processes use processors all the while.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from petra.embedded import Home
from petra.playbook import Playbook, read

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: case}\n"
ENDLESS = (
    "workload: {n: 1}\nworkflow:\n  - {step: a, next: {arcs: [{step: b, when: '{{ workload.n != 1 }}'}, {step: c}]}}\n"
    "  - {step: c, next: {arcs: [{step: a}]}}\n  - {step: b, tool: {kind: noop}}\n"
)
WATCHED_S = 10.0
"""Seconds that a case is watched; what it has not come to by then is not waited for."""
EVERY_S = 0.1
LATE_S = 2.0
NOBODY = "nobody"
FIVE_MIB = 5 * 1024 * 1024


def code(text: str, more: str = "") -> Playbook:
    """Return a playbook of one step that runs Python code."""
    tool = json.dumps({"kind": "python", "code": text})
    return read(f"{HEAD}{more}workflow:\n  - step: work\n    tool: {tool}\n", "case").checked()


CASES: dict[str, tuple[Playbook, int, dict[str, Any]]] = {
    NOBODY: (code("result = 1"), 0, {}),
    "a regex that holds the interpreter": (
        code("import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')"), 1, {},
    ),
    "a loop in C code": (
        code("import collections, itertools\ncollections.deque(itertools.repeat(0), 0)"), 1, {},
    ),
    "a sleep that keeps the interpreter": (
        code("import ctypes\nctypes.PyDLL(None).sleep(1000)"), 1, {},
    ),
    "a step that stops its worker": (code("import os\nos.kill(os.getpid(), 19)"), 1, {}),
    "six that hold the interpreter": (
        code("import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')"), 6, {},
    ),
    "a loop in a thread": (code("while True: pass"), 1, {}),
    "a step that kills its worker": (code("import os\nos._exit(7)"), 1, {}),
    "eight steps that kill their worker": (code("import os\nos._exit(7)"), 8, {}),
    "a bare BaseException": (code("raise BaseException('bare')"), 4, {}),
    "a million lines": (code("for n in range(10**6): print('ab')\nresult = 1"), 1, {}),
    "a result of 30 MB": (code("result = ['x' * 1000] * 30_000"), 2, {}),
    "a round that never waits": (read(HEAD + ENDLESS).checked(), 1, {}),
    "16 workloads of 5 MiB": (code("result = 1", "workload: {pad: ''}\n"), 16, {"pad": "x" * FIVE_MIB}),
}  # fmt: skip


async def watched(petra: Home, name: str) -> tuple[list[float], dict[str, int]]:
    """Run a case beside bystanders; return how long each of those took, and what came of the case."""
    book, times, workload = CASES[name]
    small, took = code("result = 1"), list[float]()
    await petra.run(small)
    hostile = [asyncio.create_task(petra.run(book, workload)) for _ in range(times)]

    async def bystander() -> None:
        began = perf_counter()
        result = await petra.run(small)
        assert result.status == "completed", result
        took.append(perf_counter() - began)

    async with asyncio.TaskGroup() as stream:
        for _ in range(int(WATCHED_S / EVERY_S)):
            stream.create_task(bystander())
            await asyncio.sleep(EVERY_S)
    outcomes: dict[str, int] = {}
    for task in hostile:
        said = task.result().status if task.done() and not task.exception() else "goes on"
        outcomes[said] = outcomes.get(said, 0) + 1
        task.cancel()
    await asyncio.gather(*hostile, return_exceptions=True)
    return took, outcomes


async def measure(folder: Path, names: list[str]) -> float:
    """Measure cases, each in a folder of its own, and show them; return the worst delay."""
    usual, worst = 0.0, 0.0
    print(
        f"{'beside':<38}{'bystanders':>11}{'late':>6}{'median s':>10}{'worst delay s':>15}  came to"
    )
    for number, name in enumerate(names):
        async with Home.open(folder / str(number)) as petra:
            took, outcomes = await watched(petra, name)
        usual = usual or statistics.median(took)
        delay = max(took) - usual
        worst = max(worst, delay)
        median = statistics.median(took)
        late = sum(one - usual > LATE_S for one in took)
        figures = f"{len(took):>11,}{late:>6}{median:>10.3f}{delay:>15.3f}"
        print(f"{name:<38}{figures}  {outcomes or ''}", flush=True)
    return worst


def main() -> None:
    """Measure, and say the worst."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    names = [
        name
        for name in CASES
        if name == NOBODY or not options.cases or any(word in name for word in options.cases)
    ]
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)
    ]
    try:
        with tempfile.TemporaryDirectory() as made:
            print(f"worst delay: {asyncio.run(measure(Path(made), names)):.3f} s")
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
