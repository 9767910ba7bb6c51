"""What a closing engine takes back from its workers: recorded, handed out again, and counted towards no incident."""

from __future__ import annotations

import pytest

from petra.kernel import Program, State, decide
from petra.kernel import commands as c
from petra.kernel import effects as f
from petra.kernel import events as e
from petra.kernel.state import DELIVERIES_MAX
from petra.playbook import read

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\nworkflow:\n"
ONE = Program(read(HEAD + "- {step: s, tool: {kind: python, code: x}}\n", "p").checked())
LOOP = Program(
    read(
        HEAD + "- {step: s, tool: {kind: python, code: x}, loop: {in: [1, 2], iterator: i}}\n", "p"
    ).checked()
)


def started(program: Program) -> State:
    state = State(id="e")
    decide(program, state, c.Start(now=0.0))
    return state


@pytest.mark.spec("S2")
@pytest.mark.parametrize("program", [ONE, LOOP], ids=["a step", "an iteration"])
def test_what_is_taken_back_is_recorded_and_handed_out_under_the_next_delivery(
    program: Program,
) -> None:
    state = started(program)
    run = next(iter(state.runs.values()))
    chunk = next(iter(run.chunks), "")
    made = decide(program, state, c.TakeBack(now=1.0, run=run.id, chunk=chunk, delivery=1))
    assert made.events == [e.RunTakenBack(run=run.id, chunk=chunk, delivery=2)]
    assert made.effects == [f.Assign(run=run.id, chunk=chunk, delivery=2)]
    again = decide(program, state, c.TakeBack(now=1.0, run=run.id, chunk=chunk, delivery=1))
    assert again.events == []


@pytest.mark.spec("S2")
@pytest.mark.parametrize("program", [ONE, LOOP], ids=["a step", "an iteration"])
def test_deliveries_that_were_taken_back_count_towards_no_incident(program: Program) -> None:
    state = started(program)
    run = next(iter(state.runs.values()))
    chunk = next(iter(run.chunks), "")
    delivery = 1
    for _ in range(10):
        decide(program, state, c.TakeBack(now=1.0, run=run.id, chunk=chunk, delivery=delivery))
        delivery += 1
    for _ in range(DELIVERIES_MAX - 1):
        lost = c.LeaseExpired(now=1.0, run=run.id, chunk=chunk, delivery=delivery)
        assert isinstance(decide(program, state, lost).events[0], e.RunRedelivered)
        delivery += 1
    lost = c.LeaseExpired(now=1.0, run=run.id, chunk=chunk, delivery=delivery)
    assert isinstance(decide(program, state, lost).events[0], e.IncidentRaised)
    # what is an incident waits for a person, and nobody takes it back
    back = c.TakeBack(now=1.0, run=run.id, chunk=chunk, delivery=delivery)
    assert decide(program, state, back).events == []
