"""Notes of what changed are added up when somebody counts, and what is counted never depends on how far that has come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import asyncpg  # type: ignore[import-untyped]
import pytest

from petra.store import ExecutionFilter, Store, sqlite_schema, tallies
from petra.store.postgres import PostgresStore
from petra.store.queries import load_migrations
from petra.store.rows import ExecutionRow
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import applied, make_next, make_row, make_start

ROWS = "SELECT namespace, hour, playbook, status, count FROM tallies ORDER BY 1, 2, 3, 4"
TALLIED = [
    ("default", -1, "", "completed", 2),
    ("default", -1, "", "running", 5),
    ("default", -1, "Refunds", "running", 1),
    ("default", -1, "orders", "completed", 2),
    ("default", -1, "orders", "running", 4),
    ("default", 0, "", "completed", 2),
    ("default", 0, "", "running", 1),
    ("default", 0, "orders", "completed", 2),
    ("default", 0, "orders", "running", 1),
    ("default", 3600, "", "running", 4),
    ("default", 3600, "Refunds", "running", 1),
    ("default", 3600, "orders", "running", 3),
]


@pytest.fixture(autouse=True)
def _in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "BEHIND", 1)
    monkeypatch.setattr(tallies, "PIECE", 3)


def started(name: str, at: float, **more: Any) -> ExecutionRow:
    return make_row(name, started=at, **more)


async def some_happened(store: Store) -> None:
    """Eight start, three end, one of these is removed, and one turns out to be of another playbook."""
    rows = [started(f"e{n}", n * 900.0) for n in range(8)]
    await applied(store, *(make_start(row.id, row=row) for row in rows))
    ends = [started(f"e{n}", n * 900.0, status="completed", ended=9_000.0) for n in range(3)]
    await applied(store, *(make_next(row.id, 1, row=row) for row in ends))
    moved = started("e7", 7 * 900.0, playbook="Refunds")
    await applied(store, make_next("e7", 1, row=moved))
    await store.remove(["e1"])


async def counted(store: Store) -> dict[str, int]:
    found = await store.count_executions(ExecutionFilter(), "status")
    return {one.key: one.count for one in found.rows}


async def done_beside() -> None:
    """Wait until what was begun beside this has ended."""
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))


def test_notes_are_added_up_in_a_file(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        await some_happened(store)
        assert await counted(store) == {"completed": 2, "running": 5}
        await done_beside()
        assert await counted(store) == {"completed": 2, "running": 5}
        await store.close()

    asyncio.run(main())
    file = apsw.Connection(str(tmp_path / "petra.db"))
    assert file.execute(ROWS).fetchall() == TALLIED, "nor is anything kept of what is none"
    assert file.execute("SELECT count(*) FROM tally_notes").get == 0
    file.close()


def test_notes_are_added_up_in_a_database(new_database: Callable[[], str]) -> None:
    async def main() -> None:
        dsn = new_database()
        store = await PostgresStore.open(dsn)
        await some_happened(store)
        assert await counted(store) == {"completed": 2, "running": 5}
        await done_beside()
        assert await counted(store) == {"completed": 2, "running": 5}
        connection = await asyncpg.connect(dsn)
        assert [tuple(row) for row in await connection.fetch(ROWS)] == TALLIED
        assert await connection.fetchval("SELECT count(*) FROM tally_notes") == 0
        await connection.close()
        await store.close()

    asyncio.run(main())


def test_of_two_servers_one_adds_up_and_both_count_the_same(
    new_database: Callable[[], str],
) -> None:
    async def main() -> None:
        dsn = new_database()
        one, two = await PostgresStore.open(dsn), await PostgresStore.open(dsn)
        names = [f"e{n}" for n in range(40)]
        for at in range(0, 40, 5):
            piece = [make_start(name, row=started(name, 1.0)) for name in names[at : at + 5]]
            both = await asyncio.gather(applied(one, *piece), counted(one), counted(two))
            assert {sum(counts.values()) for counts in both[1:]} <= {at, at + 5}
        await done_beside()
        assert await counted(one) == await counted(two) == {"running": 40}
        await one.close()
        await two.close()

    asyncio.run(main())


def test_what_is_there_when_tallies_come_is_in_them(tmp_path: Path) -> None:
    """A file of the layout before: its executions are counted once, whatever happens to them then."""
    path = tmp_path / "petra.db"

    async def some() -> None:
        store = await SqliteStore.open(path)
        await some_happened(store)
        await store.close()

    asyncio.run(some())
    file = apsw.Connection(str(path))
    for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'tally%'").fetchall():  # fmt: skip
        file.execute(f"DROP TRIGGER {name}")
    file.execute("DROP TABLE tallies; DROP TABLE tally_notes; DROP INDEX executions_by_both")
    (number,) = (one.number for one in load_migrations("sqlite") if one.name == "tallies")
    file.execute("DELETE FROM migrations WHERE number = ?", (number,))
    sqlite_schema.migrate(file)
    assert file.execute(ROWS).fetchall() == TALLIED
    file.close()


WRONG = ["the tally of 'orders' that are 'running' in 'default' is off by 3"]


def test_a_tally_that_is_off_is_found_in_a_file(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        await some_happened(store)
        assert await store.verify() == []
        await counted(store)
        await done_beside()
        assert await store.verify() == []
        file = apsw.Connection(str(tmp_path / "petra.db"))
        file.execute("UPDATE tallies SET count = count + 3 WHERE hour = -1 AND playbook = 'orders' AND status = 'running'")  # fmt: skip
        file.close()
        assert await store.verify() == WRONG
        await store.close()

    asyncio.run(main())


def test_a_tally_that_is_off_is_found_in_a_database(new_database: Callable[[], str]) -> None:
    async def main() -> None:
        dsn = new_database()
        store = await PostgresStore.open(dsn)
        await some_happened(store)
        assert await store.verify() == []
        await counted(store)
        await done_beside()
        assert await store.verify() == []
        connection = await asyncpg.connect(dsn)
        await connection.execute("UPDATE tallies SET count = count + 3 WHERE hour = -1 AND playbook = 'orders' AND status = 'running'")  # fmt: skip
        await connection.close()
        assert await store.verify() == WRONG
        await store.close()

    asyncio.run(main())
