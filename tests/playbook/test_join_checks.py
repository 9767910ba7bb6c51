"""Joins that could never be what their author means are errors (S1)."""

from __future__ import annotations

import pytest
from texts import only, workflow

from petra.playbook import read

pytestmark = pytest.mark.spec("S1")

FLOW = """
- step: a
  tool: {{kind: noop}}
  next: {next}
- {{step: b, tool: {{kind: noop}}, next: {{arcs: [{{step: c}}]}}}}
- {{step: c, spec: {{join: {join}}}, tool: {{kind: noop}}}}
"""
INCLUSIVE = "{spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}"


@pytest.mark.parametrize("mode", ["arcs", "or"])
def test_a_join_that_looks_at_arcs_has_no_time_limit(mode: str) -> None:
    problem = only(workflow(FLOW.format(next=INCLUSIVE, join=f"{{mode: {mode}, timeout_s: 5}}")))
    assert (problem.code, problem.severity) == ("P122", "error")
    assert "timeout_s" in problem.message


def test_a_join_of_a_step_that_never_fans_out_is_an_error() -> None:
    text = workflow(FLOW.format(next="{arcs: [{step: b}]}", join="{of: a}"))
    problem = only(text)
    assert (problem.code, problem.severity) == ("P106", "error")
    assert "'a' makes no group" in problem.message


@pytest.mark.parametrize(
    "next_", [INCLUSIVE, "{arcs: [{step: b, copies: 2}]}", "{arcs: [{step: b, foreach: [1, 2]}]}"]
)
def test_a_join_of_a_step_that_fans_out_is_fine(next_: str) -> None:
    assert read(workflow(FLOW.format(next=next_, join="{of: a, timeout_s: 5}"))).ok
