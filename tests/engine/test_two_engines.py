"""Two engines in two processes on one PostgreSQL: one dies, or sleeps for too long, and nothing is lost or twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from engine_support import chain, until
from support.database import Database
from support.processes import is_stopped

from petra.embedded import Home
from petra.engine.codec import from_row
from petra.kernel import events as e
from petra.kernel import verify
from petra.playbook import read, to_yaml
from petra.store.postgres import PostgresStore
from petra.store.rows import ExecutionFilter

pytestmark = pytest.mark.slow  # a server, and processes of their own

STEPS, EXECUTIONS, LEASE_S = 5, 40, 2.0

PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
from petra.embedded import Home
from petra.playbook import read
from petra.store.base import Fate

async def main(home, dsn, count, stop_at):
    async with Home.open(Path(home), store=dsn, shard_lease_s=LEASE_S) as petra:
        store, commits, fenced = petra.engine.store, 0, 0
        inner = store.commit

        async def commit(batch):
            nonlocal commits, fenced
            if any(change.records for change in batch.changes):
                commits += 1
                if commits == stop_at:
                    os.kill(os.getpid(), signal.SIGSTOP)
            done = await inner(batch)
            fenced += sum(outcome.fate is Fate.FENCED for outcome in done.outcomes)
            if fenced:
                Path(home, "fenced").touch()
            return done

        store.commit = commit
        book = read(Path(home, "book.yaml").read_text()).checked()
        await asyncio.gather(*(petra.engine.start(book, execution=f"e{n}") for n in range(count)))
        Path(home, "started").touch()
        await asyncio.Event().wait()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
""".replace("LEASE_S", str(LEASE_S))


def _book(ledger: Path) -> str:
    code = (
        "import os, time\\n"
        f"with open({str(ledger)!r}, 'a') as file:\\n"
        "    file.write(f'{step}\\\\n')\\n"
        "time.sleep(0.03)\\n"
        "result = step"
    )
    return to_yaml(
        chain(STEPS, '{kind: python, args: {step: "{{ execution.id }}"}, code: "' + code + '"}')
    )


@contextmanager
def engine(
    home: Path, dsn: str, *, start: int = 0, stop_at: int = 0
) -> Iterator[subprocess.Popen[bytes]]:
    """Run an engine with a worker in a process of its own."""
    home.mkdir()
    (home / "book.yaml").write_text(_book(home.parent / "ledger"))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(home), dsn, str(start), str(stop_at)]
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def _held(store: PostgresStore, count: int) -> Callable[[], Awaitable[bool]]:
    """Tell whether that many engines hold shards, and every shard is held."""

    async def held() -> bool:
        rows = (await store.shards()).values()
        holders = {row.holder for row in rows if row.held}
        return len(holders) == count and sum(row.held for row in rows) == 64

    return held


def _taken_over(store: PostgresStore, pid: int) -> Callable[[], Awaitable[bool]]:
    """Tell whether the engine of one process holds everything."""

    async def held() -> bool:
        rows = (await store.shards()).values()
        return all(row.held and f"/{pid}/" in row.holder for row in rows)

    return held


def _ended(store: PostgresStore) -> Callable[[], Awaitable[bool]]:
    async def ended() -> bool:
        page = await store.executions(ExecutionFilter(statuses=("completed",)), limit=100)
        return len(page.rows) == EXECUTIONS

    return ended


async def _check(store: PostgresStore, ledger: Path) -> int:
    """Check every log, and that no step ran more often than it was handed out; return redeliveries."""
    tries = Counter(_lines(ledger))
    lost = 0
    for number in range(EXECUTIONS):
        name = f"e{number}"
        records = [from_row(row) for row in await store.read(name)]
        assert verify(name, records) is None
        steps = [f"s{number}" for number in range(STEPS)]
        assert [r.event.step for r in records if isinstance(r.event, e.StepStarted)] == steps
        assert [r.event.step for r in records if isinstance(r.event, e.StepDone)] == steps
        redelivered = sum(isinstance(r.event, e.RunRedelivered) for r in records)
        assert STEPS <= tries[name] <= STEPS + redelivered
        lost += redelivered
    assert await store.verify() == []
    assert await store.letters() == []
    assert (await store.stats()).pending == 0
    return lost


def test_what_a_killed_engine_leaves_the_other_finishes(
    new_database: Callable[[], str], tmp_path: Path
) -> None:
    async def scenario() -> None:
        dsn = new_database()
        store = await PostgresStore.open(dsn)
        with (
            engine(tmp_path / "one", dsn, start=EXECUTIONS) as one,
            engine(tmp_path / "two", dsn),
        ):
            await until(_held(store, 2))

            async def some_done() -> bool:
                started = (tmp_path / "one" / "started").exists()
                return started and len(_lines(tmp_path / "ledger")) > EXECUTIONS

            await until(some_done)
            one.send_signal(signal.SIGKILL)
            await until(_ended(store))
            await until(_held(store, 1))
            await _check(store, tmp_path / "ledger")
        await store.close()

    asyncio.run(scenario())


