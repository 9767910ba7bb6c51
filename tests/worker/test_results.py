"""What leaves a worker fits: large results by reference, stored before they are reported."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from worker.desk import Desk, ProbeTools, ok, playbook, with_worker

from petra.kinds import Http
from petra.objects import LocalObjects, is_reference, read_reference
from petra.tools.base import ToolContext
from petra.wire import Outcome
from petra.wire import frames as f
from petra.worker import Worker
from petra.worker.results import ROOM

FETCH = "- step: s\n  tool: {name: t, kind: http, url: big}\n"
LOOP = "- step: s\n  loop: {in: [], iterator: item}\n  tool: {name: t, kind: http, url: big}\n"
SMALL_LIMIT = "executor: {spec: {policy: {limits: {max_payload_bytes: 100}}}}"


def report_of(
    workflow: str, result: Any, *, head: str = "", objects: Any = None, **given: Any
) -> f.RunReport:
    async def big(_fields: Http, _context: ToolContext) -> Outcome:
        return ok(result)

    async def play(desk: Desk, _worker: Worker) -> None:
        desk.assign(playbook(workflow, head=head), **given)
        await desk.report()

    desk = asyncio.run(
        asyncio.wait_for(with_worker(play, ProbeTools(big=big), objects=objects), 20)
    )
    return desk.reports[0]


@pytest.mark.spec("S18")
@pytest.mark.parametrize(("size", "stored"), [(65_000, False), (66_000, True)])
def test_a_result_beyond_the_inline_limit_travels_as_a_reference(
    tmp_path: Path, size: int, stored: object
) -> None:
    objects = LocalObjects(tmp_path)
    report = report_of(FETCH, "x" * size, objects=objects).report
    assert report is not None
    assert is_reference(report.result) is stored
    if stored:
        found = asyncio.run(objects.get(read_reference(report.result)))
        assert found == "x" * size


@pytest.mark.spec("S18")
def test_a_playbook_may_store_every_result_by_reference(tmp_path: Path) -> None:
    head = "executor: {spec: {policy: {results: {reference_first: true}}}}"
    report = report_of(FETCH, 1, head=head, objects=LocalObjects(tmp_path)).report
    assert report is not None
    assert is_reference(report.result)


@pytest.mark.spec("S18")
def test_without_an_object_store_a_large_result_is_an_error_of_kind_limit() -> None:
    report = report_of(FETCH, "x" * 70_000).report
    assert report is not None
    assert report.error is not None
    assert report.error.kind == "limit"
    assert len(report.attempts) == 1


@pytest.mark.spec("S18")
@pytest.mark.parametrize(
    "patch", ["set_ctx: {a: '{{ outcome.result }}'}", "set_branch: '{{ outcome.result }}'"]
)
def test_a_patch_beyond_the_limit_is_an_error_and_none_of_it_applies(
    tmp_path: Path, patch: str
) -> None:
    rule = f"{{policy: {{rules: [{{else: {{then: {{do: continue, {patch}}}}}}}]}}}}"
    workflow = f"- step: s\n  tool: {{name: t, kind: http, url: big, spec: {rule}}}\n"
    objects = LocalObjects(tmp_path)
    report = report_of(workflow, "x" * 200, head=SMALL_LIMIT, objects=objects).report
    assert report is not None
    assert report.error is not None
    assert report.error.kind == "limit"
    assert not report.writes


@pytest.mark.spec("S18")
def test_a_store_that_fails_is_an_error_of_the_run() -> None:
    class Broken:
        async def put(self, *_: object, **__: object) -> Any:
            raise OSError("disk full")

    report = report_of(FETCH, "x" * 70_000, objects=Broken()).report
    assert report is not None
    assert report.error is not None
    assert report.error.kind == "connection"


@pytest.mark.spec("S18")
def test_the_results_of_a_chunk_stay_within_one_event(tmp_path: Path) -> None:
    sent = report_of(LOOP, "x" * 20_000, objects=LocalObjects(tmp_path), items=list(range(50)))
    inline = [one for one in sent.iterations if isinstance(one.report.result, str)]
    assert len(sent.iterations) == 50
    assert 5 <= len(inline) <= 9
    assert len(f.encode(f.Reports(reports=[sent]))) < ROOM + 50 * 400
