"""What only PostgreSQL can do wrong: go away in the middle, and serve two engines at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import pytest
from support.database import Database

from petra.errors import UsageError
from petra.store import (
    Batch,
    ExecutionFilter,
    Fate,
    SchemaError,
    UnavailableError,
    UncertainError,
    shard_of,
)
from petra.store.base import Committed
from petra.store.postgres import PostgresStore
from petra.store.postgres_bus import HINTS_MAX, PostgresBus
from petra.store.queries import load_queries
from petra.testing.store_rows import make_next, make_records, make_row, make_start

pytestmark = pytest.mark.slow  # a server of its own

WRITERS = 6
STOPS = 10


@pytest.fixture
def own_cluster() -> Iterator[Database]:
    database = Database()
    yield database
    database.remove()


async def reopened(dsn: str) -> PostgresStore:
    """Open a store as soon as the database takes connections again."""
    while True:
        with contextlib.suppress(UnavailableError):
            return await PostgresStore.open(dsn)


class Writer:
    """Appends to one execution for as long as it is told; what it was told is what it believes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.acked = 0
        self.unsure: list[Batch] = []

    async def write(
        self, store: PostgresStore, stop: asyncio.Event, progress: asyncio.Event
    ) -> None:
        while not stop.is_set():
            change = (
                make_next(self.name, self.acked, 3)
                if self.acked
                else make_start(self.name, count=3)
            )
            batch = Batch(changes=(change,))
            try:
                committed = await store.commit(batch)
            except UncertainError:
                self.unsure.append(batch)
                return
            except UnavailableError:
                return
            assert committed.applied
            self.acked = change.version
            progress.set()

    async def check(self, store: PostgresStore) -> None:
        found = await store.read(self.name)
        assert found == list(make_records(self.name, len(found)))
        assert self.acked <= len(found) <= self.acked + 3 * len(self.unsure)
        for batch in self.unsure:
            assert (await store.commit(batch)).applied
            self.acked = batch.changes[0].version
        self.unsure.clear()


async def under_load(cluster: Database, dsn: str, writers: list[Writer]) -> None:
    store = await reopened(dsn)
    stop, progress = asyncio.Event(), asyncio.Event()
    work = [asyncio.ensure_future(writer.write(store, stop, progress)) for writer in writers]
    for _ in range(20):
        await progress.wait()
        progress.clear()
    await asyncio.to_thread(cluster.stop, "immediate")
    await asyncio.gather(*work)
    await store.close()
    await asyncio.to_thread(cluster.start)
    store = await reopened(dsn)
    for writer in writers:
        await writer.check(store)
    assert await store.verify() == []
    await store.close()


def test_a_database_stopped_under_load_loses_nothing_acknowledged(own_cluster: Database) -> None:
    writers = [Writer(f"w{number}") for number in range(WRITERS)]
    for _ in range(STOPS):
        asyncio.run(under_load(own_cluster, own_cluster.dsn(), writers))
    assert all(writer.acked > 0 for writer in writers)


def test_two_engines_never_both_write_one_version(empty_database: Callable[[], str]) -> None:
    async def main() -> None:
        dsn = empty_database()
        one, two = await PostgresStore.open(dsn), await PostgresStore.open(dsn)
        shard = shard_of("a")
        mine = await one.claim_shards("one", [shard], lease_s=-1)
        await one.commit(Batch(changes=(make_start("a"),), epochs=mine))
        theirs = await two.claim_shards("two", [shard], lease_s=60)
        late, first = await asyncio.gather(
            one.commit(Batch(changes=(make_next("a", 1, 2),), epochs=mine)),
            two.commit(Batch(changes=(make_next("a", 1, 1),), epochs=theirs)),
        )
        assert late.outcomes[0].fate is Fate.FENCED
        assert first.applied
        assert len(await one.read("a")) == 2
        await one.close()
        await two.close()

    asyncio.run(main())


