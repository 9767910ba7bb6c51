"""Every recorded input is decided again: the records come out the same, or the first that does not is named (E0)."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import msgspec
import pytest
from export.logs import EXAMPLES
from kernel.paths import walk
from kernel.test_mutants import MUTANTS, Patch
from texts import model, workflow
from thoroughness import few

from petra.kernel import Program, decide
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.fork import fork
from petra.kernel.redecide import Redecided, redecide
from petra.kernel.replay import Ledger
from petra.kernel.state import State, derive
from petra.testing import Simulation
from petra.testing.runner import run_case
from petra.testing.session import CaseVerdict, cases_of, suite_files
from petra.testing.simulation import Execution

pytestmark = pytest.mark.spec("S17")

PATHS = int(os.environ.get("PETRA_PATHS", "300"))

BOOK = """
- step: fan
  next: {arcs: [{step: work, foreach: "{{ [1, 2] }}"}]}
- step: work
  tool: {kind: python, code: x}
  next: {arcs: [{step: join, when: "{{ event.status == 'ok' }}"}]}
- step: join
  spec: {join: {of: fan, timeout_s: 50}}
  next: {arcs: [{step: ask}]}
- step: ask
  tool: {kind: human, title: Sure?, due_s: 30}
  next: {arcs: [{step: last}]}
- step: last
  tool: {kind: wait, signal: {name: go}}
"""


def simulated(text: str = BOOK) -> Simulation:
    made = Simulation(model(workflow(text)), tools={"work": {"ok": 1}})
    made.start({})
    made.run(until=made.now + 1)
    return made


def decided(world: Simulation, execution: Execution | None = None) -> Redecided:
    one = execution or world.root
    return redecide(one.id, one.log, lambda _: one.program, world.shelf)


def examples(only: str = "") -> list[tuple[str, Simulation]]:
    found = []
    for file in suite_files([str(EXAMPLES)]):
        if only in file.name:
            for case in cases_of(file):
                assert not isinstance(case, CaseVerdict)
                world = run_case(case).simulation
                assert world is not None
                found.append((f"{file.name}::{case.name}", world))
    return found


@pytest.mark.slow
def test_every_decision_of_every_example_is_made_again() -> None:
    decisions = 0
    for name, world in examples():
        for execution in world.executions.values():
            if execution.log:
                found = decided(world, execution)
                assert found.bad is None, (name, found.bad)
                assert not found.unrecorded, name
                decisions += found.decisions
    assert decisions > 500


@pytest.mark.parametrize("only", ["approval", "fan_out", "wcp-18"])
def test_examples_come_out_the_same(only: str) -> None:
    for name, world in examples(only):
        assert decided(world).bad is None, name


@pytest.mark.parametrize(
    "seeds",
    [range(few(12)), pytest.param(range(12, PATHS), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_every_decision_of_a_random_path_is_made_again(seeds: range) -> None:
    decisions, unrecorded = 0, 0
    for seed in seeds:
        _, world, _ = walk(seed)
        for execution in world.executions.values():
            if execution.log:
                found = decided(world, execution)
                assert found.bad is None, (seed, found.bad)
                decisions += found.decisions
                unrecorded += sum(found.unrecorded.values())
    assert unrecorded * 50 < decisions


def acted() -> Simulation:
    """Everything that people and operators may ask, in one execution."""
    world = simulated()
    root = world.root
    item = next(iter(root.state.items))
    asked: list[Callable[[], c.AnyCommand]] = [
        lambda: c.PatchCtx(now=world.now, values={"x": 1}, actor="ada", by="bob"),
        lambda: c.Pause(now=world.now, actor="ada", reason="why"),
        lambda: c.Resume(now=world.now, actor="ada"),
        lambda: c.Act(now=world.now, item=item, act="claim", actor="eve"),
        lambda: c.Act(now=world.now, item=item, act="claim", actor="bob"),
        lambda: c.Act(now=world.now, item=item, act="delegate", actor="eve", to="bob"),
        lambda: c.Act(now=world.now, item=item, act="complete", actor="bob", action="reject"),
        lambda: c.Override(now=world.now, step="last", actor="ada", reason="no: time", result=3),
    ]
    for number, ask in enumerate(asked):
        world.now += number
        world.send(root, ask())
    assert root.state.terminal == "completed"
    return world


def test_what_people_and_operators_asked_is_decided_again() -> None:
    found = decided(acted())
    assert found.bad is None
    assert not found.unrecorded


def test_an_act_whose_refusal_cannot_be_explained_from_the_log_is_counted() -> None:
    world = simulated()
    item = next(iter(world.root.state.items))
    world.now += 1
    act = c.Act(now=world.now, item=item, act="complete", actor="ada", action="maybe")
    world.send(world.root, act)
    found = decided(world)
    assert found.bad is None
    assert found.unrecorded == {"what was asked by an act that was refused": 1}


def test_a_fork_is_decided_again() -> None:
    world = acted()
    program = world.root.program
    made = fork("x", world.root.log, 9, now=world.now, reason="again")
    state, ledger = State(id="y"), Ledger("y")
    decision = decide(program, state, made)
    records = [ledger.record(event, made.now, 0, 0) for event in decision.events]
    found = redecide("y", records, lambda _: program, world.shelf)
    assert (found.bad, found.decisions) == (None, 1)


def test_a_record_that_is_not_what_is_decided_is_named() -> None:
    world = simulated()
    log = list(world.root.log)
    at = next(n for n, one in enumerate(log) if isinstance(one.event, e.StepDone))
    event = log[at].event
    assert isinstance(event, e.StepDone)
    log[at] = msgspec.structs.replace(log[at], event=msgspec.structs.replace(event, arcs=[7]))
    found = redecide(world.root.id, log, lambda _: world.root.program, world.shelf)
    assert found.bad is not None
    assert found.bad.seq == at + 1
    assert found.bad.reason == "step.done is decided with another arcs"


def test_another_definition_is_found() -> None:
    world = acted()
    other = Program(model(workflow(BOOK.replace("timeout_s: 50", "timeout_s: 60"))))
    found = redecide(world.root.id, world.root.log, lambda _: other, world.shelf)
    assert found.bad is not None
    assert "digest" in found.bad.reason


def _ids_are_derived_otherwise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("petra.kernel.routing.derive", lambda *parts: derive("other", *parts))


RULES = [
    mutant
    for mutant in MUTANTS
    # what a write that conflicts had said is not recorded, and the other one changes how a log is read
    if mutant.__name__ not in ("_conflict_is_ignored", "_writes_are_forgotten")
]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [*RULES, _ids_are_derived_otherwise])
def test_a_changed_rule_is_found(mutant: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = _recorded()
    mutant(monkeypatch)
    assert any(_is_found(world) for world in worlds)


@cache
def _recorded() -> list[Simulation]:
    return [acted(), *(walk(seed)[1] for seed in range(40))]


def _is_found(world: Simulation) -> bool:
    try:
        return decided(world).bad is not None
    except (AssertionError, KeyError):
        return True
