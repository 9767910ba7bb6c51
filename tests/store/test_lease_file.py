"""Leases beside the database: they outlive the process that wrote them, wait for no commit, and end up in their rows."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from petra.store import lease_file, losses, sqlite, sqlite_write
from petra.store.anchor import Lost
from petra.store.errors import FullError, LossError
from petra.store.lease_file import LeaseFile, lease_file_of
from petra.store.rows import Pending, PendingRow
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import applied, make_next, make_start


def _row(run: str, lease: str, *, execution: str = "a", delivery: int = 1) -> PendingRow:
    return PendingRow(execution=execution, pending=Pending(run=run, delivery=delivery), lease=lease)


async def _found(store: SqliteStore) -> dict[str, str]:
    return {row.pending.run: row.lease for row in await store.pending()}


def test_a_lease_outlives_the_process_that_gave_it_and_then_lies_in_its_row(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "petra.db"
        store = await SqliteStore.open(path)
        out = (Pending(run="r1"), Pending(run="r2"), Pending(run="r3", delivery=2))
        await applied(store, make_start("a", assigned=out))
        await store.lease([_row("r1", "old"), _row("r3", "of another delivery")])
        await store.lease([_row("r1", "l1"), _row("r2", "l2")])
        left = lease_file_of(path).read_bytes()
        assert b"l2" in left
        await store.close()
        assert not lease_file_of(path).exists(), "all is in the rows"
        killed = tmp_path / "killed.db"  # as it would be found had the process been killed
        store = await SqliteStore.open(killed)
        await applied(store, make_start("a", assigned=out))
        await store.close()
        lease_file_of(killed).write_bytes(left + b'["half a li')
        store = await SqliteStore.open(killed)
        assert not lease_file_of(killed).exists()
        assert await _found(store) == {"r1": "l1", "r2": "l2", "r3": ""}
        await store.close()

    asyncio.run(scenario())


def test_a_database_that_cannot_be_opened_keeps_the_leases_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_connection: object, _rows: object) -> None:
        raise FullError("no space left")

    async def scenario() -> None:
        path = tmp_path / "petra.db"
        store = await SqliteStore.open(path)
        await applied(store, make_start("a", assigned=(Pending(run="r1"),)))
        await store.lease([_row("r1", "l1")])
        left = lease_file_of(path).read_bytes()
        await store.close()
        lease_file_of(path).write_bytes(left)  # as it would be found had the process been killed
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_write, "lease_at_once", full)
            with pytest.raises(FullError):
                await SqliteStore.open(path)
        with monkeypatch.context() as patch:
            patch.setattr(losses, "lost", lambda *_, **__: [Lost("a", 9, 1)])
            with pytest.raises(LossError):
                await SqliteStore.open(path)
        assert lease_file_of(path).read_bytes() == left
        store = await SqliteStore.open(path)
        assert await _found(store) == {"r1": "l1"}
        await store.close()

    asyncio.run(scenario())


def test_a_lease_waits_for_no_commit(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        await applied(store, make_start("a", assigned=(Pending(run="r1"),)))
        async with store._order:  # somebody commits, and waits for the disk
            await store.lease([_row("r1", "l1")])
        assert await _found(store) == {"r1": "l1"}
        await applied(store, make_next("a", 1, released=(("r1", ""),)))
        await store.lease([_row("r1", "late")])
        assert await _found(store) == {}
        await store.close()

    asyncio.run(scenario())


def test_what_is_released_is_forgotten_and_the_file_stays_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_file, "BYTES_MAX", 2_000)
    leases = LeaseFile(path := tmp_path / "leases")
    for number in range(500):
        leases.write([_row(f"r{number}", f"l{number}")])
        synced = [sync() for sync in leases.syncs()]
        assert synced == [None], "the disk is asked for it too when it was written anew"
        if number != 7:
            leases.released("a", [(f"r{number}", "")])
        assert path.stat().st_size < 4_500
    leases.leave()
    taken: list[PendingRow] = []
    LeaseFile(path).take(taken.extend)
    assert "l7" in {row.lease for row in taken}
    assert not path.exists()


def test_without_room_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leases = LeaseFile(path := tmp_path / "leases")
    leases.write([_row("r1", "l1")])
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, lines: write(file, lines[:5]))
    with pytest.raises(FullError):
        leases.write([_row("r2", "l2")])
    monkeypatch.undo()
    leases.write([_row("r3", "l3")])
    leases.leave()
    taken: list[PendingRow] = []
    LeaseFile(path).take(taken.extend)
    assert [row.lease for row in taken] == ["l1", "l3"]


def test_the_disk_has_it_a_little_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    monkeypatch.setattr(sqlite, "ANCHOR_SYNC_S", 0.0)

    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        await store.lease([_row("r1", "l1")])
        while lease_file_of(tmp_path / "petra.db").stat().st_size not in synced:  # noqa: ASYNC110 - a thread does it
            await asyncio.sleep(0.001)
        await store.close()

    asyncio.run(scenario())
    leases = LeaseFile(tmp_path / "leases")
    leases.write([_row("r1", "l1")])
    assert [len(list(leases.syncs())) for _ in range(2)] == [1, 0]
    leases.leave()
