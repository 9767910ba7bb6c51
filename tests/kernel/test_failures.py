"""What failed is listed: iterations by their index, the first of very many, with details that stay small (S9, S12)."""

from __future__ import annotations

from typing import Any

import pytest

from petra.kernel import events as e
from petra.kernel import replay, verify
from petra.kernel.fold.loops import FAILED_MAX
from petra.playbook import read
from petra.testing import Simulation

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\n"
BEST = "executor: {spec: {policy: {failure: {mode: best_effort}}}}\n"
LOOP = "workflow:\n- step: s\n  tool: {name: t, kind: python, code: x}\n  loop: {in: '{{ workload.list }}', iterator: i}\n"
ODD = {"run": "{'n': iter.i}"}
BAD = {
    "error": {"kind": "server_error", "message": "it broke", "details": {"traceback": "x" * 500}}
}


def ran(text: str, items: list[Any], *outcomes: Any) -> Simulation:
    simulation = Simulation(read(HEAD + text, "p").checked(), tools={"s": list(outcomes)})
    simulation.start({"list": items})
    simulation.run()
    root = simulation.root
    assert verify(root.id, root.log) is None
    assert replay(root.id, root.log) == root.state
    return simulation


@pytest.mark.spec("S9")
def test_a_loop_that_went_on_lists_the_iterations_that_failed_by_index() -> None:
    state = ran(BEST + LOOP, [1, 2, 3, 4], {"ok": 1}, BAD, {"ok": 1}, BAD).root.state
    assert state.terminal == "partial"
    assert [(one["step"], one["index"], one["message"]) for one in state.failures] == [
        ("s", 1, "it broke"),
        ("s", 3, "it broke"),
    ]


@pytest.mark.spec("S9")
def test_the_event_names_the_first_of_them() -> None:
    log = ran(BEST + LOOP, [1, 2, 3, 4, 5], BAD).root.log
    (done,) = (one.event for one in log if isinstance(one.event, e.LoopDone))
    assert done.error is not None
    assert done.error.message == (
        "5 of 5 iterations failed; [0] it broke; [1] it broke; [2] it broke; …"
    )
    assert [one["index"] for one in done.error.details] == [0, 1, 2, 3, 4]


@pytest.mark.spec("S9")
def test_a_failure_that_an_arc_reads_is_handled_and_not_listed() -> None:
    handles = "  next: {arcs: [{step: t, when: '{{ event.counts.failed > 0 }}'}]}\n- {step: t, tool: {kind: noop}}\n"
    state = ran(BEST + LOOP + handles, [1], BAD).root.state
    assert (state.terminal, state.failures) == ("completed", [])


@pytest.mark.spec("S9")
def test_a_loop_that_stopped_names_the_iteration_that_stopped_it() -> None:
    state = ran(LOOP, [1, 2, 3], {"ok": 1}, BAD).root.state
    (failure,) = state.failures
    assert (failure["index"], failure["message"]) == (1, "iteration 1: it broke")
    assert failure["details"]["traceback"]


@pytest.mark.spec("S9")
def test_of_nested_loops_the_index_has_a_number_for_each_level() -> None:
    nested = LOOP.replace("iterator: i}", "iterator: i, loop: {in: '{{ iter.i }}', iterator: j}}")
    state = ran(BEST + nested, [[1, 2], [3]], {"ok": 1}, BAD, {"ok": 1}).root.state
    assert [one["index"] for one in state.failures] == [[0, 1]]


@pytest.mark.spec("S12")
def test_the_final_step_gets_them() -> None:
    last = "- {step: last, tool: {name: l, kind: python, code: x}}\n"
    spec = "executor: {spec: {final_step: last, policy: {failure: {mode: best_effort}}}}\n"
    simulation = Simulation(
        read(HEAD + spec + LOOP + last, "p").checked(), tools={"s": [BAD], "last": {"ok": 1}}
    )
    simulation.start({"list": [1]})
    simulation.run()
    (started,) = (r.event for r in simulation.root.log if isinstance(r.event, e.FinalStarted))
    assert started.token.args is not None
    assert [one["index"] for one in started.token.args["failures"]] == [0]


@pytest.mark.slow
@pytest.mark.spec("S9")
def test_very_many_failures_are_counted_and_only_the_first_have_details() -> None:
    simulation = ran(BEST + LOOP, list(range(3000)), BAD)
    state = simulation.root.state
    assert len(state.failures) == 10
    ended = [
        one
        for record in simulation.root.log
        if isinstance(record.event, e.IterationsEnded)
        for one in record.event.ended
    ]
    detailed = [one for one in ended if one.error is not None and one.error.details is not None]
    assert len(ended) == 3000
    assert FAILED_MAX <= len(detailed) <= FAILED_MAX + 256
    assert {one.attempts[0].error.details for one in ended[-10:] if one.attempts[0].error} == {None}
