"""What goes to a worker in one frame: bounded by bytes, and what runs share goes once (S18)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from engine_support import playbook

from petra.embedded import Home
from petra.engine import dispatch
from petra.engine.limits import SHARED_MIN
from petra.engine.parcels import Parcels, SentValues, batches, size_of, unfit
from petra.wire import Assignment, Iteration, frames

pytestmark = pytest.mark.spec("S18")

LARGE = {"text": "x" * SHARED_MIN}


def given(lease: str = "l", **scope: Any) -> Assignment:
    return Assignment(execution="e", run="r", step="s", lease=lease, scope=scope)


def test_a_large_workload_goes_once_and_a_small_ctx_with_every_assignment() -> None:
    parcels, sent = Parcels(), SentValues()
    first, news = parcels.lean(given(workload=LARGE, ctx={"n": 1}, args={}), sent)
    assert first.scope == {"ctx": {"n": 1}, "args": {}}
    (frame,) = news
    assert (frame.value, first.shared) == (LARGE, {"workload": frame.key})
    again, news = parcels.lean(given(workload=LARGE, ctx={"n": 2}), sent)
    assert (again.shared, news) == (first.shared, [])
    _, other = parcels.lean(given(workload=LARGE), SentValues())
    assert other == [frame]


def test_a_new_version_of_ctx_goes_by_itself_and_an_equal_one_is_the_same() -> None:
    parcels, sent = Parcels(), SentValues()
    _, (one,) = parcels.lean(given(ctx=LARGE), sent)
    _, (two,) = parcels.lean(given(ctx={**LARGE, "n": 1}), sent)
    assert one.key != two.key
    assert parcels.lean(given(ctx=dict(LARGE)), sent)[1] == []


def test_what_a_worker_forgot_is_sent_again_while_it_has_work_that_needs_it() -> None:
    parcels = Parcels()
    _, (frame,) = parcels.lean(given(lease="l1", ctx=LARGE), SentValues())
    assert list(parcels.again({"l1"}, [frame.key])) == [frame]
    assert list(parcels.again({"l2"}, [frame.key])) == []
    parcels.end("l1")
    assert list(parcels.again({"l1"}, [frame.key])) == []


def test_batches_keep_the_order_and_the_bytes() -> None:
    items = [Iteration(path=(n,), iter={"item": "x" * 1000}) for n in range(10)]
    found = list(batches(items, 3_500))
    assert [one for batch in found for one in batch] == items
    assert max(map(size_of, found)) <= 3_600
    assert [len(batch) for batch in batches(items, 10)] == [1] * 10
    assert list(batches([], 10)) == []


def test_what_no_frame_can_hold_is_an_error_of_kind_limit_for_each_iteration() -> None:
    alone = unfit(given(), 10**9)
    assert alone.report is not None
    assert alone.report.error is not None
    assert alone.report.error.kind == "limit"
    some = [Iteration(path=(n,), iter={}) for n in range(3)]
    chunk = Assignment(execution="e", run="r", step="s", chunk="c", iterations=some)
    assert [one.path for one in unfit(chunk, 10**9).iterations] == [(0,), (1,), (2,)]


BOOK = """
  - step: a
    tool: {kind: python, code: "result = len(str(workload)) + len(str(ctx))"}
    next: {arcs: [{step: b}]}
  - step: b
    loop: {in: "{{ range(40) }}", iterator: n, spec: {mode: parallel, policy: {exec: distributed}}}
    tool: {kind: python, code: "result = len(workload['text'])"}
"""


def ran(folder: Path, *, most: int, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Run executions with frames that are bounded low; return what they came to, and see every frame."""
    monkeypatch.setattr(dispatch, "FRAME_BYTES", 20_000)
    monkeypatch.setattr(frames, "MAX_FRAME", most)

    async def scenario() -> list[tuple[str, Any]]:
        async with Home.open(folder) as petra:
            book = playbook(BOOK, workload="{text: ''}")
            small: dict[str, Any] = {"text": "x" * 30_000}
            large: dict[str, Any] = {"text": "y" * 40_000, "n": 1}
            found = [
                petra.run(book, given, execution=f"e{n}")
                for n, given in enumerate([small, large, small])
            ]
            return [(one.status, one.output) for one in await asyncio.gather(*found)]

    return asyncio.run(asyncio.wait_for(scenario(), 300))


@pytest.mark.slow
def test_frames_are_split_and_one_that_does_not_fit_fails_its_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 37_000 + 64 * 1024
    assert ran(tmp_path / "a", most=200_000, monkeypatch=monkeypatch) == [
        ("completed", [30_000] * 40), ("completed", [40_000] * 40), ("completed", [30_000] * 40),
    ]  # fmt: skip
    found = ran(tmp_path / "b", most=most, monkeypatch=monkeypatch)
    assert [status for status, _ in found] == ["completed", "failed", "completed"]
