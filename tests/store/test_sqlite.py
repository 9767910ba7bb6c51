"""What only a file can do wrong: two owners, other code's schema, flipped bytes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import pytest
from store.stores import in_a_file, run_with

from petra.errors import UsageError
from petra.store import (
    Batch,
    BrokenError,
    ExecutionFilter,
    HeldError,
    SchemaError,
    Store,
    sqlite,
    sqlite_schema,
)
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import a_workout, make_next, make_records, make_start, what_is_stored

HOLD = """
import asyncio, sys
from pathlib import Path
from petra.store.sqlite import SqliteStore
async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    print("held", flush=True)
    sys.stdin.read()
asyncio.run(main())
"""

COMMIT_FOR_EVER = """
import asyncio, sys
from pathlib import Path
from petra.store import Batch
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import make_next, make_start
async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    version = 0
    while True:
        change = make_next("a", version, 3) if version else make_start("a", count=3)
        await store.commit(Batch(changes=(change,)))
        version += 3
        print(version, flush=True)
asyncio.run(main())
"""


def in_file(folder: Path, work: Callable[[Store], Awaitable[None]]) -> None:
    run_with(in_a_file(folder), work)


async def work_out(store: Store) -> None:
    for batch in a_workout():
        assert (await store.commit(batch)).applied


def test_a_second_owner_is_told_who_holds_the_file(tmp_path: Path) -> None:
    path = tmp_path / "petra.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(HeldError, match=f"process {other.pid} on "):
            asyncio.run(SqliteStore.open(path))
        other.kill()
    in_file(tmp_path, work_out)


@pytest.mark.slow
def test_a_killed_process_leaves_all_that_it_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "petra.db"
    with subprocess.Popen(
        [sys.executable, "-c", COMMIT_FOR_EVER, path], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        lines = [other.stdout.readline() for _ in range(50)]
        other.kill()
        lines += other.stdout.readlines()
    acked = max(int(line) for line in lines if line.endswith(b"\n"))

    async def look(store: Store) -> None:
        found = await store.read("a")
        assert acked <= len(found) <= acked + 3
        assert found == list(make_records("a", len(found)))
        assert await store.verify() == []

    in_file(tmp_path, look)


def test_a_reader_beside_the_owner_sees_commits_and_cannot_write(tmp_path: Path) -> None:
    async def look(store: Store) -> None:
        await store.commit(Batch(changes=(make_start("a"),)))
        beside = await SqliteStore.open(tmp_path / "petra.db", readonly=True)
        assert await what_is_stored(beside, "a") == await what_is_stored(store, "a")
        await store.commit(Batch(changes=(make_next("a", 1),)))
        assert len(await beside.read("a")) == 2
        with pytest.raises(UsageError):
            await beside.commit(Batch(changes=(make_next("a", 2),)))
        await beside.close()

    in_file(tmp_path, look)


def test_everything_is_there_after_opening_again(tmp_path: Path) -> None:
    seen = []

    async def look(store: Store) -> None:
        seen.append([await what_is_stored(store, name) for name in "xyz"])

    async def both(store: Store) -> None:
        await work_out(store)
        await look(store)

    in_file(tmp_path, both)
    in_file(tmp_path, look)
    assert seen[0] == seen[1]
    assert len(seen[0][0]["records"]) == 16


def test_a_file_migrated_by_newer_code_is_refused(tmp_path: Path) -> None:
    in_file(tmp_path, work_out)
    with apsw.Connection(str(tmp_path / "petra.db")) as file:
        file.execute("INSERT INTO migrations VALUES (9000, 'contract_later', 'x')")
    file.close()
    for readonly in (False, True):
        with pytest.raises(SchemaError, match="9000_contract_later"):
            asyncio.run(SqliteStore.open(tmp_path / "petra.db", readonly=readonly))


def test_a_file_to_which_newer_code_only_added_is_opened(tmp_path: Path) -> None:
    in_file(tmp_path, work_out)
    with apsw.Connection(str(tmp_path / "petra.db")) as file:
        file.execute("INSERT INTO migrations VALUES (9000, 'later', 'x')")
    file.close()

    async def look(store: Store) -> None:
        assert (await store.executions(ExecutionFilter())).rows

    in_file(tmp_path, look)


def test_what_the_version_before_namespaces_writes_is_in_the_default_one(tmp_path: Path) -> None:
    in_file(tmp_path, work_out)
    with apsw.Connection(str(tmp_path / "petra.db")) as file:
        file.execute(
            "INSERT INTO playbooks (digest, name, path, version, source, applied)"
            " VALUES ('old', 'old', 'shop/old', '1', x'', 1.0) ON CONFLICT (digest) DO NOTHING"
        )
        file.execute(
            "INSERT INTO executions (id, shard, version, head, playbook, digest, status, reason, started,"
            " updated, ended, parent, labels, search)"
            " VALUES ('old', 0, 0, x'', 'old', 'old', 'running', '', 1, 1, NULL, '', '{\"a\":\"b\"}', '')"
        )
    file.close()

    async def look(store: Store) -> None:
        found = await store.find_playbook("shop/old")
        assert found is not None
        assert found.namespace == "default"
        wanted = ExecutionFilter(namespace="default", labels=(("a", "b"),))
        assert [one.row.id for one in (await store.executions(wanted)).rows] == ["old"]

    in_file(tmp_path, look)


def test_a_changed_migration_is_refused(tmp_path: Path) -> None:
    in_file(tmp_path, work_out)
    with apsw.Connection(str(tmp_path / "petra.db")) as file:
        file.execute("UPDATE migrations SET checksum = 'other'")
    file.close()
    with pytest.raises(SchemaError, match=r"0001_log was changed .* add a new migration"):
        asyncio.run(SqliteStore.open(tmp_path / "petra.db"))


def test_a_store_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no store"):
        asyncio.run(SqliteStore.open(tmp_path / "none.db", readonly=True))


def test_a_reader_waits_while_another_process_makes_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_schema, "LOOKS", 1_000_000)
    path = tmp_path / "petra.db"
    with apsw.Connection(str(path)) as connection:
        connection.execute("CREATE TABLE begun (a)")

    async def scenario() -> None:
        reader = asyncio.create_task(SqliteStore.open(path, readonly=True))
        await asyncio.sleep(0)
        assert not reader.done()
        writer = await SqliteStore.open(path)
        assert await (await reader).execution("e") is None
        await (await reader).close()
        await writer.close()

    asyncio.run(scenario())


def test_a_reader_of_an_older_file_is_told_how_to_bring_it_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_schema, "LOOK_S", 0)
    path = tmp_path / "petra.db"
    with apsw.Connection(str(path)) as connection:
        connection.execute("CREATE TABLE old (a)")
    with pytest.raises(SchemaError, match="'petra db migrate' brings it up to date"):
        asyncio.run(SqliteStore.open(path, readonly=True))


def test_a_file_that_is_no_database_is_broken(tmp_path: Path) -> None:
    (tmp_path / "petra.db").write_bytes(b"something else" * 1000)
    with pytest.raises(BrokenError, match="is no database of SQLite"):
        asyncio.run(SqliteStore.open(tmp_path / "petra.db"))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE records SET hash = x'00' WHERE place & 15 = 3", "record 4 does not follow"),
        ("DELETE FROM records WHERE place & 15 = 3", "record 4 does not follow"),
        ("DELETE FROM records WHERE place & 15 > 14", "is at version 16, its log has"),
        ("UPDATE executions SET version = 15 WHERE id = 'y'", "execution 'y' is at version 15"),
        ("UPDATE executions SET head = x'00' WHERE id = 'y'", "execution 'y' is at version 16"),
        ("DELETE FROM executions WHERE id = 'y'", "belong to no execution"),
    ],
)
def test_verify_names_what_was_changed_behind_its_back(
    tmp_path: Path, damage: str, says: str
) -> None:
    in_file(tmp_path, work_out)
    with apsw.Connection(str(tmp_path / "petra.db")) as file:
        file.execute(damage)
    file.close()

    async def look() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db", readonly=True)
        assert any(says in problem for problem in await store.verify())
        await store.close()

    asyncio.run(look())


def test_an_ended_execution_cannot_be_reopened_even_by_hand(tmp_path: Path) -> None:
    in_file(tmp_path, work_out)
    file = apsw.Connection(str(tmp_path / "petra.db"))
    file.execute("UPDATE executions SET ended = 1.0 WHERE id = 'x'")
    with pytest.raises(apsw.ConstraintError, match="stays as it is"):
        file.execute("UPDATE executions SET ended = NULL WHERE id = 'x'")
    file.close()


def test_a_backup_is_a_store_of_its_own(tmp_path: Path) -> None:
    async def copy(store: Store) -> None:
        await work_out(store)
        await store.backup(tmp_path / "copy.db")
        with pytest.raises(UsageError, match="never overwrites"):
            await store.backup(tmp_path / "copy.db")
        await store.commit(Batch(changes=(make_next("x", 16),)))
        other = await SqliteStore.open(tmp_path / "copy.db")
        assert await other.verify() == []
        assert len(await other.read("x")) == 16
        assert await what_is_stored(other, "y") == await what_is_stored(store, "y")
        await other.close()

    in_file(tmp_path, copy)


def test_the_log_of_writes_does_not_grow_while_the_store_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 100)

    async def much(store: Store) -> None:
        version = 0
        for _ in range(40):
            change = make_next("a", version, 500) if version else make_start("a", count=500)
            await store.commit(Batch(changes=(change,)))
            version += 500

    def sizes() -> tuple[int, int]:
        return ((tmp_path / "petra.db").stat().st_size, (tmp_path / "petra.db-wal").stat().st_size)

    async def measured(store: Store) -> None:
        await much(store)
        file, log = sizes()
        assert file > 2_000_000
        assert log < 1_500_000

    in_file(tmp_path, measured)
