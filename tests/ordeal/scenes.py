"""What is run in an ordeal: random playbooks of every construct, sound ones, and ones that know their own answer.

A *sound* one must complete whatever happens; one that *knows* must also end with a certain ctx, so that a lost or
a doubled write shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random  # noqa: TID251 - seeded, and only in tests
from typing import Any

from support.generate import random_path
from support.structured import structured

from petra.kernel import State
from petra.playbook import Playbook, read

HEAD = "apiVersion: petra/v1\nkind: Playbook\n"
WILD, SOUND = 48, 24
"""How many different playbooks of each sort there are."""

_KNOWING = {
    "sum": """
executor: {spec: {ctx: {sum: {reduce: sum}}}}
workload: {items: [1, 2, 3, 4, 5, 6, 7]}
workflow:
  - step: add
    loop: {in: "{{ workload.items }}", iterator: n, spec: {mode: parallel, max_in_flight: 3}}
    tool: &add
      kind: python
      code: x
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {sum: "{{ iter.n }}"}}}}]}}
    next: {arcs: [{step: again}]}
  - step: again
    loop: {in: "{{ workload.items }}", iterator: n, spec: {mode: sequential}}
    tool: *add
""",
    "count": """
keychain: [{name: key, kind: env, var: PETRA_ORDEAL}]
workflow:
  - step: one
    tool: &count
      kind: python
      code: x
      args: {key: "{{ keychain.key }}"}
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ (ctx.n | default(0)) + 1 }}"}}}}]}}
    next: {arcs: [{step: two}]}
  - step: two
    tool: *count
    next: {arcs: [{step: nap}]}
  - step: nap
    tool: {kind: wait, for_s: 4}
    next: {arcs: [{step: three}]}
  - step: three
    tool: *count
    next: {arcs: [{step: one, when: "{{ ctx.n < 9 }}"}]}
""",
    "gather": """
workload: {items: [3, 1, 2]}
workflow:
  - step: split
    next: {arcs: [{step: work, foreach: "{{ workload.items }}"}]}
  - step: work
    spec: {pool: other}
    tool:
      kind: python
      code: x
      spec: {policy: {rules: [{else: {then: {do: continue, set_branch: "{{ args.item * 2 }}"}}}]}}
    next: {arcs: [{step: gather}]}
  - step: gather
    spec: {join: {of: split, mode: all, merge: {strategy: append, into: got}}}
    tool: {kind: python, code: x}
""",
    "family": """
workflow:
  - step: call
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: {kind: playbook, path: ordeal-child}
    next: {arcs: [{step: after}]}
  - step: after
    tool: {kind: python, code: x}
""",
}
ROWS = 6
"""Rows that a tool with the code ``rows`` gives, numbered from 1; they are as large as the plan says."""
_LARGE = {
    "large-loop": """
executor: {spec: {ctx: {sum: {reduce: sum}}}}
workflow:
  - step: fetch
    tool: {kind: python, code: rows}
    next: {arcs: [{step: each, when: "{{ event.result.rows | length == 6 and fetch.rows[5].n == 6 }}"}]}
  - step: each
    loop: {in: "{{ fetch.rows }}", iterator: row, spec: {mode: parallel, max_in_flight: 3}}
    tool:
      kind: python
      code: rows
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {sum: "{{ iter.row.n }}"}}}}]}}
    next: {arcs: [{step: again, when: "{{ each | length == 6 and each[5].rows[5].n == 6 }}"}]}
  - step: again
    loop: {in: "{{ fetch.rows | default([]) }}", iterator: row, spec: {mode: sequential}}
    tool:
      kind: python
      code: x
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {sum: "{{ iter.row.n }}"}}}}]}}
""",
    "large-ctx": """
executor: {spec: {ctx: {got: {reduce: append}}}}
workflow:
  - step: grow
    loop: {in: [1, 2, 3, 4], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: &grow
      kind: python
      code: rows
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {got: "{{ outcome.result.rows }}"}}}}]}}
    next: {arcs: [{step: more}]}
  - step: more
    tool: *grow
    next: {arcs: [{step: after, when: "{{ ctx.got | length == 5 and ctx.got[4][5].n == 6 }}"}]}
  - step: after
    tool:
      kind: python
      code: x
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: 1}}}}]}}
""",
    "large-branches": """
