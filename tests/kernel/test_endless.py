"""An execution that goes round on the server without ever waiting is ended soon; one that has much to do is not."""

from __future__ import annotations

import pytest

from petra.kernel import Program, State, decide, turn
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.program import EVENTS_LEAST
from petra.playbook import read

HEAD = (
    "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: endless}\nworkload: {n: 1}\nworkflow:\n"
)
ROUND = (
    HEAD
    + """
  - {step: a, next: {arcs: [{step: b, when: "{{ workload.n == 1 }}"}, {step: z}]}}
  - {step: b, next: {arcs: [{step: a}]}}
  - {step: z, tool: {kind: noop}}
"""
)
STEPS, BRANCHES = 8, 60
WIDE = (
    HEAD
    + f"  - {{step: s0, next: {{arcs: [{{step: s1, copies: {BRANCHES}}}]}}}}\n"
    + "".join(
        f"  - {{step: s{n}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n" for n in range(1, STEPS)
    )
    + f"  - {{step: s{STEPS}, tool: {{kind: wait, signal: {{name: go}}}}}}\n"
)


def begun(text: str) -> tuple[State, list[e.AnyEvent]]:
    program, state = Program(read(text, "endless").checked()), State(id="e")
    return state, decide(program, state, c.Start(now=0.0, workload={})).events


@pytest.mark.slow
def test_who_goes_round_by_themselves_fails_before_others_have_waited_long() -> None:
    state, events = begun(ROUND)
    assert state.terminal == "failed"
    assert state.error is not None
    assert (state.error.kind, "never comes to rest" in state.error.message) == ("limit", True)
    assert len(events) < EVENTS_LEAST + 10


@pytest.mark.parametrize("most", [100, 10_000])
def test_branches_have_room_for_what_each_of_them_does(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "EVENTS_LEAST", 100)
    monkeypatch.setattr(turn, "EVENTS_PER_TOKEN", most // 100)
    state, events = begun(WIDE)
    assert (state.terminal == "failed") == (most == 100)
    assert (len(events) > STEPS * BRANCHES) == (most != 100)


@pytest.mark.parametrize("each", [3, 100])
def test_what_waited_has_room_too(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = WIDE.replace("{step: s1, copies", "{step: w, copies")
    text += "  - {step: w, tool: {kind: wait, for_s: 10}, next: {arcs: [{step: s1}]}}\n"
    program, state = Program(read(text, "endless").checked()), State(id="e")
    decide(program, state, c.Start(now=0.0, workload={}))
    assert len(state.runs) == BRANCHES
    monkeypatch.setattr(turn, "EVENTS_LEAST", 0)
    monkeypatch.setattr(turn, "EVENTS_PER_TOKEN", each)
    events = decide(program, state, c.Tick(now=10.0)).events
    assert (state.terminal == "failed") == (each == 3)
    assert (len(events) > STEPS * BRANCHES) == (each != 3)
