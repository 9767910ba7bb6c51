"""Results of a loop that are more than a frame can hold (S9, S18)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import playbook

from petra.embedded import Home
from petra.engine.codec import from_row
from petra.kernel import events as e
from petra.kernel import verify
from petra.objects import LocalObjects, read_reference

BOOK = """
  - step: s
    loop: {in: "{{ range(2000) }}", iterator: n, spec: {mode: parallel, policy: {exec: local}}}
    tool: {kind: python, code: "result = {'n': iter['n'], 'text': 'x' * 300}"}
    next: {arcs: [{step: use, when: "{{ s | length == 2000 and event.result[1999].n == 1999 }}"}]}
  - step: use
    tool: {kind: python, args: {all: "{{ s }}"}, code: "result = [len(all), all[7]['n']]"}
"""


@pytest.mark.slow
@pytest.mark.spec("S9", "S18")
def test_results_that_no_frame_can_hold_are_stored_in_pieces_and_read_as_one_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("petra.kernel.loops.GATHER_BYTES", 100_000)

    async def scenario() -> None:
        async with Home.open(tmp_path) as petra:
            result = await petra.run(playbook(BOOK), execution="e1")
            assert (result.status, result.output) == ("completed", [2_000, 7]), result
            found = [from_row(row) for row in await petra.engine.store.read("e1", limit=10_000)]
            assert verify("e1", found) is None
            pieces = [
                one.event.piece
                for one in found
                if isinstance(one.event, e.IterationsEnded) and one.event.upto
            ]
            assert len(pieces) == 7
            done = next(one.event for one in found if isinstance(one.event, e.LoopDone))
            whole = await LocalObjects(tmp_path / "objects").get(read_reference(done.result))
            assert [one["n"] for one in whole] == list(range(2_000))

    asyncio.run(asyncio.wait_for(scenario(), 300))


def peak_mb(pid: int) -> float:
    """Return the most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


HEAVY = """
  - step: gen
    tool: {kind: python, code: "result = [{'id': n} for n in range(workload['n'])]"}
    next: {arcs: [{step: s}]}
  - step: s
    loop: {in: "{{ gen }}", iterator: row, spec: {mode: parallel, max_in_flight: 8, policy: {exec: local}}}
    tool: {kind: python, args: {id: "{{ iter.row.id }}"}, code: "result = str(id) + 'x' * 20000"}
    next: {arcs: [{step: count, args: {n: "{{ event.counts.succeeded }}"}}]}
  - step: count
    tool: {kind: python, code: "result = args['n']"}
"""


@pytest.mark.slow
@pytest.mark.spec("S9", "S18")
def test_the_memory_of_a_worker_does_not_grow_with_a_list_and_its_results(tmp_path: Path) -> None:
    peaks: dict[int, float] = {}

    async def scenario(count: int) -> None:
        async with Home.open(tmp_path / str(count)) as petra:
            book = playbook(HEAVY, workload="{n: 0}")
            result = await petra.run(book, {"n": count}, execution="e1")
            assert (result.status, result.output) == ("completed", count), result
            assert petra.keeper.worker is not None
            peaks[count] = peak_mb(petra.keeper.worker.pid)

    for count in (1_500, 6_000):  # 30 and 120 MB
        asyncio.run(asyncio.wait_for(scenario(count), 300))
    assert peaks[6_000] - peaks[1_500] < 40, peaks
