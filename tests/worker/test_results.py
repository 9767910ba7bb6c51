"""What leaves a worker fits: large results by reference, stored before they are reported."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from worker.desk import Desk, ProbeTools, ok, playbook, with_worker

from petra.kinds import Http
from petra.objects import LocalObjects, is_reference, read_reference
from petra.tools.base import ToolContext, ToolError
from petra.wire import Attempt, Outcome, Report, Write
from petra.wire import frames as f
from petra.worker import Worker
from petra.worker.results import LOOP_ROOM

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
        sent.append(await (desk.chunk() if "items" in given else desk.report()))

    sent = list[f.RunReport]()
    asyncio.run(asyncio.wait_for(with_worker(play, ProbeTools(big=big), objects=objects), 300))
    return sent[0]


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
def test_a_patch_beyond_the_limit_is_stored(tmp_path: Path, patch: str) -> None:
    rule = f"{{policy: {{rules: [{{else: {{then: {{do: continue, {patch}}}}}}}]}}}}"
    workflow = f"- step: s\n  tool: {{name: t, kind: http, url: big, spec: {rule}}}\n"
    objects = LocalObjects(tmp_path)
    report = report_of(workflow, "x" * 200, head=SMALL_LIMIT, objects=objects).report
    assert report is not None
    assert report.error is None
    found = report.writes[0].value if report.writes else report.branch
    assert found == report.result
    assert asyncio.run(objects.get(read_reference(found))) == "x" * 200


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
@pytest.mark.parametrize(("total", "stored"), [(50, False), (LOOP_ROOM // 20_000 + 1, True)])
def test_the_iterations_of_a_long_loop_share_the_room_for_inline_results(
    tmp_path: Path, total: int, stored: object
) -> None:
    objects = LocalObjects(tmp_path)
    sent = report_of(LOOP, "x" * 20_000, objects=objects, items=[1, 2], total=total)
    assert [is_reference(one.report.result) for one in sent.iterations] == [stored] * 2


@pytest.mark.spec("S9", "S18")
def test_a_tiny_result_stays_inline_since_its_reference_would_be_no_smaller() -> None:
    sent = report_of(LOOP, "x" * 200, items=list(range(2_000)), total=10**6)
    assert [one.report.result for one in sent.iterations] == ["x" * 200] * 2_000


JUMPS = """
- step: s
  tool:
    - name: t
      kind: http
      url: big
      spec:
        policy:
          rules:
            - when: "{{ ctx.n | default(0) < 5000 }}"
              then: {do: jump, to: t, set_ctx: {n: "{{ (ctx.n | default(0)) + 1 }}"}}
"""


@pytest.mark.spec("S5", "S18")
@pytest.mark.parametrize("with_store", [True, False])
def test_of_thousands_of_attempts_the_first_and_the_last_are_reported_and_the_rest_is_counted(
    tmp_path: Path, with_store: object
) -> None:
    objects = LocalObjects(tmp_path) if with_store else None
    report = report_of(JUMPS, 1, objects=objects).report
    assert report is not None
    assert report.status == "ok"
    assert report.left_out is not None
    assert len(report.attempts) + report.left_out.count == 5_001
    assert len(msgspec.json.encode(report)) < 64 * 1024
    assert [one.action for one in report.attempts[:-1]] == ["jump"] * (len(report.attempts) - 1)
    assert report.attempts[-1].action == "continue"
    assert report.writes == [Write(key="n", value=5_000)]
    if objects is None:
        assert report.left_out.reference is None
    else:
        stored = asyncio.run(objects.get(read_reference(report.left_out.reference)))
        assert len(stored) == 5_001
        assert msgspec.convert(stored[-1], Attempt) == report.attempts[-1]


@pytest.mark.spec("S18")
def test_many_writes_that_are_large_together_are_stored(tmp_path: Path) -> None:
    patch = ", ".join(f"k{n}: '{{{{ outcome.result }}}}{n}'" for n in range(5))
    rule = f"{{policy: {{rules: [{{else: {{then: {{do: continue, set_ctx: {{{patch}, small: 1}}}}}}}}]}}}}"
    workflow = f"- step: s\n  tool: {{name: t, kind: http, url: big, spec: {rule}}}\n"
    objects = LocalObjects(tmp_path)
    report = report_of(workflow, "x" * 40_000, objects=objects).report
    assert report is not None
    assert report.error is None
    assert [is_reference(write.value) for write in report.writes] == [True] * 5 + [False]
    found = asyncio.run(objects.get(read_reference(report.writes[3].value)))
    assert found == "x" * 40_000 + "3"
    without = report_of(workflow, "x" * 40_000).report
    assert without is not None
    assert without.error is not None
    assert (without.error.kind, without.writes) == ("limit", [])


@pytest.mark.spec("S18")
def test_large_details_of_errors_do_not_make_a_report_too_large() -> None:
    async def big(_fields: Http, _context: ToolContext) -> Outcome:
        raise ToolError("server_error", "no", details=["x" * 100_000])

    async def play(desk: Desk, _worker: Worker) -> None:
        retry = "{policy: {rules: [{else: {then: {do: retry, attempts: 20, delay: 0}}}]}}"
        desk.assign(
            playbook(f"- step: s\n  tool: {{name: t, kind: http, url: big, spec: {retry}}}\n")
        )
        sent.append(await desk.single())

    sent = list[Report]()
    asyncio.run(asyncio.wait_for(with_worker(play, ProbeTools(big=big)), 300))
    assert len(sent[0].attempts) == 20
    assert len(msgspec.json.encode(sent[0])) < 8_000
    assert sent[0].error is not None
    assert sent[0].error.details == {"left_out_bytes": 100_004}
