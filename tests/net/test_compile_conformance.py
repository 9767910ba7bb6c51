"""Every firing that the kernel records is a firing of the net (S2)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.net_conformance import firings, violations
from support.structured import structured
from texts import model, workflow
from thoroughness import few

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.decide import Decision, decide
from petra.kernel.effects import Assign
from petra.kernel.program import Program
from petra.kernel.state import State
from petra.net import compile  # noqa: A004
from petra.playbook import read
from petra.wire import Error, Report

STEPS_MAX = 200


@dataclass
class Driver:
    """Plays worker and operator for one execution; ``draw`` decides what happens."""

    text: str
    draw: st.DataObject
    log: list[e.AnyEvent] = field(default_factory=list)
    work: list[str] = field(default_factory=list)

    def run(self) -> None:
        program = Program(read(self.text).checked())
        state = State(id="x")
        guards = sorted(set(re.findall(r"ctx\.(g\d+)", self.text)))
        self.take(decide(program, state, c.Start(now=0.0)))
        for now in range(1, STEPS_MAX):
            self.work = [run for run in self.work if run in state.runs]
            if not self.work:
                return
            run = self.work.pop(self.draw.draw(st.integers(0, len(self.work) - 1)))
            act = self.draw.draw(st.sampled_from(("ok", "ok", "ok", "error", "patch")))
            if act == "patch" and guards:
                values = {name: self.draw.draw(st.booleans()) for name in guards}
                self.take(decide(program, state, c.PatchCtx(now=now, values=values)))
            if run in state.runs:
                report = (
                    Report(status="error", error=Error()) if act == "error" else Report(status="ok")
                )
                self.take(decide(program, state, c.StepReport(now=now, run=run, report=report)))  # fmt: skip

    def take(self, decision: Decision) -> None:
        self.log += decision.events
        self.work += [one.run for one in decision.effects if isinstance(one, Assign)]


@pytest.mark.spec("S2")
@settings(max_examples=few(60), deadline=None)
@given(seed=st.integers(0, 400), draw=st.data())
def test_every_recorded_firing_is_a_firing_of_the_net(seed: int, draw: st.DataObject) -> None:
    driver = Driver(structured(seed, size=8), draw)
    driver.run()
    compiled = compile(read(driver.text).checked())
    assert [str(one) for one in violations(compiled, driver.log)] == []
    assert any(firings(driver.log))


SPLIT = model(
    workflow(
        """
        - step: s
          next:
            spec: {mode: inclusive}
            arcs: [{step: a}, {step: b, when: "{{ ctx.x }}"}, {step: c, foreach: "{{ workload.xs }}"}]
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: c, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: j, spec: {join: {}}, tool: {kind: noop}}
        """
    )
)


@pytest.mark.spec("S2")
@pytest.mark.parametrize(
    ("kind", "step", "consumed", "produced", "admitted"),
    [
        pytest.param("start", "a", "a.ready", "a.running", True, id="a token starts a step"),
        pytest.param("start", "a", "a.ready a.ready", "a.running", False, id="not two"),
        pytest.param("start", "a", "b.ready", "a.running", False, id="nor one of another step"),
        pytest.param("start", "j", "j.ready j.ready j.ready", "j.running", True, id="a join takes several"),
        pytest.param("start", "j", "", "j.running", False, id="but not none: one branch is sure"),
        pytest.param("done", "s", "s.running", "a.ready b.ready", True, id="both arcs"),
        pytest.param("done", "s", "s.running", "a.ready c.ready c.ready c.ready", True, id="a list of three"),
        pytest.param("done", "s", "s.running", "b.ready", False, id="an arc without a guard is taken"),
        pytest.param("done", "s", "s.running", "a.ready a.ready", False, id="once"),
        pytest.param("done", "s", "s.running", "a.ready j.ready", False, id="no arc leads there"),
        pytest.param("done", "s", "s.running", "", False, id="something is made"),
        pytest.param("done", "j", "j.running", "", True, id="a branch ends"),
        pytest.param("failed", "a", "a.running", "", True, id="a failure makes nothing"),
        pytest.param("failed", "a", "a.running", "j.ready", False, id="no arc handles it"),
        pytest.param("failed", "j", "j.ready", "", True, id="a join fails before it starts"),
        pytest.param("failed", "a", "a.ready", "", False, id="a plain step does not"),
        pytest.param("discard", "j", "j.ready", "", True, id="a late branch is dropped"),
        pytest.param("discard", "a", "a.ready", "", False, id="no gate turns it away"),
        pytest.param("withdraw", "a", "a.ready a.running", "", True, id="everything may be withdrawn"),
        pytest.param("withdraw", "a", "a.running", "a.ready", False, id="but not sent back"),
        pytest.param("explode", "a", "a.running", "", False, id="an unknown kind"),
        pytest.param("start", "z", "z.ready", "z.running", False, id="an unknown step"),
    ],
)  # fmt: skip
def test_a_firing_is_held_against_the_net(
    kind: str, step: str, consumed: str, produced: str, *, admitted: bool
) -> None:
    def counted(places: str) -> dict[str, int]:
        return {place: places.split().count(place) for place in places.split()}

    net = compile(SPLIT)
    assert net.admits(kind, step, counted(consumed), counted(produced)) is admitted