def test_the_writes_of_one_that_slept_beyond_its_lease_are_refused(
    new_database: Callable[[], str], tmp_path: Path
) -> None:
    async def scenario() -> None:
        dsn = new_database()
        store = await PostgresStore.open(dsn)
        # Each step is a commit at least, however many are committed together.
        with engine(tmp_path / "one", dsn, start=EXECUTIONS, stop_at=STEPS) as one:

            async def stopped() -> bool:
                return is_stopped(one.pid)

            async def refused() -> bool:
                return (tmp_path / "one" / "fenced").exists()

            await until(stopped)
            with engine(tmp_path / "two", dsn) as two:
                await until(_taken_over(store, two.pid))
                os.kill(one.pid, signal.SIGCONT)
                await until(_ended(store))
                await until(_held(store, 2))  # and it has its share again
                await until(refused)
                await _check(store, tmp_path / "ledger")
        await store.close()

    asyncio.run(scenario())


FAMILY = """
import asyncio, sys
from pathlib import Path
from petra.embedded import Home
from petra.playbook import read

async def main(home, dsn, count):
    async with Home.open(Path(home), store=dsn, shard_lease_s=LEASE_S) as petra:
        child = read(Path(home, "child.yaml").read_text()).checked()
        parent = read(Path(home, "parent.yaml").read_text()).checked()
        if count:
            await petra.apply(child)
        starts = [petra.engine.start(parent, execution=f"p{n}") for n in range(count)]
        await asyncio.gather(*starts)
        Path(home, "started").touch()
        await asyncio.Event().wait()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
""".replace("LEASE_S", str(LEASE_S))

CHILD = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: child}
workflow:
  - step: work
    tool: {kind: python, code: "import time\\ntime.sleep(0.1)\\nresult = 21"}
"""
PARENT = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: parent}
workflow:
  - step: call
    loop: {in: '{{ range(5) }}', iterator: n, spec: {mode: parallel}}
    tool: {kind: playbook, path: child}
"""


@contextmanager
def family(home: Path, dsn: str, start: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """Run an engine whose executions call each other, in a process of its own."""
    home.mkdir()
    (home / "child.yaml").write_text(CHILD)
    (home / "parent.yaml").write_text(PARENT)
    process = subprocess.Popen([sys.executable, "-c", FAMILY, str(home), dsn, str(start)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.spec("S16")
def test_children_of_a_killed_engine_end_once_and_their_parents_hear_of_it(
    new_database: Callable[[], str], tmp_path: Path
) -> None:
    async def scenario() -> None:
        dsn, parents = new_database(), 12
        store = await PostgresStore.open(dsn)
        with family(tmp_path / "one", dsn, parents) as one, family(tmp_path / "two", dsn):
            await until(_held(store, 2))

            async def half_way() -> bool:
                done = await store.executions(ExecutionFilter(statuses=("completed",)), limit=100)
                return (tmp_path / "one" / "started").exists() and len(done.rows) > parents

            await until(half_way)
            one.send_signal(signal.SIGKILL)

            async def over() -> bool:
                wanted = ExecutionFilter(statuses=("completed",), playbook="parent")
                return len((await store.executions(wanted, limit=100)).rows) == parents

            await until(over)
        for number in range(parents):
            children = await store.executions(ExecutionFilter(parent=f"p{number}"), limit=100)
            assert [row.row.status for row in children.rows] == ["completed"] * 5
            records = [from_row(row) for row in await store.read(f"p{number}")]
            assert verify(f"p{number}", records) is None
        assert await store.letters() == []
        assert await store.verify() == []
        await store.close()

    asyncio.run(scenario())


def test_an_engine_goes_on_when_its_database_was_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        cluster = Database()
        try:
            dsn = cluster.make("away")
            book = read(_book(tmp_path / "ledger")).checked()
            async with Home.open(tmp_path / "home", store=dsn, shard_lease_s=LEASE_S) as petra:
                running = [
                    asyncio.create_task(petra.run(book, execution=f"e{n}"))
                    for n in range(EXECUTIONS)
                ]

                async def some_done() -> bool:
                    return len(_lines(tmp_path / "ledger")) > EXECUTIONS

                await until(some_done)
                await asyncio.to_thread(cluster.stop, "immediate")
                await asyncio.to_thread(cluster.start)
                results = await asyncio.wait_for(asyncio.gather(*running), 300)
                assert {result.status for result in results} == {"completed"}
            store = await PostgresStore.open(dsn)
            await _check(store, tmp_path / "ledger")
            await store.close()
        finally:
            cluster.remove()

    asyncio.run(scenario())
