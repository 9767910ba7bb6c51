"""A live execution moves to another version: where everything will be, and what refuses to move (S23)."""

from __future__ import annotations

from typing import Any

import pytest
from support.states import as_data
from texts import model, workflow

from petra.kernel import Program, State, decide, replay, verify
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.migration import MovedOnError, migration_plan, prospects, unsound
from petra.kernel.snapshot import restore, snapshot
from petra.net.position import Outlook
from petra.testing import Simulation
from petra.testing.simulation import Execution

pytestmark = pytest.mark.spec("S23")

BEFORE = """
- step: fetch
  tool: {kind: python, code: x}
  next: {arcs: [{step: ask}]}
- step: ask
  tool: {kind: human, title: Sure?}
  next: {arcs: [{step: pay}]}
- step: pay
  tool: {kind: python, code: x}
"""

AFTER = """
- step: fetch
  tool: {kind: python, code: x}
  next: {arcs: [{step: ask}]}
- step: ask
  tool: {kind: human, title: Really sure?}
  next: {arcs: [{step: check}]}
- step: check
  tool: {kind: python, code: x}
  next: {arcs: [{step: pay}]}
- step: pay
  tool: {kind: python, code: x}
"""


def simulated(
    text: str, tools: dict[str, Any] | None = None, until: float | None = None
) -> Simulation:
    made = Simulation(model(workflow(text)), tools=tools or {})
    made.start({})
    made.run(until=made.now + until if until is not None else None)
    return made


def moved(world: Simulation, text: str, **given: Any) -> str:
    """Move the root execution to another definition; return why that was refused."""
    new = Program(model(workflow(text)))
    root = world.root
    root.program.versions[new.digest] = new
    return world.send(root, c.Migrate(now=world.now, digest=new.digest, **given)).refused


def completed(world: Simulation, action: str = "approve") -> None:
    item = next(iter(world.root.state.items))
    world.send(
        world.root,
        c.Act(now=world.now, item=item, act="complete", actor="ada", roles=["*"], action=action),
    )
    world.run()


def holds(execution: Execution) -> None:
    """The log verifies, and replaying it or reading a snapshot gives the state."""
    assert verify(execution.id, execution.log) is None
    assert replay(execution.id, execution.log) == execution.state
    assert restore(snapshot(execution.state)) == execution.state


def test_what_waits_goes_on_where_the_new_definition_leads() -> None:
    world = simulated(BEFORE, {"fetch": {"ok": 1}, "check": {"ok": 2}, "pay": {"ok": 3}})
    assert moved(world, AFTER, actor="ops", reason="a check was missing") == ""
    holds(world.root)
    completed(world)
    done = [r.event.step for r in world.root.log if isinstance(r.event, e.StepDone)]
    assert done == ["fetch", "ask", "check", "pay"]
    holds(world.root)


def test_a_work_item_in_flight_is_the_one_that_was_offered() -> None:
    world = simulated(BEFORE, {"fetch": {"ok": 1}})
    moved(world, AFTER)
    assert [item.spec["title"] for item in world.root.state.items.values()] == ["Sure?"]


def test_the_move_is_one_administrative_record() -> None:
    world = simulated(BEFORE, {"fetch": {"ok": 1}})
    before = len(world.root.log)
    moved(world, AFTER, actor="ops", reason="why")
    added = [record.event for record in world.root.log[before:]]
    assert [type(event) for event in added] == [e.ExecutionMigrated]
    assert (added[0].actor, added[0].reason) == ("ops", "why")  # type: ignore[union-attr]


def test_a_step_that_is_called_otherwise_now_is_mapped() -> None:
    world = simulated(BEFORE, {"fetch": {"ok": 1}, "charge": {"ok": 3}, "approve": {"ok": 9}})
    renamed = BEFORE.replace("ask", "approve").replace("pay", "charge")
    refused = moved(world, renamed)
    assert "'ask'" in refused
    assert "--map ask=STEP" in refused
    assert moved(world, renamed, renamed={"ask": "approve"}) == ""
    assert [item.step for item in world.root.state.items.values()] == ["approve"]
    completed(world)
    assert world.root.state.terminal == "completed"
    assert world.root.state.latest["charge"].ok
    holds(world.root)


