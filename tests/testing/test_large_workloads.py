"""A large workload in virtual time: it is looked through once, not for every run (S18)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from petra.kernel.objects import PlainShelf
from petra.playbook import read
from petra.testing import Simulation

pytestmark = pytest.mark.spec("S18")

BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: p}
workload: {rows: [], table: {}}
workflow:
- step: first
  tool:
    kind: python
    code: x
    spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {large: "{{ outcome.result }}"}}}}]}}
  next: {arcs: [{step: s}]}
- step: s
  loop: {in: '{{ workload.rows }}', iterator: row}
  tool: {kind: python, code: x}
  next: {arcs: [{step: last, args: {large: "{{ ctx.large }}"}}]}
- step: last
  tool: {kind: python, code: x}
"""


class Counting(PlainShelf):
    """Counts how often each object is read as a whole, and how often a part of it is."""

    def __init__(self) -> None:
        super().__init__()
        self.wholes, self.parts = Counter[str](), 0

    def __call__(self, value: dict[str, Any]) -> Any:
        if value.get("path"):
            self.parts += 1
        else:
            self.wholes[value.get("key", "")] += 1
        return super().__call__(value)


def reads(rows: int) -> tuple[int, int]:
    """Return how often any object was read as a whole at most, and how many parts were."""
    book = read(BOOK, "p").checked()
    tools = {
        "first": {"run": "workload.table"},
        "s": {"run": "iter.row.n + (workload.table.at | length) - (ctx.large.at | length)"},
        "last": {"run": "[args.large.at | length, ctx.large.at | length, step.s.result | sum]"},
    }
    simulation = Simulation(book, tools=tools)
    shelf = simulation.shelf = Counting()
    found = [{"n": number, "pad": "x" * 1_000} for number in range(rows)]
    simulation.start({"rows": found, "table": {"at": ["y" * 70_000]}})
    simulation.run()
    assert simulation.output == [1, 1, sum(range(rows))], simulation.status()
    return max(shelf.wholes.values()), shelf.parts


def test_how_often_a_large_workload_is_read_does_not_depend_on_the_runs_that_see_it() -> None:
    few, few_parts = reads(200)
    many, many_parts = reads(600)
    assert few == many
    assert many_parts - few_parts == 400  # each row is read once
