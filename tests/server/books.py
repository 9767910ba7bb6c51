"""Playbooks that the tests of the server start."""

from __future__ import annotations

HEAD = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: {name}}}\n"


def book(workflow: str, name: str = "served") -> str:
    return HEAD.format(name=name) + "workflow:\n" + workflow


ADDS = book(
    "  - {step: one, tool: {kind: python, code: 'result = workload[\"n\"] + 1'}, next: {arcs: [{step: two}]}}\n"
    "  - {step: two, tool: {kind: python, args: {n: '{{ one }}'}, code: 'result = n * 2'}}\n",
    name="adds",
).replace("workflow:", "workload: {n: 1}\nworkflow:", 1)
WAITS = book("  - {step: go, tool: {kind: wait, signal: go}}\n", name="waits")
WAITS_TWICE = book(
    "  - {step: go, tool: {kind: wait, signal: go}, next: {arcs: [{step: end}]}}\n"
    "  - {step: end, tool: {kind: wait, signal: end}}\n",
    name="waits_twice",
)
ASKS = book(
    "  - step: approve\n"
    "    tool: {kind: human, title: 'Pay?', assignees: {roles: [finance]}, actions: [approve, reject]}\n",
    name="asks",
)
