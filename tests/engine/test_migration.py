"""A live execution moves to another version on the real engine: durably, once, and over a restart (S23)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import local, opened, playbook

from petra.desk import ForkRequest, Move
from petra.engine.codec import playbook_row
from petra.errors import UsageError
from petra.kernel import events as e
from petra.kernel import verify
from petra.playbook import InvalidPlaybookError, read_stored, to_yaml
from petra.store.rows import Batch, ExecutionFilter, WorkItemFilter

pytestmark = pytest.mark.spec("S23")

BEFORE = """
  - {step: ask, tool: {kind: human, title: Sure?}, next: {arcs: [{step: pay}]}}
  - {step: pay, tool: {kind: python, code: "result = 'paid'"}}
"""
AFTER = """
  - {step: ask, tool: {kind: human, title: Sure?}, next: {arcs: [{step: check}]}}
  - {step: check, tool: {kind: python, code: "result = 'checked'"}, next: {arcs: [{step: pay}]}}
  - {step: pay, tool: {kind: python, code: "result = 'paid, ' + check", args: {check: "{{ check }}"}}}
"""
# Its script has a template, which is refused today (P125).
OLD = (
    to_yaml(playbook(BEFORE))
    .replace("kind: python", "kind: shell")
    .replace("code: result = 'paid'", "script: echo {{ workload.a }}")
)


def move(name: str = "m1", **given: object) -> Move:
    made: dict[str, object] = {
        "id": name, "execution": "e1", "playbook": to_yaml(playbook(AFTER)), "actor": "ops",
        "reason": "a check was missing", **given,
    }  # fmt: skip
    return Move(**made)  # type: ignore[arg-type]


def test_it_goes_on_with_the_new_version_after_a_restart_too(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store:
            async with local(store) as petra:
                assert (await petra.run(playbook(BEFORE), execution="e1")).status == "waiting"
                before = (await store.executions(ExecutionFilter())).rows[0].row.digest
                reply = await petra.carry_out(move())
                assert reply.refused == ""
                again = await petra.carry_out(move())
                assert again.refused == "", "the same request again gets the same answer"
                after = (await store.executions(ExecutionFilter())).rows[0].row.digest
                assert before != after
            async with local(store) as petra:
                await petra.complete("e1", "ask", "approve", actor="ada")
                result = await petra.rest("e1")
                assert result.status == "completed"
                records = await petra.records("e1")
        moved = [r.event for r in records if isinstance(r.event, e.ExecutionMigrated)]
        assert [(event.actor, event.reason) for event in moved] == [("ops", "a check was missing")]
        done = [r.event.step for r in records if isinstance(r.event, e.StepDone)]
        assert done == ["ask", "check", "pay"]
        assert verify("e1", records) is None

    asyncio.run(scenario())


@pytest.mark.spec("S3")
def test_a_version_that_was_applied_before_a_check_existed_can_still_be_moved_to(
    tmp_path: Path,
) -> None:
    old = read_stored(OLD, "old")

    async def scenario() -> None:
        async with opened("memory", tmp_path) as store, local(store) as petra:
            await petra.run(playbook(BEFORE), execution="e1")
            with pytest.raises(InvalidPlaybookError):
                await petra.carry_out(move(playbook=OLD))
            await store.commit(Batch(playbooks=(playbook_row(old, applied=1.0),)))
            assert (await petra.carry_out(move(playbook=OLD))).refused == ""
            fork = ForkRequest(id="b1", origin="e1", execution="e2", playbook=OLD, rest=False)
            assert (await petra.carry_out(fork)).refused == ""

    asyncio.run(scenario())


def test_a_refusal_names_the_token_and_changes_nothing(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            await petra.run(playbook(BEFORE), execution="e1")
            before = len(await petra.records("e1"))
            other = to_yaml(playbook("  - {step: other, tool: {kind: noop}}\n"))
            reply = await petra.carry_out(move(playbook=other))
            assert "at 'ask' has no place" in reply.refused
            assert len(await petra.records("e1")) == before
            mapped = await petra.carry_out(move("m2", playbook=other, renamed={"ask": "other"}))
            assert mapped.refused == ""

    asyncio.run(scenario())


def test_a_work_item_is_listed_under_the_new_name_of_its_step(kind: str, tmp_path: Path) -> None:
    renamed = to_yaml(playbook(BEFORE.replace("ask", "approve")))

    async def scenario() -> None:
        async with opened(kind, tmp_path) as store, local(store) as petra:
            await petra.run(playbook(BEFORE), execution="e1")
            reply = await petra.carry_out(move(playbook=renamed, renamed={"ask": "approve"}))
            assert reply.refused == ""
            rows = (await store.work_items(WorkItemFilter())).rows
            assert [row.step for row in rows] == ["approve"]

    asyncio.run(scenario())


def test_a_run_with_a_worker_ends_by_the_definition_it_began_with(tmp_path: Path) -> None:
    gate = tmp_path / "go"
    code = f"import os, time\\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\\nresult = 'old'"
    old = f'  - {{step: slow, tool: {{kind: python, code: "{code}"}}}}\n'
    new = (
        "  - {step: slow, tool: {kind: python, code: \"result = 'new'\"}, next: {arcs: [{step: after}]}}\n"
        "  - {step: after, tool: {kind: python, code: 'result = seen', args: {seen: '{{ slow }}'}}}\n"
    )

    async def scenario() -> None:
        async with opened("sqlite", tmp_path) as store, local(store) as petra:
            await petra.start(playbook(old), execution="e1")
            reply = await petra.carry_out(move(playbook=to_yaml(playbook(new)), rest=False))
            assert reply.refused == ""
            gate.touch()
            result = await petra.rest("e1")
            assert (result.status, result.output) == ("completed", "old")

    asyncio.run(scenario())


BROKEN = """
  - {step: fetch, tool: {kind: python, code: "result = workload['n']", args: {workload: "{{ workload }}"}}, next: {arcs: [{step: price}]}}
  - {step: price, tool: {kind: python, code: "result = 1 / (n - 1)", args: {n: "{{ fetch }}"}}}
