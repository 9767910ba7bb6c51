"""In what sense two executions are the same: E0, E1, E2 (S17)."""

from __future__ import annotations

from typing import Any

import pytest
from texts import model, workflow

from petra.kernel import Record
from petra.kernel import commands as c
from petra.kernel.compare import sameness
from petra.net.compare import Equivalence
from petra.testing import Simulation

pytestmark = pytest.mark.spec("S17")

BRANCHES = """
- step: split
  next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
- step: a
  tool: {kind: wait, signal: {name: a}}
  next: {arcs: [{step: end}]}
- step: b
  tool: {kind: wait, signal: {name: b}}
  next: {arcs: [{step: end}]}
- step: end
  spec: {join: {merge: {strategy: append, into: all}}}
  tool: {kind: noop}
"""


def lived_through(
    text: str, signals: list[tuple[str, Any]], name: str = "execution-1", head: str = ""
) -> list[Record]:
    given = {"header": head} if head else {}
    world = Simulation(model(workflow(text, **given)))
    world.root.id = world.root.state.id = name
    world.root.ledger.execution = name
    world.executions = {name: world.root}
    world.start({})
    world.run()
    for signal, payload in signals:
        world.now += 1
        world.send(world.root, c.SendSignal(now=world.now, name=signal, payload=payload))
        world.run()
    return world.root.log


def test_the_same_life_under_another_id_and_at_another_time_is_identical() -> None:
    one = lived_through(BRANCHES, [("a", 1), ("b", 2)])
    two = lived_through(BRANCHES, [("a", 1), ("b", 2)], name="another-execution")
    assert sameness(one, two) is Equivalence.IDENTITY


def test_branches_that_end_in_another_order_are_the_same_but_for_order() -> None:
    one = lived_through(BRANCHES, [("a", 1), ("b", 2)])
    two = lived_through(BRANCHES, [("b", 2), ("a", 1)])
    assert sameness(one, two) is Equivalence.CAUSAL


@pytest.mark.parametrize("other", [[("a", 1), ("b", 3)], [("a", 1)]])
def test_other_data_or_another_end_is_different(other: list[tuple[str, Any]]) -> None:
    one = lived_through(BRANCHES, [("a", 1), ("b", 2)])
    assert sameness(one, lived_through(BRANCHES, other)) is Equivalence.NONE


WRITES = """
- step: split
  next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
- step: a
  tool: {kind: wait, signal: {name: a}, spec: {policy: {rules: [{when: "{{ true }}", then: {do: continue, set_ctx: {k: same}}}]}}}
- step: b
  tool: {kind: wait, signal: {name: b}, spec: {policy: {rules: [{when: "{{ true }}", then: {do: continue, set_ctx: {k: same}}}]}}}
"""


def test_writes_of_one_key_in_another_order_depend_on_each_other() -> None:
    """The outcome is the same, and still it is more than a matter of order."""
    head = (
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: test}\n"
        "executor: {spec: {output: '{{ ctx.k }}', ctx: {k: {reduce: last}}}}\n"
    )
    one = lived_through(WRITES, [("a", 1), ("b", 1)], head=head)
    two = lived_through(WRITES, [("b", 1), ("a", 1)], head=head)
    assert sameness(one, two) is Equivalence.OUTCOME


def test_a_ctx_that_somebody_patched_is_no_matter_of_order() -> None:
    """It is no firing: the graphs of causes are equal, and still they are not the same."""
    lives = []
    for value in (None, 1):
        world = Simulation(model(workflow(WRITES)))
        world.start({})
        world.run()
        if value is not None:
            world.send(world.root, c.PatchCtx(now=world.now, values={"k": value}, actor="ada"))
        lives.append(world.root.log)
    assert sameness(*lives) is Equivalence.NONE
