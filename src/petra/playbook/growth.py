"""How much a document grows when short forms are written out: the budget of S1 counts that too.

A step's ``input`` is copied to each of its tasks, a ``set`` to each rule, and a workbook task to each call; an arc that
sets something and a ``bind`` ahead of a loop become steps.
"""

from __future__ import annotations

from petra.playbook import walk
from petra.playbook.tree import AnyMap, Tree, as_map, as_seq

_STEP = 20
"""About so many nodes are a step that a rewrite adds."""


def growth(document: AnyMap) -> int:
    """Return about how many nodes writing out the short forms would add."""
    book = {name: _size(task) for name, task in _workbook(document)}
    added = 0
    for step in walk.steps(document):
        tasks = list(walk.tasks(step))
        added += (_size(step.get("input")) + _size(step.get("args"))) * len(tasks)
        added += _size(step.get("set")) * (1 + max((_rules(task) for task in tasks), default=0))
        for task in tasks:
            added += _size(task.get("set")) * (1 + _rules(task))
            if task.get("kind") == "workbook":
                called = task.get("task", task.get("name"))
                added += book.get(called, 0) if isinstance(called, str) else 0
        added += sum(_STEP + _size(arc["set"]) for arc in walk.arcs(step) if "set" in arc)
        added += _STEP * len(as_map(step.get("bind")) or ())
    return added


def _workbook(document: AnyMap) -> list[tuple[str, Tree]]:
    book = document.get("workbook")
    named = as_map(book)
    if named is not None and set(named) == {"tasks"}:
        named = as_map(named["tasks"])
    listed = [
        (str(task.get("name")), task) for item in as_seq(book) or () if (task := as_map(item))
    ]
    return [*(named or {}).items(), *listed]


def _rules(task: AnyMap) -> int:
    return sum(1 for _ in walk.rules(task))


def _size(node: Tree) -> int:
    """Count the nodes below a node; a scalar copied is nothing new."""
    if (entries := as_map(node)) is not None:
        return len(entries) + sum(_size(value) for value in entries.values())
    if (items := as_seq(node)) is not None:
        return len(items) + sum(_size(value) for value in items)
    return 0
