"""What a file has lost is named, whoever lost it; what was killed, deleted or copied loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from petra.store import Batch, LossError, anchor, sqlite
from petra.store.anchor import Anchor, AnchorLine, Lost, anchor_of, read_anchor
from petra.store.errors import FullError
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import make_next, make_row, make_start

WAL_HEADER, FRAME_HEADER, PAGE = 32, 24, 4096

COMMIT_AND_DELETE = """
import asyncio, sys
from pathlib import Path
from petra.store import Batch, sqlite, anchor
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import make_next, make_start, make_row
sqlite.CHECKPOINT_PAGES = 40
anchor.ANCHOR_BYTES_MIN = 500
async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    print("open", flush=True)
    number = 0
    while True:
        number += 1
        name = f"{sys.argv[2]}-{number}"
        await store.commit(Batch(changes=(make_start(name, count=2),)))
        await store.commit(Batch(changes=(make_next(name, 2, 2, row=make_row(name, status="completed", ended=1.0)),)))
        if number % 3 == 0:
            await store.expire(2.0, limit=2)
asyncio.run(main())
"""


async def filled(path: Path, commits: int = 20) -> SqliteStore:
    """Open a store and commit to two executions, three records at a time."""
    store = await SqliteStore.open(path)
    for number in range(commits):
        name, version = "ab"[number % 2], number // 2 * 3
        change = make_next(name, version, 3) if version else make_start(name, count=3)
        assert (await store.commit(Batch(changes=(change,)))).applied
    return store


def left_by_a_kill(folder: Path, commits: int = 20) -> Path:
    """Return a folder as a process leaves it that is killed after so many commits."""
    made, left = folder / "made", folder / "left"

    async def main() -> None:
        store = await filled(made / "petra.db", commits)
        shutil.copytree(made, left)
        await store.close()

    asyncio.run(main())
    (left / "petra.db-shm").unlink()
    return left / "petra.db"


def flip(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 0x10]))


def opened(path: Path) -> None:
    """Open a store for writing, and close it again."""

    async def main() -> None:
        await (await SqliteStore.open(path)).close()

    asyncio.run(main())


def lost_of(path: Path) -> list[Lost]:
    async def main() -> list[Lost]:
        store = await SqliteStore.open(path, readonly=True)
        try:
            return await store.lost()
        finally:
            await store.close()

    return asyncio.run(main())


@pytest.mark.spec("S17")
def test_a_flipped_byte_of_the_write_ahead_log_is_named_wherever_it_is(tmp_path: Path) -> None:
    path = left_by_a_kill(tmp_path)
    log = path.with_name("petra.db-wal")
    whole = log.read_bytes()
    frames = (len(whole) - WAL_HEADER) // (FRAME_HEADER + PAGE)
    assert frames > 20
    named = 0
    for frame in range(frames - 40, frames, 3):
        log.write_bytes(whole)
        flip(log, WAL_HEADER + frame * (FRAME_HEADER + PAGE) + FRAME_HEADER + 100)
        path.with_name("petra.db-shm").unlink(missing_ok=True)
        with pytest.raises(LossError, match=r"lacks \d+ records? .* accept-loss"):
            opened(path)
        found = lost_of(path)
        assert {one.execution for one in found} <= {"a", "b"}
        assert all(one.version == 30 and one.kept < 30 for one in found)
        named += bool(found)
    assert named == 14


def test_what_was_refused_is_as_it_was_so_that_it_can_be_mended(tmp_path: Path) -> None:
    path = left_by_a_kill(tmp_path)
    log = path.with_name("petra.db-wal")
    place = log.stat().st_size - 100
    before = {one.name: one.read_bytes() for one in path.parent.iterdir()}
    flip(log, place)
    with pytest.raises(LossError):
        opened(path)
    flip(log, place)
    path.with_name("petra.db-shm").unlink(missing_ok=True)
    assert {one: path.with_name(one).read_bytes() for one in before} == before
    opened(path)


def test_a_loss_that_is_accepted_is_told_for_ever_and_in_nobodys_way(tmp_path: Path) -> None:
    path = left_by_a_kill(tmp_path)
    log = path.with_name("petra.db-wal")
    flip(log, log.stat().st_size - 100)
    damaged = log.read_bytes()

    async def accepting() -> None:
        store = await SqliteStore.open(path, accept_loss=True)
        assert [(one.execution, one.kept, one.version) for one in await store.accepted()] == [
            ("b", 27, 30)
        ]
        assert await store.verify() == []
        assert (await store.commit(Batch(changes=(make_next("b", 27, 1),)))).applied
        await store.close()

    asyncio.run(accepting())
    assert log.with_name("petra.db-wal.damaged").read_bytes() == damaged
    opened(path)
    assert lost_of(path) == []
    assert [one.version for one in read_anchor(anchor_of(path)).accepted] == [30]


@pytest.mark.parametrize("old", ["older file", "no file", "no log"])
def test_an_older_file_in_its_place_is_named(tmp_path: Path, old: str) -> None:
    path = left_by_a_kill(tmp_path)
    if old == "no log":
        path.with_name("petra.db-wal").unlink()
    else:
        path.with_name("petra.db-wal").unlink()
        path.unlink()
        if old == "older file":

            async def main() -> None:
                await (await filled(tmp_path / "older.db", 4)).close()

            asyncio.run(main())
            shutil.copy(tmp_path / "older.db", path)
    with pytest.raises(LossError, match="executions a, b"):
        opened(path)


def test_a_copy_has_lost_nothing_where_it_is_opened_on_its_own(tmp_path: Path) -> None:
    async def main() -> None:
        store = await filled(tmp_path / "petra.db")
        await store.backup(tmp_path / "copy.db")
        await store.close()

    asyncio.run(main())
    opened(tmp_path / "copy.db")


@pytest.mark.parametrize("seed", range(30))
def test_an_anchor_that_lags_or_is_damaged_itself_raises_no_alarm(
    tmp_path: Path, seed: int
) -> None:
    """It is cut anywhere, or a byte of it is flipped: less is known, and nothing wrong."""
    path = left_by_a_kill(tmp_path)
    whole = anchor_of(path).read_bytes()
    place = (seed * 7919 + 31) % len(whole)
    if seed % 2:
        anchor_of(path).write_bytes(whole[:place])
    else:
        flip(anchor_of(path), place)
    opened(path)


def test_a_second_use_after_a_torn_line_is_anchored_all_the_same(tmp_path: Path) -> None:
    path = left_by_a_kill(tmp_path)
    whole = anchor_of(path).read_bytes()
    anchor_of(path).write_bytes(whole[:-5])

    async def main() -> None:
        store = await SqliteStore.open(path)
        await store.commit(Batch(changes=(make_next("a", 30, 1),)))
        await store.close()

    asyncio.run(main())
    assert read_anchor(anchor_of(path)).heads["a"][1] == 31


@pytest.mark.slow
@pytest.mark.spec("S17")
def test_a_process_killed_anywhere_leaves_no_false_alarm(tmp_path: Path) -> None:
    path = tmp_path / "petra.db"
    for round_ in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", COMMIT_AND_DELETE, path, str(round_)], stdout=subprocess.PIPE
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"open\n"
            with contextlib.suppress(subprocess.TimeoutExpired):
                other.wait(round_ * 0.035)
            other.kill()
    opened(path)
    assert lost_of(path) == []


def test_what_is_deleted_is_named_before_it_is(tmp_path: Path) -> None:
    path = tmp_path / "petra.db"

    async def main() -> None:
        store = await SqliteStore.open(path)
        await store.commit(
            Batch(changes=(make_start("a", row=make_row("a", status="completed", ended=1.0)),))
        )
        gone = await store.expire(2.0)
        assert gone.executions == ("a",)
        assert await store.lost() == []
        await store.close()

    asyncio.run(main())
    opened(path)


def test_nothing_is_deleted_while_that_cannot_be_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> int:
        raise OSError(28, "No space left on device")

    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        await store.commit(
            Batch(changes=(make_start("a", row=make_row("a", status="completed", ended=1.0)),))
        )
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", no_space)
            with pytest.raises(FullError, match="nothing was deleted"):
                await store.expire(2.0)
        assert await store.execution("a") is not None
        assert (await store.expire(2.0)).executions == ("a",)
        await store.close()

    asyncio.run(main())


def test_a_full_disk_lets_the_anchor_lag_and_refuses_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> int:
        raise OSError(28, "No space left on device")

    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", no_space)
            assert (await store.commit(Batch(changes=(make_start("a"),)))).applied
        assert read_anchor(anchor_of(tmp_path / "petra.db")).heads == {}
        assert (await store.commit(Batch(changes=(make_start("b"),)))).applied
        assert set(read_anchor(anchor_of(tmp_path / "petra.db")).heads) == {"a", "b"}
        await store.close()

    asyncio.run(main())


def test_the_anchor_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 50)
    monkeypatch.setattr(anchor, "ANCHOR_BYTES_MIN", 1_000)
    path = tmp_path / "petra.db"
    sizes = []

    async def main() -> None:
        store = await SqliteStore.open(path)
        for number in range(300):
            await store.commit(Batch(changes=(make_start(f"e{number}"),)))
            sizes.append(anchor_of(path).stat().st_size)
        assert await store.lost() == []
        await store.close()

    asyncio.run(main())
    assert max(sizes) < 2_500
    assert anchor_of(path).stat().st_size <= 1_000
    assert "e299" in read_anchor(anchor_of(path)).heads


def test_an_anchor_that_a_reader_keeps_from_settling_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchor, "ANCHOR_BYTES_MAX", 2_000)
    monkeypatch.setattr(anchor, "ANCHOR_HEADS_MAX", 10)
    made = Anchor(tmp_path / "heads")
    for number in range(1_000):
        made.append([(f"e{number}", 1, "00")])
        assert (tmp_path / "heads").stat().st_size < 2_200
    made.close()
    assert read_anchor(tmp_path / "heads").last == [("e999", 1, "00")]


def test_a_line_says_all_there_is_to_say(tmp_path: Path) -> None:
    lost = Lost(execution="a", kept=3, version=5, at=1.0)
    anchor.replace_anchor(tmp_path / "heads", AnchorLine(heads=[("b", 2, "ff")], accepted=[lost]))
    held = read_anchor(tmp_path / "heads")
    assert (held.last, held.accepted) == ([("b", 2, "ff")], [lost])
    assert str(lost) == "records 4 to 5 had been stored, and are lost"
