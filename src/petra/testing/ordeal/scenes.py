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

from petra.kernel import State
from petra.playbook import Playbook, read
from petra.testing.generate import random_path
from petra.testing.structured import structured

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
workflow:
  - step: one
    tool: &count
      kind: python
      code: x
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
_CHILD = """
workflow:
  - step: first
    tool: {kind: python, code: x}
    next: {arcs: [{step: nap}]}
  - step: nap
    tool: {kind: wait, for_s: 1}
"""
_ANSWERS: dict[str, Callable[[State], bool]] = {
    "sum": lambda state: state.ctx.get("sum") == 2 * 28,
    "count": lambda state: state.ctx.get("n") == 9,
    "gather": lambda state: state.ctx.get("got") == [6, 2, 4],
    "family": lambda state: state.counts.get("done") == 2,
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A playbook, how its tools behave, and what must come of it."""

    name: str
    playbook: Playbook
    steady: bool
    expects: Callable[[State], str] | None = None


def choose(chance: Random) -> Scene:
    """Draw a scene."""
    drawn = chance.random()
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

    def expects(state: State) -> str:
        if not _ANSWERS[name](state):
            return f"it ended with ctx {json.dumps(state.ctx)} and counts {state.counts}"
        return _completes(state)

    return Scene(name, _read(f"ordeal-{name}", _KNOWING[name]), steady=True, expects=expects)


@lru_cache
def children() -> tuple[Playbook, ...]:
    """Return the playbooks that others call."""
    return (_read("ordeal-child", _CHILD), random_path(0).child)


def _completes(state: State) -> str:
    return "" if state.terminal == "completed" else f"it ended {state.terminal}: {state.error}"


def _read(name: str, text: str) -> Playbook:
    return read(f"{HEAD}metadata: {{name: {name}}}{text}", name).checked()
