"""Coming back at scale: a restart with many live executions, timers due at once, a very long log.

Each figure is that of a new engine on what an earlier one left, as after kill -9. ``--store`` takes a folder
for SQLite (a new one is made without it) or the address of an empty PostgreSQL database.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from petra.clock import SystemClock
from petra.embedded import Home
from petra.engine import Engine
from petra.engine.cache import Cache
from petra.playbook import Playbook, read
from petra.store.address import open_store
from petra.store.base import Store
from petra.wire import frames

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: bench}\nworkflow:\n"
STARTS = 1_000


def step() -> Playbook:
    return read(HEAD + "  - step: s\n    tool: {kind: python, code: 'result = 1'}\n").checked()


def nap(until: float) -> Playbook:
    when = datetime.fromtimestamp(until, UTC).isoformat()
    return read(HEAD + f"  - step: nap\n    tool: {{kind: wait, until: '{when}'}}\n").checked()


def rounds(count: int, width: int) -> Playbook:
    text = (
        HEAD
        + f"  - step: split\n    next: {{arcs: [{{step: w, foreach: '{{{{ range({width}) }}}}'}}]}}\n"
    )
    text += "  - step: w\n    tool: {kind: python, code: 'result = 1'}\n    next: {arcs: [{step: join}]}\n"
    text += "  - step: join\n    spec: {join: {merge: {into: xs}}}\n    tool:\n      kind: python\n      code: 'result = 1'\n"
    text += '      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ (ctx.n | default(0)) + 1 }}"}}}}]}}\n'
    text += f'    next: {{arcs: [{{step: split, when: "{{{{ ctx.n < {count} }}}}"}}]}}\n'
    return read(text).checked()


def rss_mb() -> float:
    """Return what this process holds in memory now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Listener:
    """A worker's end that takes everything and does nothing; it notes when the first assignment came."""

    def __init__(self) -> None:
        self.first = 0.0
        self.taken = 0

    def send(self, frame: frames.AnyFrame) -> None:
        if isinstance(frame, frames.Assignments):
            self.first = self.first or time.perf_counter()
            self.taken += len(frame.assignments)


class Place:
    """Where the executions of a measurement are; opened anew each time, as after a crash."""

    def __init__(self, where: str | Path) -> None:
        self.where = where
        self.name = "PostgreSQL" if isinstance(where, str) else "SQLite"
        self._opened = 0

    @asynccontextmanager
    async def engine(self) -> AsyncIterator[Engine]:
        self._opened += 1
        holder = f"bench{self._opened}" if isinstance(self.where, str) else ""
        store = await open_store(self.where)
        try:
            async with Engine(store, holder=holder) as engine:
                yield engine
        finally:
            await store.close()


async def started(engine: Engine, book: Playbook, names: list[str]) -> None:
    for begin in range(0, len(names), STARTS):
        some = names[begin : begin + STARTS]
        await asyncio.gather(*(engine.start(book, execution=name) for name in some))


async def restart(place: Place, live: int) -> list[tuple[str, str]]:
    """Measure from opening the store to the first assignment, with many runs that were out."""
    async with place.engine() as engine:
        await started(engine, step(), [f"live-{n:06}" for n in range(live)])
    began = time.perf_counter()
    async with place.engine() as engine:
        opened = time.perf_counter() - began
        link = Listener()
        await engine.connections.receive(link, frames.Hello(worker="w", slots=live, credit=live))
        await come_true(lambda: is_true(link.taken >= live))
        every, first = time.perf_counter() - began, link.first - began
    return [
        (f"restart with {live:,} live executions: opened", f"{opened:.2f} s"),
        ("  first step dispatched", f"{first:.2f} s"),
        ("  all of them dispatched", f"{every:.1f} s"),
    ]


async def herd(place: Place, timers: int) -> list[tuple[str, str]]:
    """Measure how long timers that are all due at once take, and that each fires once."""
    clock = SystemClock()
    due = clock.now() + 5 + timers / 1_500
    async with place.engine() as engine:
        began = time.perf_counter()
        await started(engine, nap(due), [f"nap-{n:06}" for n in range(timers)])
        taken = time.perf_counter() - began
        in_memory = len(engine.cache)
    await clock.sleep(max(0.0, due - clock.now()))
    before = rss_mb()
    began = time.perf_counter()
    async with place.engine() as engine:
        await come_true(lambda: nothing_due(engine.store))
        drained = time.perf_counter() - began
        grown = rss_mb() - before
        fired = await fired_once(engine.store, [f"nap-{n:06}" for n in range(timers)])
    return [
        (
            f"{timers:,} executions begin to wait",
            f"{timers / taken:,.0f}/s, {in_memory:,} in memory",
        ),
        (f"{timers:,} timers due at once, each fired once", f"{drained:.1f} s"),
        ("  memory grew by", f"{grown:.0f} MB"),
        ("  logs with one firing of one timer", f"{fired:,}"),
    ]


async def fired_once(store: Store, names: list[str]) -> int:
    """Count the logs in which the timer fired once and the step ended once."""
    count = 0
    for begin in range(0, len(names), 500):
        for _, records in (await store.logs(names[begin : begin + 500], most=100)).values():
            kinds = Counter(record.type for record in records)
            count += kinds["timer.fired"] == 1 and kinds["step.done"] == 1
    return count


async def is_true(found: bool) -> bool:  # noqa: FBT001
    return found


async def nothing_due(store: Store) -> bool:
    return not await store.due(1e12, limit=1)


async def come_true(condition: Callable[[], Awaitable[bool]]) -> None:
    while not await condition():  # noqa: ASYNC110 - what it waits for is in a database
        await asyncio.sleep(0.05)


async def long_log(place: Place, records: int) -> list[tuple[str, str]]:
    """Run an execution of very many records, then load it."""
    width = 1_000
    home = Path(tempfile.mkdtemp(prefix="petra-bench-"))
    store = await open_store(place.where)
    began = time.perf_counter()
    if isinstance(place.where, str):
        await store.close()
        opening = Home.open(home, store=place.where)
    else:
        opening = Home.open(home, store=store)
    async with opening as petra:
        book = rounds(max(1, records // (2 * width + 4)), width)
        await petra.run(book, execution="long", until=lambda r: r.status == "completed")
    taken = time.perf_counter() - began
    store = await open_store(place.where)
    found = await store.execution("long")
    assert found is not None
    before = rss_mb()
    began = time.perf_counter()
    await Cache(store).load("long")
    loaded = time.perf_counter() - began
    grown = rss_mb() - before
    await store.close()
    return [
        (f"an execution of {found.version:,} records", f"{taken:.0f} s, {found.row.status}"),
        ("  loaded", f"{loaded:.2f} s, {grown:.0f} MB"),
    ]


Measure = Callable[[Place, int], Awaitable[list[tuple[str, str]]]]
MEASURES: dict[str, tuple[Measure, int]] = {
    "restart": (restart, 10_000),
    "herd": (herd, 100_000),
    "long": (long_log, 1_000_000),
}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default="", help="a folder, or postgresql://…")
    parser.add_argument("--only", choices=[*MEASURES], help="one of the measurements")
    parser.add_argument("--share", type=float, default=1.0, help="of the full numbers, e.g. 0.1")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="petra-bench-") as folder:
        address = given.store.startswith("postgres")
        where = given.store if address else Path(given.store or folder) / "petra.db"
        place = Place(where)
        print(place.name)
        for name, (measure, full) in MEASURES.items():
            if given.only in (None, name):
                for what, figure in await measure(place, int(full * given.share)):
                    print(f"{what:<52} {figure}")


if __name__ == "__main__":
    asyncio.run(main())
