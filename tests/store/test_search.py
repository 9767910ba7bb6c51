"""Searching executions for a text finds the same whatever the index has of them by now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import apsw
import asyncpg  # type: ignore[import-untyped]
import pytest

from petra.store import ExecutionFilter, sqlite_lists, sqlite_search
from petra.store.judge import search_text
from petra.store.postgres import PostgresStore
from petra.store.rows import ExecutionRow
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import applied, make_next, make_row, make_start

TEXTS = ("quorum", "QUOR", 'say "no"', "100%", "un der", "ß", "ab", "or", "e7", "team=blue", "a\0b", "x" * 200, "\n")  # fmt: skip


def rows(count: int) -> list[ExecutionRow]:
    reasons = ("", "Quorum 100% of 7", 'they say "no" un der', "straße", "x" * 300)
    return [
        make_row(f"e{n}", status="completed" if n < 3 else "running", ended=9.0 if n < 3 else None, started=float(n), reason=reasons[n % 5],
                 labels={"team": "Blue"} if n % 7 == 0 else {})
        for n in range(count)
    ]  # fmt: skip


async def found(store: SqliteStore, text: str) -> list[str]:
    page = await store.executions(ExecutionFilter(text=text))
    counted = await store.count_executions(ExecutionFilter(text=text), "status")
    assert sum(one.count for one in counted.rows) == len(page.rows)
    return [stored.row.id for stored in page.rows]


async def same(store: SqliteStore, there: list[ExecutionRow]) -> None:
    """Compare with what looking through all of them gives."""
    for text in TEXTS:
        expected = [row.id for row in reversed(there) if text.casefold() in search_text(row)]
        assert await found(store, text) == expected, text


async def indexed() -> None:
    """Wait until what was begun beside this has ended."""
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))


def upto(path: Path) -> int:
    with apsw.Connection(str(path)) as connection:
        number: int = connection.execute("SELECT upto FROM searched").get
        connection.execute("SELECT 1")
    connection.close()
    return number


@pytest.mark.parametrize("few", [1, 1_000], ids=["many have it", "few have it"])
def test_a_text_is_found_before_and_after_it_is_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(sqlite_search, "BEHIND", 1)
    monkeypatch.setattr(sqlite_search, "PIECE", 3)
    monkeypatch.setattr(sqlite_lists, "FEW", few)

    async def main() -> None:
        path = tmp_path / "petra.db"
        store = await SqliteStore.open(path)
        there = rows(20)
        await applied(store, *(make_start(row.id, row=row) for row in there))
        assert upto(path) == 0
        await same(store, there)
        await indexed()
        assert upto(path) == 20
        await same(store, there)
        there[3] = make_row("e3", status="failed", started=3.0, reason="no quorum any more")
        await applied(store, make_next("e3", 1, row=there[3]))
        await same(store, there)  # the index has what it was before
        await indexed()
        await same(store, there)
        await store.remove([row.id for row in there[:3]])
        await same(store, there[3:])
        await indexed()
        await store.close()
        again = await SqliteStore.open(path)
        await same(again, there[3:])
        assert await again.verify() == []
        await again.close()

    asyncio.run(main())


def test_who_only_reads_searches_without_an_index(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        there = rows(10)
        await applied(store, *(make_start(row.id, row=row) for row in there))
        await store.close()
        reader = await SqliteStore.open(tmp_path / "petra.db", readonly=True)
        await same(reader, there)
        await reader.close()

    asyncio.run(main())


@pytest.mark.slow
def test_a_database_with_the_extension_looks_texts_up(new_database: Callable[[], str]) -> None:
    async def main() -> None:
        dsn = new_database()
        store = await PostgresStore.open(dsn)
        await applied(store, *(make_start(row.id, row=row) for row in rows(20)))
        page = await store.executions(ExecutionFilter(text='SAY "no"'))
        assert [stored.row.id for stored in page.rows] == ["e17", "e12", "e7", "e2"]
        await store.close()
        connection = await asyncpg.connect(dsn)
        offered = await connection.fetchval("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")  # fmt: skip
        made = await connection.fetchval("SELECT count(*) FROM pg_indexes WHERE indexname = 'executions_by_search'")  # fmt: skip
        assert made == offered
        if offered:
            await connection.execute("SET enable_seqscan = off")
            plan = await connection.fetch("EXPLAIN SELECT id FROM executions WHERE search LIKE '%quorum%'")  # fmt: skip
            assert any("executions_by_search" in row[0] for row in plan)
        await connection.close()

    asyncio.run(main())


def test_a_database_that_has_no_extension_is_searched_as_before(
    empty_database: Callable[[], str],
) -> None:
    """Whoever owns it may not be allowed to add one: the migration goes on, and the same is found."""

    async def main() -> None:
        dsn = empty_database()
        store = await PostgresStore.open(dsn)
        there = rows(20)
        await applied(store, *(make_start(row.id, row=row) for row in there))
        for text in ("quorum", "100%", "un der", "ab", "team=blue"):
            expected = [row.id for row in reversed(there) if text.casefold() in search_text(row)]
            page = await store.executions(ExecutionFilter(text=text))
            assert [stored.row.id for stored in page.rows] == expected, text
            counted = await store.count_executions(ExecutionFilter(text=text), "status")
            assert sum(one.count for one in counted.rows) == len(expected)
        await store.close()

    asyncio.run(main())
