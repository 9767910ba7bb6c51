"""The order of firings is the same in every execution of the same story (S17)."""

from __future__ import annotations

import re
from contextlib import suppress

import msgspec
import pytest
from support.generate import RECORDS_MAX, TooLongError, random_path, unleash
from thoroughness import few

from petra.kernel.decide import Decision
from petra.playbook import read
from petra.testing import Simulation
from petra.testing.simulation import Execution

STRATEGIES = ("fifo", "priority", "name", "hash", "random")
_ID = re.compile(r"[0-9a-f]{24}|execution-\w+")


def story(simulation: Simulation) -> list[str]:
    """Return the logs, with every id that was derived replaced by the number of its first appearance."""
    seen: dict[str, str] = {}
    found = []
    for execution in simulation.executions.values():
        for record in execution.log:
            text = msgspec.json.encode(record.event).decode()
            found.append(_ID.sub(lambda m: seen.setdefault(m[0], f"#{len(seen)}"), text))
    return found


def random_story(seed: int, selection: str, name: str) -> list[str]:
    path = random_path(seed)

    def short(execution: Execution, _: Decision) -> None:
        if len(execution.log) > RECORDS_MAX:
            raise TooLongError

    simulation = Simulation(
        path.playbook, library={"child": path.child}, tools=path.tools, seed=seed, selection=selection,
        chunk_max=path.chunk_max, execution=f"execution-{name}", watch=short,
    )  # fmt: skip
    simulation.root.program.events_max = 150
    unleash(path, simulation)
    with suppress(TooLongError):
        simulation.start({})
        simulation.run()
    return story(simulation)


@pytest.mark.slow
@pytest.mark.spec("S17")
@pytest.mark.parametrize("selection", STRATEGIES)
def test_random_playbooks_fire_in_the_same_order_whatever_the_execution_is_called(
    selection: str,
) -> None:
    for seed in range(few(15)):
        first, *others = (random_story(seed, selection, name) for name in ("a", "zz", "7"))
        assert all(other == first for other in others), seed


WIDE = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: wide}
workflow:
  - step: s
    next:
      spec: {mode: inclusive}
      arcs: [{step: c}, {step: a, copies: 4}, {step: b, foreach: '{{ [1, 2, 3] }}'}, {step: a}]
  - {step: a, spec: {priority: 2}, tool: {kind: wait, for_s: 5}, next: {arcs: [{step: d}]}}
  - {step: b, spec: {priority: -1}, tool: {kind: wait, for_s: 5}, next: {arcs: [{step: d}]}}
  - {step: c, tool: {kind: human, title: x, due_s: 5}, next: {arcs: [{step: d}]}}
  - step: d
    spec: {policy: {resources: [{name: one}]}}
    tool: {kind: python, code: x}
executor: {spec: {resources: {one: 2}}}
"""


@pytest.mark.spec("S17")
@pytest.mark.parametrize("selection", STRATEGIES)
def test_fifty_executions_of_one_playbook_make_one_sequence_of_firings(selection: str) -> None:
    book = read(WIDE, "wide").checked()
    found = set()
    for number in range(50):
        simulation = Simulation(
            book, tools={"d": {"ok": 1, "after_s": 3}}, seed=5,
            selection=selection, execution=f"execution-{number}",
        )  # fmt: skip
        simulation.start({})
        simulation.run()
        assert simulation.root.state.terminal
        found.add("\n".join(story(simulation)))
    assert len(found) == 1


@pytest.mark.spec("S17")
def test_a_random_order_needs_a_seed() -> None:
    text = WIDE.replace("resources: {one: 2}", "resources: {one: 2}, selection: random")
    found = read(text, "wide").problems
    assert [problem.code for problem in found if problem.severity == "error"] == ["P102"]
    assert read(text.replace("random", "random, seed: 3"), "wide").ok