def test_engines_that_overlap_do_not_wait_for_each_other_for_ever(
    empty_database: Callable[[], str],
) -> None:
    async def main() -> None:
        store = await PostgresStore.open(empty_database())
        names = [f"e{number}" for number in range(20)]
        forth = Batch(changes=tuple(make_start(name) for name in names))
        back = Batch(changes=tuple(make_start(name) for name in reversed(names)))

        async def committed(batch: Batch) -> Committed:
            while True:
                with contextlib.suppress(UnavailableError):
                    return await store.commit(batch)  # engines try again too

        done = await asyncio.gather(*(committed(batch) for batch in (forth, back) * 4))
        assert all(one.applied for one in done)
        assert len((await store.executions(ExecutionFilter())).rows) == 20
        await store.close()

    asyncio.run(main())


def test_a_database_migrated_by_newer_code_is_refused(empty_database: Callable[[], str]) -> None:
    async def main() -> None:
        dsn = empty_database()
        await (await PostgresStore.open(dsn)).close()
        connection = await asyncpg.connect(dsn)
        await connection.execute("INSERT INTO migrations VALUES (9999, 'contract_later', 'x')")
        with pytest.raises(SchemaError, match="9999_contract_later"):
            await PostgresStore.open(dsn)
        await connection.execute("DELETE FROM migrations WHERE number = 9999")
        await connection.execute("UPDATE migrations SET checksum = 'other'")
        with pytest.raises(SchemaError, match="was changed"):
            await PostgresStore.open(dsn)
        await connection.close()

    asyncio.run(main())


def test_what_postgres_cannot_store_is_refused_or_replaced(
    empty_database: Callable[[], str],
) -> None:
    async def main() -> None:
        store = await PostgresStore.open(empty_database())
        with pytest.raises(UsageError, match="cannot store"):
            await store.commit(Batch(changes=(make_start("a\x00b"),)))
        row = make_row("a", reason="broken\x00pipe")
        assert (await store.commit(Batch(changes=(make_start("a", row=row),)))).applied
        stored = await store.execution("a")
        assert stored is not None
        assert stored.row.reason == "broken\ufffdpipe"
        with pytest.raises(UsageError, match="cannot look for"):
            await store.read("a\x00b")
        await store.close()

    asyncio.run(main())


def test_a_flipped_hash_is_named(empty_database: Callable[[], str]) -> None:
    async def main() -> None:
        dsn = empty_database()
        store = await PostgresStore.open(dsn)
        await store.commit(Batch(changes=(make_start("a", count=5),)))
        connection = await asyncpg.connect(dsn)
        await connection.execute("UPDATE records SET previous = 'x' WHERE seq = 3")
        assert await store.verify() == [
            "execution 'a': record 3 does not follow the record before it"
        ]
        with pytest.raises(UsageError, match="pg_dump"):
            await store.backup(Path("x"))
        await connection.close()
        await store.close()

    asyncio.run(main())


def test_a_database_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError):
        asyncio.run(PostgresStore.open(f"postgresql://nobody@/none?host={tmp_path}"))


def test_hints_that_wait_together_are_told_once_and_none_waits_for_them(
    new_database: Callable[[], str],
) -> None:
    async def main() -> None:
        dsn = new_database()
        one, two = await PostgresStore.open(dsn), await PostgresStore.open(dsn)
        heard: asyncio.Queue[str] = asyncio.Queue()
        await one.bus.hear(heard.put_nowait)
        for _ in range(100):
            two.bus.tell("letter 1", "letter 2")
        two.bus.tell(*(f"answer {number}" for number in range(2 * HINTS_MAX)))  # too many: dropped
        await two.close()  # what waits is told first
        await one.bus.hear(heard.put_nowait)
        one.bus.tell("the last")
        found: list[str] = []
        while not found or found[-1] != "the last":
            found.append(await heard.get())
        assert [hint for hint in found if hint.startswith("letter")] == ["letter 1", "letter 2"]
        assert len(found) == HINTS_MAX + 1
        await one.close()

    asyncio.run(main())


