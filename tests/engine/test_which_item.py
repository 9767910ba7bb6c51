"""Which work item somebody means by a step or an id (S14)."""

from __future__ import annotations

import pytest

from petra.desk import meant_item
from petra.engine.cache import Entry
from petra.errors import UsageError
from petra.kernel import Ledger, Program, State, decide
from petra.kernel import commands as c
from petra.kernel.waiting import WorkItem
from petra.playbook import read

TEXT = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: desk}
workflow:
  - {step: s, next: {arcs: [{step: ask, foreach: [ada, ada, bob, clerk]}]}}
  - step: ask
    tool:
      kind: human
      title: x
      assignees:
        users: "{{ [] if args.item == 'clerk' else [args.item] }}"
        roles: "{{ ['clerk'] if args.item == 'clerk' else [] }}"
"""


def desk() -> tuple[Entry, list[WorkItem]]:
    program, state = Program(read(TEXT, "desk").checked()), State(id="desk")
    decide(program, state, c.Start(now=0.0))
    return Entry(program, state, Ledger("desk")), list(state.items.values())


def act(entry: Entry, item: WorkItem, act: str, actor: str) -> None:
    decide(
        entry.program, entry.state, c.Act(now=1.0, item=item.id, act=act, actor=actor, roles=["*"])
    )


@pytest.mark.spec("S14")
def test_a_step_means_the_actors_own_item() -> None:
    entry, (first, second, third, fourth) = desk()
    assert meant_item(entry, "ask", "bob", ()) is third
    assert meant_item(entry, "ask", "eve", ("clerk",)) is fourth
    with pytest.raises(UsageError, match=f"which one.*{first.id[:12]}.*{second.id[:12]}"):
        meant_item(entry, "ask", "ada", ())
    act(entry, second, "claim", "ada")
    assert meant_item(entry, "ask", "ada", ()) is second
    with pytest.raises(UsageError, match="none of the 4 open work items of 'ask' is for 'mal'"):
        meant_item(entry, "ask", "mal", ())


@pytest.mark.spec("S14")
def test_an_item_is_named_by_its_id_or_the_beginning_of_it() -> None:
    entry, (_, second, third, _) = desk()
    assert meant_item(entry, second.id, "mal", ()) is second
    assert meant_item(entry, third.id[:12], "mal", ()) is third
    with pytest.raises(UsageError, match="no open work item"):
        meant_item(entry, "nosuch-step", "ada", ())


@pytest.mark.spec("S14")
def test_who_has_answered_means_the_item_they_answered() -> None:
    entry, items = desk()
    for item, who in zip(items, ("ada", "ada", "bob", "eve"), strict=True):
        act(entry, item, "complete", who)
    assert entry.state.terminal
    assert meant_item(entry, "ask", "bob", ()) is items[2]
    with pytest.raises(UsageError, match="no open work item"):
        meant_item(entry, "ask", "mal", ())