def test_a_refusal_changes_nothing() -> None:
    world = simulated(BEFORE, {"fetch": {"ok": 1}})
    before = as_data(world.root.state)
    assert moved(world, "- {step: other, tool: {kind: noop}}")
    assert as_data(world.root.state) == before


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"renamed": {"nowhere": "pay"}}, "nowhere"),
        ({"renamed": {"ask": "nowhere"}}, "nowhere"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(given: dict[str, Any], word: str) -> None:
    world = simulated(BEFORE, {"fetch": {"ok": 1}})
    assert word in moved(world, AFTER, **given)


def test_a_plan_for_an_earlier_version_is_no_answer() -> None:
    world = simulated(BEFORE, {"fetch": {"ok": 1}})
    with pytest.raises(MovedOnError):
        moved(world, AFTER, at=1)
    assert moved(world, AFTER, at=world.root.state.seq) == ""


def test_moving_to_what_it_has_is_refused_and_so_is_what_has_ended() -> None:
    world = simulated(BEFORE, {"fetch": {"ok": 1}, "pay": {"ok": 1}})
    assert "already" in moved(world, BEFORE)
    completed(world)
    assert "completed" in moved(world, AFTER)


FAN = """
- step: split
  next: {arcs: [{step: work, foreach: "{{ [1, 2, 3] }}", as: n}]}
- step: work
  tool: {kind: wait, signal: {name: go, key: "{{ args.n }}"}}
  next: {arcs: [{step: gather}]}
- step: gather
  spec: {join: {merge: {strategy: append, into: all}}}
  tool: {kind: noop}
"""


def test_branches_and_their_join_move_together() -> None:
    world = simulated(FAN)
    world.send(world.root, c.SendSignal(now=world.now, name="go", key=1, payload=1))
    without = FAN.replace("gather", "collect")
    refused = moved(world, without)
    assert "no join 'gather'" in refused
    assert moved(world, without, renamed={"gather": "collect"}) == ""
    holds(world.root)
    for key in (2, 3):
        world.send(world.root, c.SendSignal(now=world.now, name="go", key=key, payload=key))
    world.run()
    assert world.root.state.terminal == "completed"
    assert [one["payload"] for one in world.root.state.ctx["all"]] == [1, 2, 3]


def test_a_token_that_waits_does_not_find_itself_in_a_join() -> None:
    gated = """
- step: split
  next: {arcs: [{step: work, foreach: "{{ [1, 2] }}", as: n}]}
- step: work
  spec: {policy: {admit: {rules: [{when: "{{ ctx.open }}", then: {allow: true}}]}}}
  tool: {kind: noop}
"""
    joined = gated.replace("spec: {policy", "spec: {join: {}, policy")
    assert "did not arrive" in moved(simulated(gated), joined)


LOOP = """
- step: each
  loop: {in: "{{ [1, 2, 3] }}", iterator: n, spec: {mode: sequential}}
  tool: {name: t, kind: python, code: old, args: {n: "{{ iter.n }}"}}
"""


def test_a_run_in_flight_ends_by_the_definition_it_began_with() -> None:
    """The loop goes on over its old list with its old task, and leads where the new arcs lead."""
    new = LOOP.replace("[1, 2, 3]", "[7]").replace("code: old", "code: new") + (
        "  next: {arcs: [{step: after}]}\n- step: after\n  tool: {kind: noop}\n"
    )
    world = simulated(LOOP, {"each": {"run": "args.n * 10", "after_s": 10}}, until=15)
    assert moved(world, new) == ""
    world.run()
    state = world.root.state
    assert state.latest["each"].result == [10, 20, 30]
    assert state.latest["after"].ok
    holds(world.root)


def test_what_was_done_before_is_undone_as_it_was_done() -> None:
    saga = """
- step: pay
  spec: {compensate: {tool: {name: refund, kind: python, code: old}}}
  tool: {kind: python, code: x}
  next: {arcs: [{step: ask}]}
- step: ask
  tool: {kind: human, title: Sure?}
"""
    head = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: test}\nexecutor: {spec: {policy: {compensation: both}}}\n"
    world = Simulation(
        model(workflow(saga, head)), tools={"pay": {"ok": 1}, "pay/compensate": {"ok": 0}}
    )
    world.start({})
    world.run()
    gone = Program(model(workflow("- {step: ask, tool: {kind: human, title: Sure?}}", head)))
    world.root.program.versions[gone.digest] = gone
    assert world.send(world.root, c.Migrate(now=world.now, digest=gone.digest)).refused == ""
    world.send(world.root, c.Cancel(now=world.now, reason="enough"))
    world.run()
    state = world.root.state
    assert state.terminal == "aborted"
    undone = [
        r.event
        for r in world.root.log
        if isinstance(r.event, e.StepStarted) and r.event.compensates
    ]
    assert [event.step for event in undone] == ["pay"]
    assert not state.failures
    holds(world.root)


