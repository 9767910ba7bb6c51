"""A full disk is waited for, wherever it is met; nothing is half there, and nobody stops (S18)."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from engine_support import local, playbook
from support.clocks import FakeClock

from petra import private
from petra.clock import SystemClock
from petra.embedded import CLOSED, LOGS, Home
from petra.engine import Engine, logs
from petra.engine.limits import AGAIN_S, RETRY_S
from petra.engine.logs import LogFiles, RunLogs, file_of
from petra.engine.retention import Retention
from petra.store.memory import MemoryStore
from petra.testing.store_faults import StoreFault, faulty
from petra.wire import frames as f

STEP = playbook("  - step: a\n    tool: {kind: noop}\n")

BACKUP = """
import asyncio, resource, signal, sys
from pathlib import Path
from petra.store import Batch, StoreError
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import make_next, make_start
async def main(folder):
    store = await SqliteStore.open(folder / "petra.db")
    await store.commit(Batch(changes=(make_start("a", count=2_000),)))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        await store.backup(folder / "copy.db")
    except StoreError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (await store.commit(Batch(changes=(make_next("a", 2_000),)))).applied
    await store.close()
asyncio.run(main(Path(sys.argv[1])))
"""


def frame(text: str) -> f.Log:
    line = f.LogLine(at=1.0, execution="e", step="s", task="t", text=text)
    return f.Log(lines=[line])


class Small:
    """A disk on which so many files can still be extended."""

    def __init__(self, free: int) -> None:
        self.free = free
        self.refused = asyncio.Event()

    def append(self, path: Path, body: bytes) -> None:
        if not self.free:
            self._loop.call_soon_threadsafe(self.refused.set)
            raise OSError(errno.ENOSPC, "No space left on device")
        self.free -= 1
        private.append(path, body)

    @classmethod
    def used(cls, free: int, monkeypatch: pytest.MonkeyPatch) -> Small:
        disk = cls(free)
        disk._loop = asyncio.get_running_loop()
        monkeypatch.setattr(logs, "append", disk.append)
        return disk

    _loop: asyncio.AbstractEventLoop


def texts(path: Path) -> list[str]:
    return [json.loads(raw)["text"] for raw in path.read_text().splitlines()]


def test_a_line_that_does_not_fit_is_not_there_by_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, free = os.write, [15]

    def some(file: int, data: bytes) -> int:
        part = data[: free[0]]
        if not part:
            raise OSError(errno.ENOSPC, "No space left on device")
        free[0] -= len(part)
        return write(file, part)

    path = tmp_path / "log"
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", some)
        private.append(path, b"ten bytes\n")
        with pytest.raises(OSError, match="No space"):
            private.append(path, b"ten bytes\n")
    assert path.read_bytes() == b"ten bytes\n"


def test_lines_of_a_log_wait_for_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()

    async def scenario() -> None:
        disk = Small.used(1, monkeypatch)
        files = LogFiles(tmp_path / LOGS, clock)
        await files.append(frame("one"))
        writing = asyncio.create_task(files.append(frame("two")))
        for _ in range(3):
            await disk.refused.wait()
            disk.refused.clear()
            await asyncio.sleep(0.01)
            assert not writing.done()
            await clock.advance(1.0)
        disk.free = 1
        while not writing.done():
            await asyncio.sleep(0.01)
            await clock.advance(1.0)
        assert texts(file_of(tmp_path / LOGS, "e")) == ["one", "two"]

    asyncio.run(asyncio.wait_for(scenario(), 300))


def test_closing_does_not_wait_for_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Link:
        def send(self, _frame: object) -> None: ...

    async def scenario() -> None:
        disk = Small.used(0, monkeypatch)
        kept = RunLogs(LogFiles(tmp_path / LOGS, FakeClock()))
        kept.take(Link(), frame("one"))
        await disk.refused.wait()
        await kept.close()

    asyncio.run(asyncio.wait_for(scenario(), 300))


def test_what_is_to_be_deleted_waits_for_space_and_the_engine_goes_on() -> None:
    refused: list[str] = []

    def plan(method: str, _number: int) -> StoreFault | None:
        if method == "expire" and len(refused) < 3:
            refused.append(method)
            return StoreFault.FULL
        return None

    async def scenario() -> None:
        store = faulty(MemoryStore(clock=SystemClock().now), plan)
        async with local(store, retention=Retention(store, 0.0)) as petra:
            while len(refused) < 3:
                assert (await petra.run(STEP)).status == "completed"
            assert (await petra.run(STEP)).status == "completed"

    asyncio.run(asyncio.wait_for(scenario(), 300))


def test_what_lasts_is_said_now_and_then_and_so_is_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "petra.engine")

    async def scenario() -> None:
        clock, full = FakeClock(), True

        def plan(method: str, _number: int) -> StoreFault | None:
            return StoreFault.FULL if full and method == "commit" else None

        store = faulty(MemoryStore(clock=clock.now), plan)
        engine = await Engine(store, clock=clock).__aenter__()
        starting = asyncio.create_task(engine.start(STEP, execution="e"))
        await clock.advance(10 * AGAIN_S)
        full = False
        await clock.advance(RETRY_S)
        await starting
        await clock.run(engine.__aexit__())

    asyncio.run(asyncio.wait_for(scenario(), 300))
    said = [line for line in caplog.messages if "until this is over" in line]
    assert 9 <= len(said) <= 11  # it was tried 600 times
    assert [line for line in caplog.messages if "that is over" in line] == caplog.messages[-1:]


def test_a_backup_without_space_leaves_nothing_behind_and_the_store_goes_on(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BACKUP, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "copy.db could not be written" in done.stdout
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("copy")] == []


@pytest.mark.slow
def test_a_folder_that_cannot_say_that_it_was_left_in_order_is_left_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, f"No space left on device: {path}")

    async def scenario() -> None:
        async with Home.open(tmp_path / ".petra") as petra:
            assert (await petra.run(STEP)).status == "completed"
            monkeypatch.setattr("petra.embedded.folder.make_file", full)

    asyncio.run(scenario())
    assert not (tmp_path / ".petra" / CLOSED).exists()
