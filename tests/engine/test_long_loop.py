"""A long local loop in a worker process: memory stays flat, events stay small, and a crash repeats little."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from engine_support import Ear, playbook

from petra.embedded import Home
from petra.engine.codec import from_row
from petra.kernel import Record, verify
from petra.kernel import events as e
from petra.objects import LocalObjects, read_reference

TOTAL = 20_000
EVENT_MAX = 256 * 1024


def book(code: str, width: int = 50) -> str:
    return (
        "  - step: s\n"
        f"    loop: {{in: '{{{{ range({TOTAL}) }}}}', iterator: n,"
        f" spec: {{mode: parallel, max_in_flight: {width}, policy: {{exec: local}}}}}}\n"
        f"    tool: {{kind: python, args: {{n: '{{{{ iter.n }}}}'}}, code: \"{code}\"}}\n"
    )


def peak_mb(pid: int) -> float:
    """Return the most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


async def records(petra: Home) -> list[Record]:
    rows = await petra.engine.store.read("e1", limit=1_000_000)
    assert max(len(row.body) for row in rows) < EVENT_MAX
    return [from_row(row) for row in rows]


def done_in(found: Sequence[Record]) -> set[int]:
    return {
        one.path[0]
        for record in found
        if isinstance(record.event, e.IterationsEnded)
        for one in record.event.ended
    }


@pytest.mark.slow
@pytest.mark.spec("S9", "S18")
def test_a_local_loop_of_20_000_holds_memory_flat_and_no_event_is_too_large(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Home.open(tmp_path) as petra:
            peaks: list[float] = []

            def listen(found: Sequence[Record]) -> None:
                seen.update(done_in(found))
                if petra.keeper.worker is not None and len(seen) // 5_000 > len(peaks):
                    peaks.append(peak_mb(petra.keeper.worker.pid))

            seen: set[int] = set()
            petra.engine.feed.attach("e1", Ear(listen))
            result = await petra.run(playbook(book("result = n")), execution="e1")
            assert result.status == "completed", result
            found = await records(petra)
            assert verify("e1", found) is None
            assert sum(isinstance(one.event, e.RunRedelivered) for one in found) == 0
            assert result.output == list(range(TOTAL))
            reference = read_reference((await petra.engine.view("e1")).state.output)
            assert await LocalObjects(tmp_path / "objects").get(reference) == list(range(TOTAL))
            assert len(peaks) == 4
            assert peaks[-1] - peaks[0] < 4, peaks

    asyncio.run(asyncio.wait_for(scenario(), 300))


@pytest.mark.slow
@pytest.mark.spec("S9")
def test_a_worker_killed_half_way_repeats_only_what_was_not_reported(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    code = f"result = open({str(ledger)!r}, 'a').write(str(n) + chr(10))"

    async def scenario() -> None:
        async with Home.open(tmp_path / "home") as petra:
            half = asyncio.Event()
            seen: set[int] = set()

            def listen(found: Sequence[Record]) -> None:
                seen.update(done_in(found))
                if len(seen) > TOTAL // 2:
                    half.set()

            petra.engine.feed.attach("e1", Ear(listen))
            await petra.engine.start(playbook(book(code)), execution="e1")
            await half.wait()
            assert petra.keeper.worker is not None
            petra.keeper.worker.kill()
            result = await petra.rest("e1")
            assert result.status == "completed", result
            found = await records(petra)
            lost = next(n for n, r in enumerate(found) if isinstance(r.event, e.RunRedelivered))
            reported = done_in(found[:lost])
            runs = Counter(map(int, ledger.read_text().split()))
            assert set(runs) == set(range(TOTAL))
            assert len(reported) > TOTAL // 2
            assert all(runs[n] == 1 for n in reported)
            assert sum(runs.values()) - TOTAL < 2_000

    asyncio.run(asyncio.wait_for(scenario(), 300))
