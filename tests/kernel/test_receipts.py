"""What the receipt of a firing says: which ctx keys it was decided by, and which it wrote (S17); how a loop begins (S9)."""

from __future__ import annotations

import pytest
from texts import model, workflow

from petra.kernel import events as e
from petra.kernel import verify
from petra.kernel.replay import EventReceipt
from petra.testing import Simulation

STEPS = """
- step: a
  tool: {kind: noop, spec: {policy: {rules: [{when: "{{ true }}", then: {do: continue, set_ctx: {go: true, n: 3}}}]}}}
  next: {arcs: [{step: b, when: "{{ ctx.go }}", args: {n: "{{ ctx.n }}"}}]}
- step: b
  spec: {policy: {admit: {rules: [{when: "{{ ctx.n > 1 }}", then: {allow: true}}]}}}
  loop: {in: "{{ range(ctx.n) | list }}", iterator: i}
  tool: {kind: noop}
"""


def lived() -> Simulation:
    world = Simulation(model(workflow(STEPS)))
    world.start({})
    world.run()
    assert verify(world.root.id, world.root.log) is None
    return world


def receipt(world: Simulation, transition: str) -> EventReceipt:
    return next(r.receipt for r in world.root.log if r.receipt.transition == transition)


@pytest.mark.spec("S17")
def test_a_firing_tells_which_ctx_keys_it_was_decided_by_and_which_it_wrote() -> None:
    world = lived()
    assert receipt(world, "a.start").reads == []
    assert receipt(world, "a.done").reads == ["go", "n"]
    assert receipt(world, "a.done").writes == ["go", "n"]
    assert receipt(world, "b.start").reads == ["n"]


@pytest.mark.spec("S9")
def test_a_loop_begins_with_how_many_there_are() -> None:
    begun = [r.event for r in lived().root.log if isinstance(r.event, e.LoopStarted)]
    assert [(event.step, event.total, event.max_in_flight) for event in begun] == [("b", 3, 1)]