"""
FIXED = BROKEN.replace("1 / (n - 1)", "(n, w)").replace(
    'n: "{{ fetch }}"', 'n: "{{ fetch }}", w: "{{ workload.unit }}"'
)


def branch(name: str, **given: object) -> ForkRequest:
    made: dict[str, object] = {
        "id": name,
        "execution": name,
        "origin": "e1",
        "step": "price",
        **given,
    }
    return ForkRequest(**made)  # type: ignore[arg-type]


@pytest.mark.spec("S13")
def test_a_rerun_goes_on_with_a_mended_playbook_and_another_workload(
    kind: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with opened(kind, tmp_path) as store:
            async with local(store) as petra:
                broken = playbook(BROKEN, workload="{n: 1, unit: kg}")
                assert (await petra.run(broken, execution="e1")).status == "failed"
                mended = to_yaml(playbook(FIXED, workload="{n: 1, unit: kg, new: 5}"))
                await petra.carry_out(branch("e2", playbook=mended, workload={"unit": "lb"}))
                again = await petra.carry_out(
                    branch("e2", playbook=mended, workload={"unit": "lb"})
                )
                assert again.refused == ""
                result = await petra.rest("e2")
                assert (result.status, result.output) == ("completed", [1, "lb"])
            async with local(store) as petra:
                entry = await petra.engine.cache.load("e2")
                assert entry.state.workload == {"n": 1, "unit": "lb", "new": 5}
                records = await petra.records("e2")
                assert verify("e2", records) is None
                started = [r.event.step for r in records if isinstance(r.event, e.StepStarted)]
                assert started == ["price"], "what was done before is not done again"

    asyncio.run(scenario())


@pytest.mark.spec("S13")
@pytest.mark.parametrize(
    ("given", "word"),
    [
        (
            {"playbook": to_yaml(playbook("  - {step: other, tool: {kind: noop}}\n"))},
            "no step 'price'",
        ),
        (
            {
                "playbook": to_yaml(
                    playbook(BROKEN, executor="{spec: {input_schema: {required: [who]}}}")
                )
            },
            "who",
        ),
    ],
)
def test_a_past_that_does_not_fit_is_refused_and_leaves_nothing(
    given: dict[str, object], word: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with opened("sqlite", tmp_path) as store, local(store) as petra:
            broken = playbook(BROKEN, workload="{n: 1}")
            await petra.run(broken, execution="e1")
            with pytest.raises(UsageError, match=word):
                await petra.carry_out(branch("e2", **given))
            assert await store.execution("e2") is None

    asyncio.run(scenario())
