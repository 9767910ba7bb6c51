"""What a command costs follows from what it changes, not from how much waits (counted, not timed)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from petra.engine.codec import status_of
from petra.kernel import Program, State, decide, evolve, replay
from petra.kernel import commands as c
from petra.kernel.explain import explain
from petra.kernel.replay import Ledger, Record
from petra.kernel.snapshot import restore, snapshot
from petra.playbook import read
from petra.wire import Report

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: growth}\n"
OK = Report(status="ok", result=1)
FEW, MANY = 50, 800


def work(do: Callable[[], Any]) -> int:
    """Count the instructions of Python that something takes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


class Execution:
    """An execution whose records are kept."""

    def __init__(self, workflow: str, name: str = "growth", executor: str = "{}") -> None:
        text = f"{HEAD}executor: {{spec: {executor}}}\nworkflow:\n{workflow}"
        self.program = Program(read(text, "growth").checked())
        self.state, self.ledger = State(id=name), Ledger(name)
        self.log: list[Record] = []
        self.runs: list[str] = []

    def do(self, command: c.AnyCommand) -> None:
        decision = decide(self.program, self.state, command)
        assert not decision.refused, decision.refused
        for event, (before, after) in zip(decision.events, decision.markings, strict=True):
            self.log.append(self.ledger.record(event, self.state.now, before, after))
        self.runs += [e.run for e in decision.effects if type(e).__name__ == "Assign"]  # type: ignore[union-attr]
        status_of(self.program, self.state)
        self.state.next_due()


def branches(count: int, step: str, spec: str = "{}") -> str:
    return (
        f"  - {{step: a, next: {{arcs: [{{step: b, copies: {count}}}]}}}}\n"
        f"  - {{step: b, spec: {spec}, tool: {step}, next: {{arcs: [{{step: z}}]}}}}\n"
        "  - {step: z, tool: {kind: python, code: x}}\n"
    )


SIGNAL = "{kind: wait, signal: {name: go}}"
KEYED = "{kind: wait, signal: {name: go, key: '{{ branch.index }}'}}"
TIMER = "{kind: wait, for_s: 100}"
ANY = "{kind: wait, any_of: [{for_s: 1000}, {signal: {name: go}}]}"
HUMAN = "{kind: human, title: x, due_s: 5000, remind_s: 900}"
WORK = "{kind: python, code: x}"


def signal(made: Execution, now: float) -> None:
    made.do(c.SendSignal(now=now, name="go"))


def keyed(made: Execution, now: float) -> None:
    made.do(c.SendSignal(now=now, name="go", key=str(int(now) + 40)))


def approve(made: Execution, now: float) -> None:
    item = next(item for item in made.state.items.values() if item.is_open)
    made.do(c.Act(now=now, item=item.id, act="complete", actor="ada"))


def report(made: Execution, now: float) -> None:
    made.do(c.StepReport(now=now, run=made.runs.pop(), report=OK))


def tick(made: Execution, now: float) -> None:
    made.do(c.Tick(now=now))


CASES: dict[str, tuple[str, str, Callable[[Execution, float], None]]] = {
    "a signal to one of many": (SIGNAL, "{}", signal),
    "a signal with a key": (KEYED, "{}", keyed),
    "the first of several waits": (ANY, "{}", signal),
    "a tick before anything is due": (TIMER, "{}", tick),
    "an answer to one of many work items": (HUMAN, "{}", approve),
    "a report among many time limits": (WORK, "{policy: {lifecycle: {timeout_s: 60}}}", report),
    "a report among many runs": (WORK, "{}", report),
    "a step with a mutex": (WORK, "{policy: {resources: [{name: db}]}}", report),
}


def cost(case: str, count: int) -> list[int]:
    """Return what the second, third and fourth command cost, once ``count`` branches wait."""
    tool, spec, act = CASES[case]
    made = Execution(branches(count, tool, spec), executor="{resources: {db: 4}}")
    made.do(c.Start(now=0.0))
    act(made, 1.0)
    return [work(lambda now=now: act(made, now)) for now in (2.0, 3.0, 4.0)]  # type: ignore[misc]


@pytest.mark.spec("S17")
@pytest.mark.parametrize("case", CASES)
def test_a_command_costs_what_it_changes_however_much_waits(case: str) -> None:
    few, many = cost(case, FEW), cost(case, MANY)
    assert all(b <= 1.2 * a + 200 for a, b in zip(few, many, strict=True)), (few, many)


@pytest.mark.parametrize("case", CASES)
def test_the_indexes_are_the_same_after_replay_and_after_a_snapshot(case: str) -> None:
    tool, spec, act = CASES[case]
    made = Execution(branches(60, tool, spec), executor="{resources: {db: 4}}")
    made.do(c.Start(now=0.0))
    for number in range(1, 15):
        act(made, float(number))
    assert replay(made.state.id, made.log) == made.state
    half = State(id=made.state.id)
    for record in made.log:
        evolve(half, record.event, seq=record.seq, at=record.at)
        half = restore(snapshot(half))
    assert half == made.state


def test_disarmed_timers_do_not_pile_up() -> None:
    made = Execution(branches(400, WORK, "{policy: {lifecycle: {timeout_s: 60}}}"))
    made.do(c.Start(now=0.0))
    assert len(made.state.due) == 400
    while len(made.runs) > 10:
        report(made, 1.0)
    assert len(made.state.timers) == len([r for r in made.state.runs.values() if r.step == "b"])
    assert len(made.state.due) <= 2 * len(made.state.timers) + 64


def test_explaining_a_join_costs_the_same_for_each_of_its_branches() -> None:
    def each(count: int) -> float:
        text = (
            f"  - {{step: a, next: {{arcs: [{{step: b, copies: {count}}}]}}}}\n"
            "  - {step: b, tool: {kind: python, code: x}, next: {arcs: [{step: j}]}}\n"
            "  - {step: j, spec: {join: {}}, tool: {kind: noop}}\n"
        )
        made = Execution(text)
        made.do(c.Start(now=0.0))
        while len(made.runs) > 1:
            report(made, 1.0)
        return work(lambda: explain(made.program, made.state)) / count

    assert each(200) <= 1.2 * each(50)
