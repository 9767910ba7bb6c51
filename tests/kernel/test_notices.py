"""What people are told of work items can be read from the log: nothing that a crash swallows is lost."""

from __future__ import annotations

from collections import Counter

import pytest
from support.generate import RECORDS_MAX, TooLongError, random_path, unleash
from support.notices import notices

from petra.kernel import commands as c
from petra.kernel.decide import Decision
from petra.kernel.effects import Notify
from petra.playbook import read
from petra.testing import Simulation
from petra.testing.simulation import Execution

ASKED = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: asked}
workflow:
  - step: ask
    tool:
      kind: human
      assignees: {users: [ada]}
      due_s: 100
      remind_s: 10
      escalate: [{after_s: 20, do: notify}, {after_s: 30, to: "role:boss"}]
"""


class Heard:
    """Compares what a decision tells people with what its events say, decision by decision."""

    def __init__(self) -> None:
        self.about: Counter[str] = Counter()

    def __call__(self, execution: Execution, decision: Decision) -> None:
        effects = [effect for effect in decision.effects if isinstance(effect, Notify)]
        said = [one for event in decision.events for one in notices(event)]
        items = execution.state.items
        assert [one for one in said if one in effects] == effects
        assert all(one in effects or not items[one.item].is_open for one in said)
        self.about.update(one.about for one in effects)
        if len(execution.log) > RECORDS_MAX:
            raise TooLongError


@pytest.mark.slow
@pytest.mark.spec("S14")
def test_every_notice_of_a_random_path_stands_in_the_record_that_caused_it() -> None:
    heard = Heard()
    for seed in range(60):
        path = random_path(seed)
        simulation = Simulation(
            path.playbook, library={"child": path.child}, tools=path.tools, seed=seed,
            selection=path.selection, chunk_max=path.chunk_max, watch=heard,
        )  # fmt: skip
        simulation.root.program.events_max = 150
        unleash(path, simulation)
        try:
            simulation.start({})
            simulation.run()
        except TooLongError:
            continue
    assert heard.about["offered"] > 20, heard.about


@pytest.mark.spec("S14")
def test_each_kind_of_notice_stands_in_a_record() -> None:
    heard = Heard()
    simulation = Simulation(read(ASKED).checked(), watch=heard)
    simulation.start({})
    (item,) = simulation.root.state.items

    def act(what: str, to: str | None = None, actor: str = "ada") -> None:
        command = c.Act(now=simulation.now, item=item, act=what, actor=actor, to=to)
        assert not simulation.send(simulation.root, command).refused

    act("claim")
    act("delegate", to="bob")
    act("release", actor="bob")
    act("reassign", to="eve")
    simulation.run(until=simulation.now + 50)
    assert heard.about == {
        "offered": 2, "delegated": 1, "reassigned": 1, "reminder": 1, "escalated": 2
    }  # fmt: skip
