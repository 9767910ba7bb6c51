"""Looking at a long execution for the first time: its story in columns, and moments anywhere in its log.

    .venv/bin/python benchmarks/reading.py                  10,000 records
    .venv/bin/python benchmarks/reading.py --records 100000

Two logs are made: a step that goes round and round, whose state stays small, and a fan-out, whose state is as wide as half of
the log. Every figure is that of who has nothing of it in memory, in milliseconds of the processor: the best of three, since the
machine may be busy; of five moments the slowest.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from petra.desk.moments import Moments
from petra.desk.stories import Stories
from petra.embedded import Home
from petra.engine.cache import Cache
from petra.playbook import read
from petra.store.sqlite import SqliteStore
from petra.story import frames_of

T = TypeVar("T")
HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: long}\nworkflow:\n"
ROUND = (
    "  - step: turn\n    tool: {kind: noop}\n    set: {ctx.n: '{{ (ctx.n | default(0)) + 1 }}'}\n"
    "    next: {arcs: [{step: turn, when: '{{ ctx.n < COUNT }}'}]}\n"
)
WIDE = (
    "  - step: split\n    next: {arcs: [{step: work, foreach: '{{ range(COUNT) | list }}'}]}\n"
    "  - {step: work, tool: {kind: noop}, next: {arcs: [{step: gather}]}}\n"
    "  - {step: gather, tool: {kind: noop}, spec: {join: {of: split, mode: all}}}\n"
)


async def aside(work: Callable[[], T]) -> T:
    """Do it in a thread, as a server does."""
    return await asyncio.get_running_loop().run_in_executor(None, work)


async def made(folder: Path, text: str, records: int) -> str:
    """Run a playbook whose log has about so many records; return the id of its execution."""
    async with Home.open(folder, slots=64) as home:
        book = read(HEAD + text.replace("COUNT", str(records // 2))).checked()
        return (await home.run(book)).id


async def looked_at(folder: Path, execution: str) -> dict[str, float]:
    """Look at an execution as the first one who does; return milliseconds of the processor."""
    found: dict[str, float] = {}
    store = await SqliteStore.open(folder / "petra.db", readonly=True)
    begun = time.process_time()
    story = await Stories(store, aside).of(execution)
    found["story"] = (time.process_time() - begun) * 1000
    begun = time.process_time()
    msgspec.json.encode(frames_of(story))
    found["its frames"] = (time.process_time() - begun) * 1000
    total = len(story)
    for seq in (total // 4, total // 2 - 20, total // 2, total * 3 // 4, total - 20):
        begun = time.process_time()
        await Moments(store, Cache(store), aside).at(execution, seq)
        took = (time.process_time() - begun) * 1000
        found["a moment, the slowest of 5"] = max(
            took, found.get("a moment, the slowest of 5", 0.0)
        )
    await store.close()
    return found


async def main() -> None:
    """Make both logs, look at each three times, and tell the best of each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    records = parser.parse_args().records
    for name, text in {"round and round": ROUND, "wide": WIDE}.items():
        with tempfile.TemporaryDirectory(prefix="petra-bench-") as place:
            folder = Path(place)
            execution = await made(folder, text, records)
            seen = [await looked_at(folder, execution) for _ in range(3)]
        for what in seen[0]:
            print(f"{name}, {what:<30} {min(one[what] for one in seen):8.1f} ms", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