def test_the_plan_says_where_everything_will_be() -> None:
    world = simulated(BEFORE, {"fetch": {"ok": 1}})
    old = world.root.program
    plan = migration_plan(old, Program(model(workflow(AFTER))), world.root.state, {})
    assert [(move.what, move.step, move.to) for move in plan.moves] == [
        ("run", "ask", "ask"),
        ("work item", "ask", "ask"),
    ]
    assert plan.faults == []


def test_every_move_at_every_record_replays() -> None:
    """Whatever moment is chosen, the log after the move is whole and the execution comes to its end."""
    tools = {"fetch": {"ok": 1, "after_s": 1}, "check": {"ok": 2}, "pay": {"ok": 3, "after_s": 1}}
    for moment in (0.0, 0.5, 1.0, 1.5):
        world = simulated(BEFORE, tools, until=moment)
        assert moved(world, AFTER) == ""
        world.run()
        completed(world)
        assert world.root.state.terminal == "completed"
        holds(world.root)


def test_a_fresh_state_has_nothing_to_move() -> None:
    program = Program(model(workflow(BEFORE)))
    program.versions["x"] = Program(model(workflow(AFTER)))
    assert decide(program, State(id="e"), c.Migrate(now=0.0, digest="x")).refused


# The proof from where it arrives


def outlook_of(world: Simulation, text: str, **renamed: str) -> Outlook:
    return prospects(Program(model(workflow(text))), world.root.state, renamed)


PARALLEL = """
- step: split
  next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
- step: a
  tool: {kind: wait, signal: {name: a}}
  next: {arcs: [{step: both}]}
- step: b
  tool: {kind: wait, signal: {name: b}}
  next: {arcs: [{step: both}]}
- step: both
  spec: {join: {}}
  tool: {kind: noop}
"""


@pytest.mark.parametrize("text", [BEFORE, FAN, PARALLEL, LOOP])
def test_every_position_of_a_sound_playbook_is_sound(text: str) -> None:
    tools = {"fetch": {"ok": 1}, "pay": {"ok": 1}, "each": {"ok": 1, "after_s": 10}}
    world = simulated(text, tools, until=15)
    found = outlook_of(world, text)
    assert found.answer == "sound", found
    assert found.states > 0


@pytest.mark.parametrize("arrived_first", ["a", "b", ""])
def test_a_join_that_loses_a_branch_by_the_move_is_found(arrived_first: str) -> None:
    """The classic defect of a change in flight: the second branch leads past the join now."""
    world = simulated(PARALLEL)
    if arrived_first:
        world.send(world.root, c.SendSignal(now=world.now, name=arrived_first, payload=1))
    past = PARALLEL.replace(
        "tool: {kind: wait, signal: {name: b}}\n  next: {arcs: [{step: both}]}",
        "tool: {kind: wait, signal: {name: b}}",
    )
    found = outlook_of(world, past)
    if arrived_first == "b":
        assert found.answer == "sound", "the branch that would be lost has arrived"
    else:
        assert (found.answer, found.certain) == ("unsound", True)
        assert "both" in unsound(found)


def test_a_token_inside_a_fan_out_that_the_new_net_does_not_have_is_homeless() -> None:
    world = simulated(PARALLEL)
    single = PARALLEL.replace(
        "{spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}", "{arcs: [{step: a}]}"
    )
    found = outlook_of(world, single)
    assert found.homeless
    assert "no place" in unsound(found)


def test_branches_of_a_list_stand_for_each_other() -> None:
    """Three branches in three places: the net has one, and must be sound from each."""
    world = simulated(FAN)
    world.send(world.root, c.SendSignal(now=world.now, name="go", key=2, payload=2))
    assert outlook_of(world, FAN).answer == "sound"
    lost = FAN.replace("next: {arcs: [{step: gather}]}", "next: {arcs: []}").replace(
        "mode: all", "mode: all"
    )
    assert outlook_of(world, lost).answer == "unsound"
