"""Whatever the file makes somebody wait for, the loop goes on: a lock of another program, many rows, a slow disk."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import apsw
import pytest
from support.clocks import settle

from petra.store import Batch, UnavailableError, sqlite
from petra.store import sqlite_write as writing
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import make_next, make_row, make_start


def test_a_lock_of_another_program_is_waited_for_beside_the_loop(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        other = apsw.Connection(str(tmp_path / "petra.db"))
        other.execute("BEGIN IMMEDIATE")
        committing = asyncio.create_task(store.commit(Batch(changes=(make_start("a"),))))
        await settle()
        assert not committing.done()
        other.execute("ROLLBACK")  # by the very loop that the commit was begun on
        committed = await committing
        assert committed.outcomes[0].version == 1
        # and the next one needs no thread for it
        await store.commit(Batch(changes=(make_next("a", 1),)))
        assert len(await store.read("a")) == 2
        other.close()
        await store.close()

    asyncio.run(scenario())


def test_a_lock_that_stays_is_told_and_the_store_goes_on_when_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_MS", 10)

    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        other = apsw.Connection(str(tmp_path / "petra.db"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match="locked by another program"):
            await store.commit(Batch(changes=(make_start("a"),)))
        other.execute("ROLLBACK")
        await store.commit(Batch(changes=(make_start("a"),)))
        other.close()
        await store.close()

    asyncio.run(scenario())


def test_whoever_stops_waiting_for_a_lock_leaves_no_transaction_behind(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        other = apsw.Connection(str(tmp_path / "petra.db"))
        other.execute("BEGIN IMMEDIATE")
        committing = asyncio.create_task(store.commit(Batch(changes=(make_start("a"),))))
        await settle()
        committing.cancel()
        await settle()
        other.execute("ROLLBACK")
        with pytest.raises(asyncio.CancelledError):
            await committing
        assert await store.read("a") == []
        other.execute("BEGIN IMMEDIATE")  # the file is free
        other.execute("ROLLBACK")
        other.close()
        await store.commit(Batch(changes=(make_start("a"),)))
        await store.close()

    asyncio.run(scenario())


def test_old_executions_are_deleted_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: set[str] = set()
    true = writing.purge_records

    def purge(connection: apsw.Connection) -> bool:
        where.add(threading.current_thread().name)
        return true(connection)

    monkeypatch.setattr(writing, "purge_records", purge)

    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        await store.commit(
            Batch(
                changes=(
                    make_start("a", count=50, row=make_row("a", ended=5.0, status="completed")),
                )
            )
        )
        gone = await store.expire(1e12)
        assert (gone.executions, gone.records) == (("a",), 50)
        assert await store.read("a") == []
        await store.close()

    asyncio.run(scenario())
    assert where == {"petra-store-writer"}
