"""Which faults an ordeal has, drawn from its seed.

Each ordeal has some kinds of faults and not others: a fault that always comes with all others would hide what it does
alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random  # noqa: TID251 - seeded, and only in tests

from ordeal.network import Weather
from petra.testing.store_faults import StoreFault


@dataclass(slots=True, kw_only=True)
class Plan:
    """What will go wrong."""

    engines: int
    executions: int
    workers: int
    slots: int
    lease_s: float
    storm_s: float
    weather: Weather
    store_delay_s: float
    unavailable: float = 0.0
    uncertain: float = 0.0
    full: float = 0.0
    engine_kills: int = 0
    engine_closes: int = 0
    worker_kills: int = 0
    freezes: int = 0
    engine_freezes: int = 0
    jumps: int = 0
    commands: int = 0
    doubles: float = 0.0
    large: int = 0
    """Bytes of what some tools and callers give: more than fit into an event. 0: nothing is large."""
    disk_full: float = 0.0
    disk_away: float = 0.0
    odd: bool = False
    """Whether names and values are odd texts, some of which nobody can take in."""
    silences: int = 0
    elsewhere: bool = False
    """Whether workers are elsewhere: they outlive connections and engines, with what they run."""
    entries_most: int = 5_000
    counts: Counter[str] = field(default_factory=Counter)


def draw(chance: Random) -> Plan:
    """Draw a plan."""

    def some(share: float) -> bool:
        return chance.random() < share

    weather = Weather(
        delay_s=chance.choice((0.001, 0.01, 0.2)),
        slow=0.1 if some(0.3) else 0.0,
        repeats=0.1 if some(0.4) else 0.0,
        breaks=0.015 if some(0.4) else 0.0,
        notice_s=chance.choice((0.01, 2.0, 20.0)),
    )
    return Plan(
        engines=chance.choice((1, 1, 1, 1, 2, 3)),
        executions=chance.choice((1, 1, 2, 3)),
        workers=chance.choice((1, 2, 2, 3)),
        slots=chance.choice((1, 2, 8)),
        lease_s=chance.choice((3.0, 6.0, 30.0)),
        storm_s=chance.choice((5.0, 20.0, 60.0)),
        weather=weather,
        store_delay_s=chance.choice((0.0, 0.002, 0.05)),
        unavailable=0.05 if some(0.3) else 0.0,
        uncertain=0.1 if some(0.4) else 0.0,
        full=0.05 if some(0.1) else 0.0,
        engine_kills=chance.choice((1, 2, 3)) if some(0.5) else 0,
        engine_closes=chance.choice((1, 2, 4)) if some(0.4) else 0,
        worker_kills=chance.choice((1, 2)) if some(0.3) else 0,
        freezes=chance.choice((1, 2)) if some(0.3) else 0,
        engine_freezes=1 if some(0.2) else 0,
        jumps=chance.choice((1, 2, 3)) if some(0.3) else 0,
        commands=chance.choice((0, 1, 3, 6)),
        doubles=0.3 if some(0.3) else 0.0,
        entries_most=chance.choice((1, 2, 5_000)),
    )


def beset(plan: Plan, chance: Random) -> Plan:
    """Draw what is hostile: sizes, characters, silent workers. Its chance is its own, so that a plan stays what it was."""
    if chance.random() < 0.25:
        plan.large = chance.choice((70_000, 120_000, 300_000))
        plan.disk_full = chance.choice((0.0, 0.0, 0.1))
        plan.disk_away = chance.choice((0.0, 0.0, 0.1))
    plan.odd = chance.random() < 0.25
    if chance.random() < 0.3:
        plan.silences = chance.choice((1, 2, 4))
    if chance.random() < 0.3:
        plan.weather = replace(plan.weather, halves=0.2)
    plan.elsewhere = chance.random() < 0.4
    return plan


class StoreFaults:
    """Asked by a faulty store before each call: what goes wrong with it."""

    def __init__(self, plan: Plan, chance: Random) -> None:
        self._plan = plan
        self._chance = chance
        self.calm = False

    def __call__(self, method: str, number: int) -> StoreFault | None:  # noqa: ARG002
        """Draw the fault of a call; most are only slow."""
        if self.calm:
            return None
        plan, drawn = self._plan, self._chance.random()
        found: StoreFault | None = StoreFault.DELAY if plan.store_delay_s else None
        if drawn < plan.unavailable:
            found = StoreFault.BEFORE
        elif method == "commit" and drawn < plan.unavailable + plan.uncertain:
            found = StoreFault.AFTER
        elif method == "commit" and drawn < plan.unavailable + plan.uncertain + plan.full:
            found = StoreFault.FULL
        if found is not None and found is not StoreFault.DELAY:
            plan.counts[f"store: {found.name.lower()}"] += 1
        return found
