"""The SQLite store on a disk that fails: acknowledged means durable, and nothing is ever half there."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

import pytest
from store.fault_vfs import Disk, FaultVFS, Mode

from petra.store import Batch, BrokenError, FullError, Store, StoreError, sqlite
from petra.store.memory import MemoryStore
from petra.store.rows import PendingRow
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import a_workout, what_is_stored

# SQLite also closes files on that disk, where nobody can be told of an error.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

BATCHES = a_workout(6)
NAMES = ("x", "y", "z")
NEVER = 10**9
FATES = int(os.environ.get("PETRA_FATES", "2"))


async def everything(store: Store) -> list[dict[str, Any]]:
    return [await what_is_stored(store, name) for name in NAMES]


async def after_each_batch() -> list[list[dict[str, Any]]]:
    """What a store holds after 0, 1, 2 … batches."""
    store = MemoryStore(clock=lambda: 0.0)
    states = [await everything(store)]
    for batch in BATCHES:
        await store.commit(batch)
        states.append(await everything(store))
    return states


async def commit_all(store: SqliteStore, batches: list[Batch]) -> tuple[int, bool]:
    """Commit until something breaks; return how many were acknowledged, and whether one is open."""
    acked = 0
    for batch in batches:
        try:
            committed = await store.commit(batch)
        except FullError:
            committed = await store.commit(batch)
        except BrokenError:
            with pytest.raises(BrokenError):
                await store.commit(batch)
            return acked, True
        assert committed.applied
        acked += 1
        try:
            with contextlib.suppress(FullError):
                await lease_all(store, batch)
        except BrokenError:
            return acked, False
    return acked, False


async def lease_all(store: SqliteStore, batch: Batch) -> list[str]:
    """Write down that workers elsewhere have everything that a batch assigns; return the leases."""
    rows = [
        PendingRow(execution=change.execution, pending=out, lease=f"{change.execution}-{out.run}")
        for change in batch.changes
        for out in change.assigned
    ]
    await store.lease(rows)
    return [row.lease for row in rows]


async def run_on(path: Path, vfs: str) -> tuple[int, bool]:
    try:
        store = await SqliteStore.open(path, vfs=vfs)
    except StoreError:
        return 0, False
    try:
        return await commit_all(store, BATCHES)
    finally:
        with contextlib.suppress(StoreError):
            await store.close()


async def faulted_run(folder: Path, disk: Disk, states: list[list[dict[str, Any]]]) -> None:
    path = folder / "petra.db"
    empty(folder)
    failing = FaultVFS("failing", disk)
    acked, unsure = await run_on(path, "failing")
    disk.lose_power()
    failing.unregister()
    sound = FaultVFS("sound", Disk(Mode.CRASH, NEVER))
    store = await SqliteStore.open(path, vfs="sound")
    try:
        assert await store.verify() == []
        found = await everything(store)
        possible = states[acked : acked + 1 + unsure]
        assert found in possible, f"{acked} were acknowledged, unsure: {unsure}"
        for batch in BATCHES:
            assert (await store.commit(batch)).applied
        assert await everything(store) == states[-1]
    finally:
        await store.close()
        sound.unregister()


def empty(folder: Path) -> None:
    for left in folder.iterdir():
        left.unlink()


def operations(folder: Path, mode: Mode) -> int:
    disk = Disk(mode, NEVER)
    asyncio.run(faulted_run(folder, disk, asyncio.run(after_each_batch())))
    assert disk.operations > 0
    return disk.operations


async def all_runs(folder: Path, mode: Mode, count: int, *, every: int = 1, seed: int = 0) -> int:
    states = await after_each_batch()
    runs = 0
    for at in range(1 + seed % every, count + 1, every):
        disk = Disk(mode, at, seed=2 * at + seed)
        try:
            await faulted_run(folder, disk, states)
        except BaseException as error:
            error.add_note(f"{mode.name} at operation {at} of {count}, seed {seed}")
            raise
        runs += disk.fired
    return runs


def test_a_lease_waits_for_no_disk_and_outlives_its_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        disk, path = Disk(Mode.FSYNC, NEVER), tmp_path / "petra.db"
        failing = FaultVFS("failing", disk)
        store = await SqliteStore.open(path, vfs="failing")
        await store.commit(BATCHES[0])
        syncs = disk.operations
        leases = await lease_all(store, BATCHES[0])
        assert leases
        assert disk.operations == syncs, "nobody waits for the disk"
        disk.dead = True
        with contextlib.suppress(StoreError):
            await store.close()
        failing.unregister()
        again = await SqliteStore.open(path)
        assert {row.lease for row in await again.leased(leases)} == set(leases)
        await again.close()

    asyncio.run(scenario())


@pytest.fixture(autouse=True)
def checkpoints_are_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 60)


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.name.lower())
def test_a_failing_disk_loses_nothing_that_was_acknowledged(mode: Mode, tmp_path: Path) -> None:
    count = operations(tmp_path, mode)
    assert asyncio.run(all_runs(tmp_path, mode, count, every=max(1, count // 8))) >= 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "seed", "least"),
    [
        (Mode.CRASH, 0, 470),
        (Mode.CRASH, 1, 470),  # another fate of what was not synced
        (Mode.TORN, 0, 440),
        (Mode.FULL, 1, 440),
        (Mode.FSYNC, 0, 20),
    ],
)
def test_faults_at_every_operation_lose_nothing(
    mode: Mode, seed: int, least: int, tmp_path: Path
) -> None:
    """Each operation meets one fate of a crash, and is torn or has no room; all four in ``make soak``."""
    count = operations(tmp_path, mode)
    every = 1 if mode is Mode.FSYNC else FATES
    runs = asyncio.run(all_runs(tmp_path, mode, count, every=every, seed=seed))
    assert runs >= least // every
