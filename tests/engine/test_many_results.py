"""Results of a loop that are more than a frame can hold (S9, S18)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import playbook

from petra.embedded import Local
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


@pytest.mark.spec("S9", "S18")
def test_results_that_no_frame_can_hold_are_stored_in_pieces_and_read_as_one_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("petra.kernel.loops.GATHER_BYTES", 100_000)

    async def scenario() -> None:
        async with Local.open(tmp_path) as petra:
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

    asyncio.run(asyncio.wait_for(scenario(), 60))
