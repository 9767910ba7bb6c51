"""Compensation: what fails in it is a failure, what is left out is said, and a cancel stops it (S13)."""

from __future__ import annotations

from typing import Any

import pytest

from petra.engine.codec import status_of
from petra.kernel import commands as c
from petra.kernel import replay, verify
from petra.kernel.compensation import not_compensated
from petra.kernel.explain import explain
from petra.playbook import read
from petra.testing import Simulation

TEXT = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: undo}
executor: {spec: {policy: {compensation: %s}%s}}
workflow:
  - {step: r, next: {arcs: [{step: one}]}}
  - {step: one, tool: {kind: python, code: x}, spec: {compensate: {tool: {kind: python, code: x}}}, next: {arcs: [{step: mail}]}}
  - {step: mail, tool: {kind: python, code: x}, next: {arcs: [{step: two}]}}
  - {step: two, tool: {kind: python, code: x}, spec: {compensate: {tool: {kind: python, code: x}}}, next: {arcs: [{step: three}]}}
  - {step: three, tool: {kind: python, code: x}, spec: {compensate: {tool: {kind: python, code: x}}}, next: {arcs: [{step: bad}]}}
  - {step: bad, tool: {kind: python, code: x}}
  - {step: last, tool: {kind: python, code: x}}
"""
OK = {"ok": 1}
BAD = {"error": {"kind": "server_error", "message": "it broke"}}


def run(policy: str = "both", more: str = "", **tools: Any) -> Simulation:
    scripts = dict.fromkeys(("one", "mail", "two", "three", "last"), OK)
    scripts |= {f"{name}/compensate": OK for name in ("one", "two", "three")}
    given = {**scripts, "bad": BAD, **{k.replace("_", "/"): v for k, v in tools.items()}}
    simulation = Simulation(read(TEXT % (policy, more), "undo").checked(), tools=given)
    simulation.start({})
    return simulation


def sound(simulation: Simulation) -> None:
    root = simulation.root
    assert verify(root.id, root.log) is None
    assert replay(root.id, root.log) == root.state


@pytest.mark.spec("S13")
def test_a_compensation_that_fails_is_a_failure_of_the_execution_and_the_rest_go_on() -> None:
    simulation = run(two_compensate={"error": {"message": "no refund"}})
    simulation.run()
    state = simulation.root.state
    assert state.terminal == "failed"
    failures = [(one["step"], one.get("task"), one["message"]) for one in state.failures]
    assert failures == [("bad", None, "it broke"), ("two", "two/compensate", "no refund")]
    assert state.counts["failed"] == 2
    assert state.ctx["_last_error"]["step"] == "bad"
    started = [r.event.step for r in simulation.root.log if getattr(r.event, "compensates", "")]  # type: ignore[union-attr]
    assert started == ["three", "two", "one"]
    handled = [r.event.handled for r in simulation.root.log if hasattr(r.event, "handled")]
    assert not any(handled)
    sound(simulation)


@pytest.mark.spec("S13")
def test_steps_without_a_compensation_are_listed_and_routers_are_not() -> None:
    simulation = run()
    simulation.run()
    program, state = simulation.root.program, simulation.root.state
    assert not_compensated(program, state) == ["mail"]
    assert "Not compensated: mail." in explain(program, state).sentence


@pytest.mark.spec("S13")
def test_nothing_is_listed_where_nothing_was_to_be_undone() -> None:
    for policy in ("never", "on_abort"):
        simulation = run(policy)
        simulation.run()
        assert not_compensated(simulation.root.program, simulation.root.state) == []


@pytest.mark.spec("S13")
def test_they_are_listed_too_where_no_done_step_has_a_compensation() -> None:
    text = TEXT % ("both", "")
    text = text.replace("spec: {compensate: {tool: {kind: python, code: x}}}, ", "")
    tools = dict.fromkeys(("one", "mail", "two", "three"), OK)
    simulation = Simulation(read(text, "undo").checked(), tools={**tools, "bad": BAD})
    simulation.start({})
    simulation.run()
    left = not_compensated(simulation.root.program, simulation.root.state)
    assert left == ["three", "two", "mail", "one"]


@pytest.mark.spec("S13")
def test_a_cancel_meanwhile_stops_after_the_one_that_runs_and_lists_the_rest() -> None:
    simulation = run(two_compensate={"ok": 1, "after_s": 60}, more=", final_step: last")
    simulation.run(until=simulation.now + 10)
    root = simulation.root
    program, state = root.program, root.state
    assert state.phase == "compensating"
    assert not simulation.send(root, c.Cancel(now=simulation.now, reason="enough")).refused
    assert status_of(program, state) == ("compensating", "enough")
    assert "two is being undone. No other will be" in explain(program, state).sentence
    assert "as soon as" in simulation.send(root, c.Cancel(now=simulation.now)).refused
    simulation.run()
    assert (state.terminal, state.reason) == ("aborted", "enough")
    assert not_compensated(program, state) == ["one", "mail"]
    assert "last" not in state.latest  # there is no final step after an abort
    assert state.error is not None
    assert "it broke" in state.error.message
    sound(simulation)


@pytest.mark.spec("S13")
def test_the_final_step_hears_what_was_not_compensated() -> None:
    simulation = run(more=", final_step: last", one_compensate=BAD)
    simulation.run()
    args = simulation.root.state.latest["last"].args
    assert args["not_compensated"] == ["mail"]
    assert [one["step"] for one in args["failures"]] == ["bad", "one"]
    assert args["counts"]["failed"] == 2


@pytest.mark.spec("S13")
def test_a_cancel_ends_a_compensation_that_nobody_reports() -> None:
    simulation = run(two_compensate={"crash": True})
    simulation.run(until=simulation.now + 100_000)
    root = simulation.root
    assert root.state.incidents
    simulation.send(root, c.Cancel(now=simulation.now, reason="enough"))
    assert root.state.terminal == "aborted"
    assert set(not_compensated(root.program, root.state)) == {"two", "one", "mail"}
    sound(simulation)
