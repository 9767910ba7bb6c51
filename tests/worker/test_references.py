"""Results that are references: a worker's templates read through them, and what goes wrong is an outcome."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from worker.desk import Desk, ProbeTools, ok, playbook, with_worker

from petra.errors import ObjectError
from petra.kinds import Http
from petra.objects import ExecutionObjects, LocalObjects, Reference
from petra.tools.base import ToolContext
from petra.wire import Error, Outcome, Report
from petra.worker import Worker
from petra.worker.loaded import Loaded

FETCH = "- step: fetch\n  tool: {kind: noop}\n"
VALUE = {"rows": [{"id": 7}, {"id": 8}], "size": "large", "list": [1, 2, 3]}


class Counted(LocalObjects):
    """An object store that counts what is read, and may fail a few times first."""

    def __init__(self, folder: Path, failures: int = 0) -> None:
        super().__init__(folder)
        self.failures, self.reads = failures, 0

    async def get(self, reference: Reference) -> Any:
        self.reads += 1
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise ObjectError("connection", "the store does not answer")
        return await super().get(reference)


def stored(folder: Path, value: Any = VALUE, execution: str = "e") -> dict[str, Any]:
    return asyncio.run(LocalObjects(folder).put(execution, value)).as_data()


def step(json: str, more: str = "") -> str:
    return f"- step: s\n  tool:\n    name: t\n    kind: http\n    url: echo\n    json: {json}\n{more}{FETCH}"


def reports(workflow: str, scope: dict[str, Any], objects: Any, **given: Any) -> list[Report]:
    async def echo(fields: Http, _context: ToolContext) -> Outcome:
        return ok(fields.json)

    async def play(desk: Desk, _worker: Worker) -> None:
        desk.assign(playbook(workflow), scope=scope, **given)
        if "items" in given:
            found.extend(one.report for one in (await desk.chunk()).iterations)
        else:
            found.append(await desk.single())

    found: list[Report] = []
    tools = ProbeTools(echo=echo)
    asyncio.run(asyncio.wait_for(with_worker(play, tools, objects=objects), 300))
    return found


def rendered(json: str, scope: dict[str, Any], folder: Path) -> Any:
    (report,) = reports(step(json), scope, LocalObjects(folder))
    assert report.error is None
    return report.result


@pytest.mark.spec("S18")
@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("'{{ fetch.rows[0].id }}'", 7, id="a field"),
        pytest.param("'{{ step.fetch.result.rows[1].id }}'", 8, id="by the name of the step"),
        pytest.param("'{{ fetch.size }}'", "large", id="a field that references have too"),
        pytest.param("'{{ fetch.rows | length }}'", 2, id="a filter over a field"),
        pytest.param("'{{ fetch.rows | map(attribute=\"id\") | sum }}'", 15, id="deeper"),
        pytest.param("'{{ fetch[args.name][1] }}'", 2, id="a computed key"),
        pytest.param("'{{ args.which | length }}'", 3, id="a filter over the whole"),
        pytest.param("'{{ fetch.list[1:] }}'", [2, 3], id="a slice"),
        pytest.param("'{% for r in fetch.rows %}{{ r.id }};{% endfor %}'", "7;8;", id="a loop"),
        pytest.param("'{{ ctx.kept.a[0].rows[0].id }}'", 7, id="inside a ctx value"),
        pytest.param("'{{ fetch.nothing | default(1) }}'", 1, id="a field that is not there"),
    ],
)  # fmt: skip
def test_templates_read_fields_through_a_reference(
    template: str, expected: Any, tmp_path: Path
) -> None:
    reference = stored(tmp_path)
    scope = {
        "fetch": reference,
        "step": {"fetch": {"result": reference}},
        "args": {"name": "list", "which": reference},
        "ctx": {"kept": {"a": [reference]}},
    }
    assert rendered(template, scope, tmp_path) == expected


@pytest.mark.spec("S18")
def test_a_reference_as_a_whole_is_its_value_and_ref_is_the_reference(tmp_path: Path) -> None:
    reference = stored(tmp_path)
    scope = {"fetch": reference}
    assert rendered("'{{ fetch }}'", scope, tmp_path) == VALUE
    assert rendered("{a: ['{{ fetch }}']}", scope, tmp_path) == {"a": [VALUE]}
    assert rendered("{a: ['{{ ref(fetch) }}']}", scope, tmp_path) == {"a": [reference]}
    part = {**reference, "path": ["rows"]}
    assert rendered("'{{ ref(fetch.rows) }}'", scope, tmp_path) == part


@pytest.mark.spec("S18")
def test_a_list_of_references_is_read_through_too(tmp_path: Path) -> None:
    results = stored(tmp_path, [stored(tmp_path, {"n": 1}), stored(tmp_path, {"n": 2})])
    assert rendered("'{{ fetch[1].n }}'", {"fetch": results}, tmp_path) == 2


@pytest.mark.spec("S18")
def test_a_policy_reads_through_a_reference(tmp_path: Path) -> None:
    rule = (
        "    spec: {policy: {rules: [{when: '{{ fetch.rows[0].id == 7 }}',"
        " then: {do: continue, set_ctx: {n: '{{ fetch.rows[1].id }}'}}}]}}\n"
    )
    (report,) = reports(step("1", rule), {"fetch": stored(tmp_path)}, LocalObjects(tmp_path))
    assert [(write.key, write.value) for write in report.writes] == [("n", 8)]
    assert len(report.attempts) == 1


def broken(folder: Path, reference: dict[str, Any]) -> None:
    next(folder.rglob(reference["checksum"] + "*")).write_bytes(b"x" * reference["size"])


def gone(folder: Path, reference: dict[str, Any]) -> None:
    next(folder.rglob(reference["checksum"] + "*")).unlink()


@pytest.mark.spec("S18")
@pytest.mark.parametrize(("damage", "kind"), [(gone, "not_found"), (broken, "parse")])
def test_what_cannot_be_read_is_an_error_outcome_of_the_task(
    damage: Any, kind: str, tmp_path: Path
) -> None:
    reference = stored(tmp_path)
    damage(tmp_path, reference)
    rule = f"    spec: {{policy: {{rules: [{{when: \"{{{{ outcome.error.kind == '{kind}' }}}}\", then: {{do: continue}}}}]}}}}\n"
    scope = {"fetch": reference}
    (failed,) = reports(step("'{{ fetch.rows }}'"), scope, LocalObjects(tmp_path))
    assert failed.error is not None
    assert (failed.error.kind, failed.status) == (kind, "error")
    assert reference["key"] in failed.error.message
    (handled,) = reports(step("'{{ fetch.rows }}'", rule), scope, LocalObjects(tmp_path))
    assert handled.status == "ok"
    assert [one.status for one in handled.attempts] == ["error"]


@pytest.mark.spec("S18")
def test_a_policy_that_cannot_read_its_reference_fails_the_run_with_that_kind(
    tmp_path: Path,
) -> None:
    reference = stored(tmp_path)
    gone(tmp_path, reference)
    rule = "    spec: {policy: {rules: [{when: '{{ fetch.rows }}', then: {do: continue}}]}}\n"
    (report,) = reports(step("1", rule), {"fetch": reference}, LocalObjects(tmp_path))
    assert report.error is not None
    assert report.error.kind == "not_found"


@pytest.mark.spec("S18")
def test_a_worker_without_a_store_and_an_object_of_another_execution_are_errors(
    tmp_path: Path,
) -> None:
    (report,) = reports(step("'{{ fetch.rows }}'"), {"fetch": stored(tmp_path)}, None)
    assert report.error is not None
    assert report.error.kind == "not_found"
    theirs = stored(tmp_path, execution="other")
    (report,) = reports(step("'{{ fetch.rows }}'"), {"fetch": theirs}, LocalObjects(tmp_path))
    assert report.error is not None
    assert report.error.kind == "denied"


@pytest.mark.spec("S18")
def test_a_store_that_comes_back_is_asked_again_by_the_next_try(tmp_path: Path) -> None:
    retry = "    spec: {policy: {rules: [{when: '{{ outcome.status == \"error\" }}', then: {do: retry, attempts: 3, delay: 0}}]}}\n"
    objects = Counted(tmp_path, failures=2)
    (report,) = reports(
        step("'{{ fetch.rows[0].id }}'", retry), {"fetch": stored(tmp_path)}, objects
    )
    assert report.result == 7
    assert [one.number for one in report.attempts] == [1, 2, 3]
    assert report.attempts[0].error == Error(
        kind="connection", message="task 't': the store does not answer", retryable=True
    )


@pytest.mark.spec("S18")
def test_many_iterations_fetch_an_object_once(tmp_path: Path) -> None:
    loop = step("'{{ fetch.rows[iter.item].id }}'", "  loop: {in: [], iterator: item}\n")
    objects = Counted(tmp_path)
    found = reports(loop, {"fetch": stored(tmp_path)}, objects, items=[0, 1] * 50, width=20)
    assert [one.result for one in found] == [7, 8] * 50
    assert objects.reads == 1


@pytest.mark.spec("S18")
def test_what_is_kept_is_bounded_and_what_a_run_has_no_room_for_is_not_read(tmp_path: Path) -> None:
    async def read() -> None:
        below = Counted(tmp_path)
        objects, loaded = ExecutionObjects(below, "e"), Loaded(most=100, budget=300)

        async def one(reference: dict[str, Any], held: int = 0, own: Any = objects) -> Any:
            (found,) = await loaded.bring(own, [reference], {"ctx": {"big": reference}}, held)
            return found

        small = [await objects.put(f"{n}" * 40) for n in range(3)]
        for reference in (small[0], small[1], small[1], small[2], small[0]):
            assert len(await one(reference)) == 40
        assert below.reads == 4
        theirs = await one(small[0], own=ExecutionObjects(below, "other"))
        assert (type(theirs), theirs.kind) == (ObjectError, "denied")
        large = await objects.put("x" * 200)
        assert len(await one(large)) == 200
        over = await one(large, held=200)
        assert over.kind == "limit"
        assert over.message == (
            "'ctx.big' has 202 bytes beside 200 that the run has read; a worker reads at most 300 for one run"
        )
        assert below.reads == 5
        both = await loaded.bring(objects, [large, small[0], large], {}, 0)
        assert [len(both[0]), len(both[1]), both[2].kind] == [200, 40, "limit"]

    asyncio.run(read())
