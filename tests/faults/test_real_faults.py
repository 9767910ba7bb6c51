"""Real processes that freeze, and a disk that is full or lies: late reports are rejected, nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest
from engine_support import chain, local, playbook, talk, until
from store.fault_vfs import Disk, FaultVFS, Mode
from support.processes import is_stopped

from petra.clock import SystemClock
from petra.embedded import Home
from petra.engine import Engine
from petra.engine.codec import from_row
from petra.errors import PetraError
from petra.kernel import Record, verify
from petra.kernel import events as e
from petra.store.base import Store
from petra.store.sqlite import SqliteStore
from petra.worker.child import Child, grown

LEASE_S = 0.6
NEVER = 10**9


def _book(ledger: Path, go: Path) -> str:
    code = (
        "import os, time\\n"
        f"with open({str(ledger)!r}, 'a') as file:\\n"
        "    file.write(f'{os.getpid()}\\\\n')\\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\\n"
        "result = os.getpid()"
    )
    return f'  - step: work\n    tool: {{kind: python, code: "{code}"}}\n'


def _lines(ledger: Path) -> list[int]:
    return [int(line) for line in ledger.read_text().split()] if ledger.exists() else []


def _stopped(pid: int) -> Callable[[], Awaitable[bool]]:
    async def stopped() -> bool:
        return is_stopped(pid)

    return stopped


async def _records(store: Store, execution: str) -> list[Record]:
    return [from_row(row) for row in await store.read(execution)]


@asynccontextmanager
async def _hired(petra: Home) -> AsyncIterator[Child]:
    """Give a worker process that talks to the engine."""
    async with grown() as stem:
        child = await stem.fork(["--slots", "1"])
        talking = asyncio.create_task(talk(petra, child.transport))
        try:
            yield child
        finally:
            talking.cancel()
            os.kill(child.pid, signal.SIGCONT)
            child.kill()
            await child.wait()
            child.close()
            await asyncio.gather(talking, return_exceptions=True)


@pytest.mark.slow
@pytest.mark.spec("S5")
def test_a_worker_that_froze_beyond_its_lease_reports_too_late_and_changes_nothing(
    tmp_path: Path,
) -> None:
    ledger, go = tmp_path / "ledger", tmp_path / "go"
    book = playbook(
        _book(ledger, go) + "    next: {arcs: [{step: stay}]}\n"
        "  - step: stay\n    tool: {kind: wait, signal: {name: go}}\n"
    )

    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        async with Engine(store, lease_s=LEASE_S) as engine:
            petra = Home(engine, SystemClock())
            async with _hired(petra) as frozen:
                await engine.start(book, execution="e1")
                await until(_begun)
                os.kill(frozen.pid, signal.SIGSTOP)
                await until(_stopped(frozen.pid))
                go.touch()
                async with _hired(petra) as other:
                    await asyncio.wait_for(petra.rest("e1"), 300)  # it waits for the signal
                    os.kill(frozen.pid, signal.SIGCONT)
                    await until(lambda: _rejected(store))
                    await petra.signal("e1", "go")
                    result = await petra.rest("e1")
                    assert result.status == "completed"
                    pids = frozen.pid, other.pid
        await check(store, *pids)
        await store.close()

    async def _begun() -> bool:
        return len(_lines(ledger)) >= 1

    async def _rejected(store: Store) -> bool:
        found = await _records(store, "e1")
        return any(isinstance(record.event, e.ReportRejected) for record in found)

    async def check(store: Store, frozen: int, other: int) -> None:
        records = await _records(store, "e1")
        assert verify("e1", records) is None
        done = [record.event for record in records if isinstance(record.event, e.StepDone)]
        assert [event.step for event in done] == ["work", "stay"]
        assert done[0].result == other
        assert sum(isinstance(record.event, e.RunRedelivered) for record in records) >= 1
        assert set(_lines(ledger)) == {frozen, other}

    asyncio.run(scenario())


class _FillingDisk(Disk):
    """A disk that has no space while it is ``full``."""

    full = False

    def step(self, kind: str) -> bool:
        if self.full and kind == "write":
            raise apsw.FullError("no space left")
        return super().step(kind)


def test_a_full_disk_acknowledges_nothing_and_loses_nothing_and_goes_on_when_there_is_space(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "petra.engine")
    disk = _FillingDisk(Mode.CRASH, NEVER)
    vfs = FaultVFS("filling", disk)

    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db", vfs="filling")
        async with local(store) as petra:
            assert (await petra.run(chain(2), execution="before")).status == "completed"
            disk.full = True
            during = asyncio.create_task(petra.run(chain(2), execution="during"))
            await until(_said)
            assert not during.done()
            assert await store.execution("during") is None
            assert await store.execution("before") is not None  # reading goes on
            disk.full = False
            result = await asyncio.wait_for(during, 300)
            assert result.status == "completed"
        assert await store.verify() == []
        for name in ("before", "during"):
            assert verify(name, await _records(store, name)) is None
        await store.close()

    async def _said() -> bool:
        return any("nothing is acknowledged" in line for line in caplog.messages)

    asyncio.run(scenario())
    vfs.unregister()


def test_a_disk_that_cannot_sync_stops_the_engine_and_what_was_acknowledged_is_there(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        lying = Disk(Mode.FSYNC, NEVER)
        vfs = FaultVFS("lying", lying)
        store = await SqliteStore.open(tmp_path / "petra.db", vfs="lying")
        async with local(store) as petra:
            assert (await petra.run(chain(2), execution="before")).status == "completed"
            await petra.run(
                playbook("  - step: w\n    tool: {kind: wait, signal: {name: go}}\n"),
                execution="waiting",
            )
            rests = asyncio.create_task(
                petra.rest("waiting", lambda found: found.status == "completed")
            )
            lying.at = lying.operations + 1
            with pytest.raises(PetraError, match="the engine has stopped"):
                await asyncio.wait_for(petra.run(chain(2), execution="after"), 300)
            with pytest.raises(PetraError, match="the engine has stopped"):
                await asyncio.wait_for(rests, 300)  # nobody waits for ever
            with pytest.raises(PetraError, match="the engine has stopped"):
                await petra.signal("waiting", "go")
        with contextlib.suppress(PetraError):
            await store.close()
        lying.lose_power()
        vfs.unregister()
        again = await SqliteStore.open(tmp_path / "petra.db")
        assert await again.verify() == []
        assert await again.execution("before") is not None
        assert await again.execution("waiting") is not None
        await again.close()

    asyncio.run(scenario())