def test_hints_that_cannot_be_told_trouble_nobody(tmp_path: Path) -> None:
    async def main() -> None:
        bus = PostgresBus(f"postgresql://nobody@/none?host={tmp_path}")
        bus.tell("letter 1")
        with pytest.raises(UnavailableError):
            await bus.hear(lambda _: None)
        await bus.close()

    asyncio.run(main())


def test_notices_are_heard_also_after_the_connection_was_lost(
    empty_database: Callable[[], str],
) -> None:
    async def main() -> None:
        dsn = empty_database()
        one, two = await PostgresStore.open(dsn), await PostgresStore.open(dsn)
        heard: asyncio.Queue[str] = asyncio.Queue()
        await one.bus.hear(heard.put_nowait)
        two.bus.tell("first", "second")
        assert [await heard.get(), await heard.get()] == ["first", "second"]
        ear = one.bus._ear
        assert ear is not None
        lost = asyncio.Event()
        ear.add_termination_listener(lambda _: lost.set())
        connection = await asyncpg.connect(dsn)
        await connection.execute("SELECT pg_terminate_backend($1)", ear.get_server_pid())
        await lost.wait()
        await one.bus.hear(heard.put_nowait)
        await one.bus.hear(heard.put_nowait)  # a connection that lives is left alone
        two.bus.tell("third")
        assert await heard.get() == "third"
        assert heard.empty()
        for opened in (connection, one, two):
            await opened.close()

    asyncio.run(main())


BY_SHARD = {
    "due_in": (5.0, 100, [1, 2]),
    "pending_in": ("", "", "", 100, [1, 2]),
    "letters_in": (100, [1, 2]),
    "leased": (["l1", "l2"],),
}
USED = {
    "due_in": "wake_ups_by_shard",
    "pending_in": "pending_by_shard",
    "letters_in": "letters_by_shard",
    "leased": "pending_by_lease",
}


@pytest.mark.parametrize("name", BY_SHARD)
def test_what_an_engine_looks_for_is_found_by_its_shards_and_in_order(
    name: str, new_database: Callable[[], str]
) -> None:
    def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield plan
        for below in plan.get("Plans", ()):
            yield from nodes(below)

    async def main() -> None:
        dsn = new_database()
        await (await PostgresStore.open(dsn)).close()
        connection = await asyncpg.connect(dsn)
        await connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        statement = await connection.prepare(load_queries("postgres")[name])
        (plan,) = await statement.explain(*BY_SHARD[name])
        found = [one.get("Index Name") for one in nodes(plan["Plan"])]
        assert USED[name] in found, plan
        # what one shard gives is in order as it comes: only what several give is sorted
        sorts = [one for one in nodes(plan["Plan"]) if one["Node Type"] == "Sort"]
        within = [one for sort in sorts for one in nodes(sort) if one is not sort]
        assert name == "leased" or any(one.get("Index Name") == USED[name] for one in within)
        assert not [one for one in nodes(plan["Plan"]) if one["Node Type"] == "Seq Scan"], plan
        await connection.close()

    asyncio.run(main())


def test_the_version_before_this_one_writes_assignments_that_are_found_by_shard(
    new_database: Callable[[], str],
) -> None:
    async def main() -> None:
        dsn = new_database()
        store = await PostgresStore.open(dsn)
        await store.commit(Batch(changes=(make_start("a"),)))
        connection = await asyncpg.connect(dsn)
        await connection.execute(
            "INSERT INTO pending (stream, run, chunk, delivery, pool)"
            " SELECT stream, 'r', '', 1, 'default' FROM executions"
        )
        (row,) = await store.pending(shards=[shard_of("a")])
        assert row.execution == "a"
        assert await store.pending(shards=[(shard_of("a") + 1) % 64]) == []
        await connection.close()
        await store.close()

    asyncio.run(main())
