"""Exploring: whether what comes of a case depends on the order of things (S17, S21).

A case runs under several seeds and every selection strategy. Its outcome is the status, the output, ctx and
the multiset of done steps; the expectations of the case play no part. The first run is the case as written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from petra.testing.runner import CaseResult, done_steps, run_case
from petra.testing.story import value
from petra.testing.suite import Case
from petra.values import canonical

STRATEGIES = ("fifo", "priority", "name", "hash", "random")


@dataclass(frozen=True, slots=True)
class Order:
    """What decides the order of firings."""

    selection: str
    seed: int

    def __str__(self) -> str:
        return f"{self.selection}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Two orders under which a case comes to different outcomes, and where these differ."""

    first: Order
    second: Order
    parts: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        lines = ["the outcome depends on the order of firings"]
        for what, one, other in self.parts:
            lines += [f"{what}:"]
            lines += [f"  with {self.first}: {one}", f"  with {self.second}: {other}"]
        return "\n".join(lines)


def explore(case: Case, seeds: int) -> Difference | None:
    """Run a case under ``seeds`` seeds and all strategies; return the first difference found."""
    first = run_case(case)
    expected = outcome_of(first)
    own = Order(case.playbook.checked().executor.spec.selection, case.seed)
    for order in orders(case.seed, seeds):
        if order == own:
            continue
        got = outcome_of(run_case(case, seed=order.seed, selection=order.selection))
        parts = tuple(_differing(expected, got))
        if parts:
            return Difference(own, order, parts)
    return None


def orders(seed: int, seeds: int) -> Iterator[Order]:
    """Yield every order that is tried, strategies first, seeds counting up from the case's own."""
    for number in range(seed, seed + seeds):
        for selection in STRATEGIES:
            yield Order(selection, number)


def outcome_of(result: CaseResult) -> dict[str, Any]:
    """Return what must not depend on the order."""
    if result.result == "error" or result.simulation is None:
        return {"error": result.message}
    root = result.simulation.root
    status, reason = result.simulation.status()
    return {
        "status": status,
        "waiting_on": reason,
        "output": result.simulation.output,
        **{f"ctx.{key}": value for key, value in sorted(result.simulation.ctx.items())},
        "done": dict(sorted(Counter(done_steps(root)).items())),
    }


def _differing(one: dict[str, Any], other: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    if "error" in one or "error" in other:
        if one != other:
            left, right = (
                str(outcome.get("error") or outcome["status"]) for outcome in (one, other)
            )
            yield "outcome", left, right
        return
    for what in dict.fromkeys([*one, *other]):
        shown = [
            value(outcome[what], 300) if what in outcome else "absent" for outcome in (one, other)
        ]
        if what not in one or what not in other or canonical(one[what]) != canonical(other[what]):
            yield what, shown[0], shown[1]