workflow:
  - step: fetch
    tool: {kind: python, code: rows}
    next: {arcs: [{step: work, foreach: "{{ fetch.rows }}"}]}
  - step: work
    spec: {pool: other}
    tool:
      kind: python
      code: x
      spec: {policy: {rules: [{else: {then: {do: continue, set_branch: "{{ args.item }}"}}}]}}
    next: {arcs: [{step: gather}]}
  - step: gather
    spec: {join: {of: fetch, mode: all, merge: {strategy: append, into: got}}}
    tool: {kind: python, code: x}
""",
    "large-family": """
executor: {spec: {ctx: {sum: {reduce: sum}}}}
workflow:
  - step: call
    tool: {kind: playbook, path: ordeal-large-child}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: "{{ call.rows }}", iterator: row, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      kind: python
      code: x
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {sum: "{{ iter.row.n }}"}}}}]}}
""",
}
_LARGE_CHILD = """
workflow:
  - step: fetch
    tool: {kind: python, code: rows}
"""
_CHILD = """
workflow:
  - step: first
    tool: {kind: python, code: x}
    next: {arcs: [{step: nap}]}
  - step: nap
    tool: {kind: wait, for_s: 1}
"""
_ANSWERS: dict[str, Callable[[State, dict[str, Any]], bool]] = {
    "sum": lambda _, ctx: ctx.get("sum") == 2 * 28,
    "count": lambda _, ctx: ctx.get("n") == 9,
    "gather": lambda _, ctx: ctx.get("got") == [6, 2, 4],
    "family": lambda state, _: state.counts.get("done") == 2,
    "large-loop": lambda _, ctx: ctx.get("sum") == 2 * 21,
    "large-ctx": lambda _, ctx: (
        ctx.get("n") == 1 and _numbers(ctx["got"]) == [list(range(1, 7))] * 5
    ),
    "large-branches": lambda _, ctx: _numbers([ctx.get("got", [])]) == [list(range(1, 7))],
    "large-family": lambda _, ctx: ctx.get("sum") == 21,
}


def _numbers(found: list[list[dict[str, Any]]]) -> list[list[int]]:
    return [[row["n"] for row in rows] for rows in found]


@dataclass(frozen=True, slots=True)
class Scene:
    """A playbook, how its tools behave, and what must come of it."""

    name: str
    playbook: Playbook
    steady: bool
    expects: Callable[[State, dict[str, Any]], str] | None = None


def choose(chance: Random, *, large: bool = False) -> Scene:
    """Draw a scene; where results are large, often one that reads them."""
    drawn = chance.random()
    if large and drawn < 0.5:
        return knowing(chance.choice(sorted(_LARGE)))
    if drawn < 0.4:
        return wild(chance.randrange(WILD))
    if drawn < 0.6:
        return sound(chance.randrange(SOUND))
    return knowing(chance.choice(sorted(_KNOWING)))


@lru_cache
def wild(number: int) -> Scene:
    """Return a random playbook of every construct; nothing is promised about its end."""
    return Scene(f"wild-{number}", random_path(number).playbook, steady=False)


@lru_cache
def sound(number: int) -> Scene:
    """Return a playbook that is sound by construction: with steady tools it completes."""
    text = structured(number, 5).replace('"kind": "noop"', '"kind": "python", "code": "x"')
    playbook = read(text, f"sound-{number}").checked()
    return Scene(f"sound-{number}", playbook, steady=True, expects=_completes)


@lru_cache
def knowing(name: str) -> Scene:
    """Return a playbook whose end is known."""

    def expects(state: State, ctx: dict[str, Any]) -> str:
        if not _ANSWERS[name](state, ctx):
            return f"it ended with ctx {json.dumps(ctx):.2000} and counts {state.counts}"
        return _completes(state, ctx)

    text = (_KNOWING | _LARGE)[name]
    return Scene(name, _read(f"ordeal-{name}", text), steady=True, expects=expects)


@lru_cache
def children() -> tuple[Playbook, ...]:
    """Return the playbooks that others call."""
    large = _read("ordeal-large-child", _LARGE_CHILD)
    return (_read("ordeal-child", _CHILD), random_path(0).child, large)


def _completes(state: State, _ctx: dict[str, Any]) -> str:
    return "" if state.terminal == "completed" else f"it ended {state.terminal}: {state.error}"


def _read(name: str, text: str) -> Playbook:
    return read(f"{HEAD}metadata: {{name: {name}}}{text}", name).checked()
