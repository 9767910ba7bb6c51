"""Four eyes: who completed one step does not act on the other, however they go about it (S14)."""

from __future__ import annotations

from typing import Any

import pytest

from petra.engine.codec import item_row
from petra.kernel import Program, State, decide, replay
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.replay import Ledger, Record
from petra.kernel.waiting import WorkItem
from petra.playbook import read

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: eyes}\nworkflow:\n"
TWO = "tool: {kind: human, title: x, exclude: {completed_by: one}}"
IN_TURN = f"""
  - {{step: one, tool: {{kind: human, title: x}}, next: {{arcs: [{{step: two}}]}}}}
  - {{step: two, {TWO}}}
"""
AT_ONCE = f"""
  - {{step: s, next: {{spec: {{mode: inclusive}}, arcs: [{{step: one}}, {{step: two}}]}}}}
  - {{step: one, tool: {{kind: human, title: x}}}}
  - {{step: two, {TWO}}}
"""
IN_A_LOOP = f"""
  - {{step: one, loop: {{in: [1, 2], iterator: n}}, tool: {{kind: human, title: x}}, next: {{arcs: [{{step: two}}]}}}}
  - {{step: two, {TWO}}}
"""
AGAIN = f"""
  - {{step: one, tool: {{kind: human, title: x}}, next: {{arcs: [{{step: one, when: "{{{{ event.result.action == 'reject' }}}}"}}, {{step: two}}]}}}}
  - {{step: two, {TWO}}}
"""


class Office:
    """An execution, and the people who act on its work items."""

    def __init__(self, workflow: str) -> None:
        self.program = Program(read(HEAD + workflow, "eyes").checked())
        self.state, self.ledger = State(id="eyes"), Ledger("eyes")
        self.log: list[Record] = []
        self.touched: dict[str, None] = {}
        self.give(c.Start(now=0.0))

    def give(self, command: c.AnyCommand) -> str:
        decision = decide(self.program, self.state, command)
        self.touched = decision.items
        for event, (before, after) in zip(decision.events, decision.markings, strict=True):
            self.log.append(self.ledger.record(event, self.state.now, before, after))
        refusals = [x.reason for x in decision.events if isinstance(x, e.ActRefused)]
        assert replay("eyes", self.log) == self.state
        return decision.refused or "".join(refusals)

    def item(self, step: str) -> WorkItem:
        return [item for item in self.state.items.values() if item.step == step][-1]

    def act(self, step: str, act: str, actor: str, **more: Any) -> str:
        given = c.Act(now=1.0, item=self.item(step).id, act=act, actor=actor, roles=["*"], **more)
        return self.give(given)


@pytest.mark.spec("S14")
def test_every_activation_counts_not_only_the_latest() -> None:
    office = Office(AGAIN)
    assert not office.act("one", "complete", "ada", action="reject")
    assert not office.act("one", "complete", "bob", action="approve")
    for who in ("ada", "bob"):
        assert "four eyes" in office.act("two", "claim", who)
        assert "four eyes" in office.act("two", "complete", who)
    assert not office.act("two", "complete", "eve")


@pytest.mark.spec("S14")
def test_every_iteration_counts() -> None:
    office = Office(IN_A_LOOP)
    assert not office.act("one", "complete", "ada")
    assert not office.act("one", "complete", "bob")
    assert "four eyes" in office.act("two", "complete", "ada")
    assert "four eyes" in office.act("two", "complete", "bob")


@pytest.mark.spec("S14")
def test_those_on_whose_behalf_it_was_done_are_excluded_too() -> None:
    office = Office(IN_TURN)
    assert not office.act("one", "complete", "bob", on_behalf_of="ada")
    for who in ("ada", "bob"):
        assert "four eyes" in office.act("two", "complete", who)
    assert "four eyes" in office.act("two", "complete", "eve", on_behalf_of="ada")


@pytest.mark.spec("S14")
def test_who_delegated_the_first_step_may_not_do_the_second() -> None:
    office = Office(IN_TURN)
    assert not office.act("one", "claim", "ada")
    assert not office.act("one", "delegate", "ada", to="bob")
    assert not office.act("one", "complete", "bob")
    assert "four eyes" in office.act("two", "claim", "ada")


@pytest.mark.spec("S14")
def test_what_was_claimed_before_and_delegated_after_is_not_completed_for_them() -> None:
    office = Office(AT_ONCE)
    assert not office.act("two", "claim", "ada")
    assert not office.act("one", "complete", "ada")
    assert "four eyes" in office.act("two", "complete", "ada")
    assert not office.act("two", "delegate", "ada", to="bob")
    assert "four eyes" in office.act("two", "complete", "bob")
    assert "four eyes" in office.act("two", "delegate", "bob", to="ada")
    assert not office.act("two", "reassign", "bob", to="eve")
    assert not office.act("two", "complete", "eve")


@pytest.mark.spec("S14")
def test_an_inbox_leaves_out_whom_four_eyes_excludes_as_soon_as_it_does() -> None:
    office = Office(AT_ONCE)
    assert item_row(office.state, office.item("two")).excluded == ()
    assert not office.act("one", "complete", "bob", on_behalf_of="ada")
    two = office.item("two")
    assert two.id in office.touched
    assert item_row(office.state, two).excluded == ("bob", "ada")


@pytest.mark.spec("S14")
def test_the_same_answer_by_the_same_person_is_the_same_answer_also_after_the_end() -> None:
    office = Office(IN_TURN)
    first = office.item("one").id
    assert not office.act("one", "complete", "ada")
    again: dict[str, Any] = {"now": 2.0, "item": first, "act": "complete", "actor": "ada"}
    assert not office.give(c.Act(**again, action="approve"))
    assert "is done" in office.give(c.Act(**again, action="reject"))
    assert not office.act("two", "complete", "bob")
    before = len(office.log)
    assert office.state.terminal
    assert not office.give(c.Act(**again))
    assert "completed" in office.give(c.Act(**again, action="reject"))
    assert "completed" in office.give(c.Act(**{**again, "actor": "eve"}))
    assert len(office.log) == before


@pytest.mark.spec("S14")
def test_nothing_but_resume_and_cancel_touches_a_suspended_item() -> None:
    office = Office(IN_TURN)
    assert not office.act("one", "claim", "ada")
    assert not office.act("one", "suspend", "ada")
    for act in (
        "claim",
        "release",
        "start",
        "save",
        "complete",
        "fail",
        "delegate",
        "reassign",
        "comment",
    ):
        assert "suspended" in office.act("one", act, "ada", to="bob"), act
    assert not office.act("one", "resume", "ada")
    assert office.item("one").state == "allocated"


@pytest.mark.spec("S14")
def test_a_delegated_item_that_is_released_goes_back_to_who_delegated_it() -> None:
    office = Office(IN_TURN)
    assert not office.act("one", "claim", "ada")
    assert not office.act("one", "delegate", "ada", to="bob")
    assert not office.act("one", "release", "bob")
    assert (office.item("one").state, office.item("one").holder) == ("allocated", "ada")
    assert not office.act("one", "release", "ada")
    assert (office.item("one").state, office.item("one").holder) == ("offered", None)
