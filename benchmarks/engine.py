"""W1 to W3 and a loop, durable: SQLite with synchronous=FULL, the worker in a process of its own.

Times depend on the disk: the floor of one synced commit is printed beside them.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from petra.embedded import Local
from petra.playbook import Playbook, read

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: bench}\nworkflow:\n"


def chain(length: int) -> Playbook:
    text = HEAD
    for number in range(length):
        text += f"  - step: s{number}\n    tool: {{kind: python, code: 'result = 1'}}\n"
        if number + 1 < length:
            text += f"    next: {{arcs: [{{step: s{number + 1}}}]}}\n"
    return read(text).checked()


def fan(width: int) -> Playbook:
    text = (
        HEAD
        + f'  - step: split\n    next: {{arcs: [{{step: work, foreach: "{{{{ range({width}) }}}}"}}]}}\n'
    )
    text += "  - step: work\n    tool: {kind: python, code: 'result = 1'}\n    next: {arcs: [{step: join}]}\n"
    text += "  - step: join\n    spec: {join: {merge: {into: xs}}}\n    tool: {kind: noop}\n"
    return read(text).checked()


def loop(items: int) -> Playbook:
    text = (
        HEAD
        + f'  - step: work\n    loop: {{in: "{{{{ range({items}) }}}}", iterator: n, spec: {{mode: parallel}}}}\n'
    )
    return read(text + "    tool: {kind: python, code: 'result = 1'}\n").checked()


def floor_ms(folder: Path) -> float:
    """Return what one synced write of a page costs here."""
    taken = []
    with (folder / "floor").open("wb") as file:
        for _ in range(30):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


async def measure(folder: Path) -> list[tuple[str, str]]:
    rows = [("one synced page", f"{floor_ms(folder):.2f} ms")]
    async with Local.open(folder / "home") as petra:
        long = chain(20)
        await petra.run(long)
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            await petra.run(long)
            taken.append((time.perf_counter() - began) / 20 * 1000)
        rows.append(("W1: chain of 20 python steps", f"{statistics.median(taken):.2f} ms per step"))
        book = chain(5)
        began = time.perf_counter()
        await asyncio.gather(*(petra.run(book) for _ in range(500)))
        rows.append(
            (
                "W2: 500 executions of 5 steps at once",
                f"{2500 / (time.perf_counter() - began):,.0f} steps/s",
            )
        )
        for width in (1_000, 5_000):
            began = time.perf_counter()
            await petra.run(fan(width))
            rate = width / (time.perf_counter() - began)
            rows.append((f"W3: fan-out of {width:,} with a join", f"{rate:,.0f} items/s"))
        began = time.perf_counter()
        await petra.run(loop(20_000))
        rows.append(
            ("loop of 20,000 items", f"{20_000 / (time.perf_counter() - began):,.0f} items/s")
        )
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="petra-bench-") as folder:
        for what, figure in asyncio.run(measure(Path(folder))):
            print(f"{what:<42} {figure}")


if __name__ == "__main__":
    main()
