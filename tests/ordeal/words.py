"""What callers put into names, reasons and values: plain, odd or large, as the plan of an ordeal wants it."""

from __future__ import annotations

from random import Random  # noqa: TID251 - seeded, and only in tests
from typing import Any

from ordeal import oddities
from ordeal.plan import Plan
from petra.engine.limits import CALLER_NAME_MAX

MEDIUM = 5_000
"""Bytes of a workload or a ctx that goes to a worker by itself, and stands in the log all the same."""


class Words:
    """The words of one client. Their chance is their own: plain words draw nothing."""

    def __init__(self, plan: Plan, chance: Random) -> None:
        self._plan = plan
        self._chance = chance

    def execution(self, number: int) -> str:
        """Return the id of an execution."""
        return oddities.execution(number, self._chance) if self._plan.odd else f"execution-{number}"

    def mark(self, plain: str, *, fit: bool) -> str:
        """Return something that is found again in the log; unless it must be fit, nobody may be able to take it."""
        if not self._plan.odd:
            return plain
        if not fit and self._chance.random() < 0.2:
            self._plan.counts["unfit words"] += 1
            return plain + oddities.unfit(self._chance)
        self._plan.counts["odd words"] += 1
        return (plain + oddities.name(self._chance))[:CALLER_NAME_MAX]

    def data(self) -> dict[str, Any]:
        """Return what is given beside a mark."""
        plan, made = self._plan, dict[str, Any]()
        if plan.odd:
            made["said"] = oddities.value(self._chance)
        if plan.large and self._chance.random() < 0.5:
            plan.counts["large inputs"] += 1
            made["pad"] = "x" * self._chance.choice((MEDIUM, plan.large))
        return made
