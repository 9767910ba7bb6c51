"""What runs while processes are killed: a bit of everything, with a result that is known."""

from __future__ import annotations

from pathlib import Path

from engine_support import playbook

from petra.store.base import Store
from petra.store.postgres import PostgresStore
from petra.store.sqlite import SqliteStore

EXECUTIONS = 2

_CODE = (
    "import os, time\\n"
    "with open(ledger, 'a') as file:\\n"
    "    file.write(f'{run} {step}\\\\n')\\n"
    "%sresult = step"
)
_AFTER_FIRST = "while f'{run} first' not in open(ledger).read(): time.sleep(0.005)\\n"


def _task(step: str, waits: str = "", more: str = "") -> str:
    args = '{ledger: "{{ workload.ledger }}", run: "{{ execution.id }}", step: ' + step + "}"
    return f'{{kind: python, args: {args}, code: "{_CODE % waits}"{more}}}'


_SUM = ", spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {sum: '{{ iter.n }}'}}}}]}}"

PARENT = playbook(
    f"""
  - step: one
    tool: {_task("one")}
    next: {{spec: {{mode: inclusive}}, arcs: [{{step: fast}}, {{step: slow}}]}}
  - step: fast
    tool: {_task("fast")}
    next: {{arcs: [{{step: first}}]}}
  - step: slow
    tool: {_task("slow", _AFTER_FIRST)}
    next: {{arcs: [{{step: first}}]}}
  - step: first
    spec: {{join: {{of: one, mode: any, on_early_complete: cancel}}}}
    tool: {_task("first")}
    next: {{arcs: [{{step: nap}}]}}
  - step: nap
    tool: {{kind: wait, for_s: 0.05}}
    next: {{arcs: [{{step: add}}]}}
  - step: add
    loop: {{in: [1, 2, 3, 4, 5], iterator: n, spec: {{mode: parallel, max_in_flight: 3}}}}
    tool: {_task("add", "", _SUM)}
    next: {{arcs: [{{step: call}}]}}
  - step: call
    tool: {{kind: playbook, path: crash-child}}
""",
    name="crash-parent",
    executor="{spec: {ctx: {sum: {reduce: sum}}, output: '{{ ctx.sum }}'}}",
)
CHILD = playbook(
    "  - step: work\n    tool: {kind: python, code: 'result = 1'}\n", name="crash-child"
)


async def open_store(kind: str, address: str) -> Store:
    """Open the store that a test is about."""
    if kind == "postgres":
        return await PostgresStore.open(address)
    return await SqliteStore.open(Path(address))
