"""On a worker a reference is its value: whatever a tool is given, it gets the data (S18)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from worker.desk import Desk, playbook, with_worker
from worker.test_references import gone, stored

from petra.objects import LocalObjects, is_reference, read_reference
from petra.tools.registry import Registry
from petra.wire import Report
from petra.worker import Worker

pytestmark = pytest.mark.spec("S18")

ROWS = [{"id": n, "name": f"n{n}"} for n in range(3_000)]
STEPS = "- step: fetch\n  tool: {kind: noop}\n"


def done(tool: str, scope: dict[str, Any], folder: Path, *, more: str = "", **given: Any) -> Any:
    """Run a step with the real tools; return its report, or those of its iterations."""

    async def play(desk: Desk, _worker: Worker) -> None:
        desk.assign(playbook(f"- step: s\n  tool: {tool}\n{more}{STEPS}"), scope=scope, **given)
        if "items" in given:
            found.extend(one.report for one in (await desk.chunk()).iterations)
        else:
            found.append(await desk.single())

    async def run() -> None:
        registry = Registry()
        try:
            await with_worker(play, registry, objects=LocalObjects(folder))
        finally:
            await registry.close()

    found: list[Report] = []
    asyncio.run(asyncio.wait_for(run(), 300))
    return found if "items" in given else found[0]


def scope_of(folder: Path, value: Any = ROWS) -> dict[str, Any]:
    reference = stored(folder, value)
    return {
        "fetch": reference, "ctx": {"rows": reference, "n": 1}, "args": {"given": reference},
        "workload": {"all": reference}, "step": {"fetch": {"result": reference}},
    }  # fmt: skip


CODES = {
    "a parameter from args": "def main(given): return len(given)",
    "an argument of the task": "def main(mine): return len(mine)",
    "a part of one as an argument": "def main(first): return first['id'] + 3000",
    "a parameter from the scope": "def main(fetch): return len(fetch)",
    "inside ctx": "def main(ctx): return len(ctx['rows'])",
    "inside the workload": "def main(workload): return len(workload['all'])",
    "the whole context": "def main(context): return len(context['fetch'])",
    "the arguments as a whole": "def main(args): return len(args['given'])",
    "what is left of the arguments": "def main(**rest): return len(rest['given'])",
    "a global": "result = len(fetch)",
    "a global read by a function": "def main(): return count()\ndef count(): return len(fetch)",
    "keyword only": "def main(*, fetch): return len(fetch)",
}


@pytest.mark.parametrize(
    ("what", "isolation"), [*((what, "thread") for what in CODES), ("inside ctx", "process")]
)
def test_python_gets_the_data_by_name(what: str, isolation: str, tmp_path: Path) -> None:
    code = CODES[what].replace("\n", "\n\n      ")
    tool = (
        f"\n    kind: python\n    args: {{mine: '{{{{ fetch }}}}', first: '{{{{ fetch[0] }}}}'}}\n"
        f"    spec: {{isolation: {isolation}}}\n    code: |\n      {code}\n"
    )
    report = done(tool, scope_of(tmp_path), tmp_path)
    assert (report.error, report.result) == (None, 3_000)


def test_python_that_asks_for_the_reference_gets_it(tmp_path: Path) -> None:
    scope = scope_of(tmp_path)
    tool = "{kind: python, args: {r: '{{ ref(fetch) }}'}, code: 'def main(r): return r'}"
    report = done(tool, scope, tmp_path)
    assert report.result == scope["fetch"]


def test_what_python_does_not_name_is_not_read(tmp_path: Path) -> None:
    scope = scope_of(tmp_path)
    gone(tmp_path, scope["fetch"])
    tool = "{kind: python, args: {n: 7}, code: 'def main(n): return n'}"
    assert done(tool, scope, tmp_path).result == 7


def test_what_python_names_and_cannot_be_had_is_an_error_outcome(tmp_path: Path) -> None:
    scope = scope_of(tmp_path)
    gone(tmp_path, scope["fetch"])
    tool = "{kind: python, code: 'def main(fetch): return 1'}"
    report = done(tool, scope, tmp_path)
    assert report.error is not None
    assert (report.error.kind, len(report.attempts)) == ("not_found", 1)


@pytest.mark.slow
def test_iterations_in_one_stride_get_the_data_too(tmp_path: Path) -> None:
    tool = '{kind: python, code: \'def main(fetch, iter): return fetch[iter["item"]]["id"]\'}'
    more = "  loop: {in: [], iterator: item}\n"
    found = done(tool, scope_of(tmp_path), tmp_path, more=more, items=list(range(100)))
    assert [one.result if one.error is None else one.error for one in found] == list(range(100))


def test_parameters_of_sql_are_data(tmp_path: Path) -> None:
    words = [f"w{n}" for n in range(40)]
    scope = {"fetch": stored(tmp_path, words), "one": stored(tmp_path, "x" * 1000)}
    marks = ", ".join("?" * 40)
    tool = (
        f"{{kind: sqlite, database: ':memory:', command: 'select count(*) as n from (values ({marks}))',"
        " params: '{{ fetch }}'}"
    )
    assert done(tool, scope, tmp_path).result["rows"] == [{"n": 1}]
    tool = "{kind: sqlite, database: ':memory:', command: 'select length(?) as n', params: ['{{ one }}']}"
    tool += "\n- step: one\n  tool: {kind: noop}"
    assert done(tool, scope, tmp_path).result["rows"] == [{"n": 1000}]


def test_the_environment_and_arguments_of_a_command_are_data(tmp_path: Path) -> None:
    scope = {"fetch": stored(tmp_path, ["a", "b"])}
    tool = "{kind: shell, script: 'printf %s \"$W\"', env: {W: '{{ fetch | join }}'}}"
    assert done(tool, scope, tmp_path).result["stdout"] == "ab"
    tool = "{kind: shell, argv: ['printf', '%s', '{{ fetch[1] }}']}"
    assert done(tool, scope, tmp_path).result["stdout"] == "b"


RULES = "spec: {policy: {rules: [{else: {then: {do: continue, %s}}}]}}"


def test_a_patch_hands_a_reference_on_and_nothing_is_copied(tmp_path: Path) -> None:
    scope = scope_of(tmp_path, {"rows": ROWS, "n": 5})
    patch = "set_ctx: {a: '{{ fetch }}', b: '{{ fetch.rows }}', c: '{{ fetch.n }}', d: '{{ fetch.rows | length }}'}"
    report = done("{kind: python, code: 'result = 1', " + RULES % patch + "}", scope, tmp_path)
    written = {write.key: write.value for write in report.writes}
    whole = scope["fetch"]
    assert written == {"a": whole, "b": {**whole, "path": ["rows"]}, "c": 5, "d": 3_000}
    assert len(list(tmp_path.rglob("*.json"))) == 1


@pytest.mark.parametrize(
    ("reducer", "value", "seen"),
    [("extend", "{{ fetch[:2] }}", 3_002), ("append", "{{ fetch }}", 3_001), ("last", "{{ fetch }}", 3_000)],
)  # fmt: skip
def test_what_is_added_to_a_large_value_is_seen_by_the_next_task_and_iteration(
    reducer: str, value: str, seen: int, tmp_path: Path
) -> None:
    head = f"executor: {{spec: {{ctx: {{rows: {{reduce: {reducer}}}}}}}}}"
    rules = RULES % ("set_ctx: {rows: '" + value + "'}")
    step = (
        "- step: s\n  loop: {in: [], iterator: n}\n  tool:\n"
        f"    - {{name: a, kind: python, code: 'result = 1', {rules}}}\n"
        "    - {name: b, kind: python, code: 'def main(ctx): return len(ctx[\"rows\"])'}\n"
    )

    async def play(desk: Desk, _worker: Worker) -> None:
        book = playbook(step + STEPS, head=head)
        desk.assign(book, scope=scope, items=[0, 1])
        found.extend(one.report for one in (await desk.chunk()).iterations)

    async def run() -> None:
        registry = Registry()
        try:
            await with_worker(play, registry, objects=LocalObjects(tmp_path))
        finally:
            await registry.close()

    found: list[Report] = []
    scope = scope_of(tmp_path)
    asyncio.run(asyncio.wait_for(run(), 300))
    more = seen - 3_000
    assert [one.result or one.error for one in found] == [seen, seen + more]


@pytest.mark.slow
def test_a_value_that_a_worker_builds_may_be_large(tmp_path: Path) -> None:
    big = {"rows": [{"id": n, "text": "x" * 90} for n in range(30_000)]}
    patch = 'set_ctx: {half: \'{{ outcome.result | selectattr("id", "lt", 15000) | list }}\'}'
    tool = "{kind: python, args: {rows: '{{ fetch.rows + [] }}'}, code: 'def main(rows): return rows', "
    report = done(tool + RULES % patch + "}", {"fetch": stored(tmp_path, big)}, tmp_path)
    assert report.error is None
    assert is_reference(report.result)
    half = asyncio.run(LocalObjects(tmp_path).get(read_reference(report.writes[0].value)))
    assert [len(half), half[-1]["id"]] == [15_000, 14_999]


def test_an_artifact_is_read_whether_its_reference_or_the_value_is_given(tmp_path: Path) -> None:
    scope = {"fetch": stored(tmp_path, [1, 2])}
    for given in ("{{ ref(fetch) }}", "{{ fetch }}"):
        report = done(f"{{kind: artifact, action: get, ref: '{given}'}}", scope, tmp_path)
        assert (report.error, report.result) == (None, [1, 2])


@pytest.mark.parametrize(
    "bomb", ["{{ 'x' * 10 ** 9 }}", "{{ range(100000) | select('in', range(100000)) | list }}"]
)
def test_what_is_too_large_to_be_built_is_an_error_of_kind_limit(bomb: str, tmp_path: Path) -> None:
    tool = f'{{kind: shell, argv: ["true", "{bomb}"]}}'
    report = done(tool, scope_of(tmp_path), tmp_path)
    assert report.error is not None
    assert (report.error.kind, "too" in report.error.message) == ("limit", True)
