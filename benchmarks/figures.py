"""From samples to figures: in the unit of their workload, as a median with its range, one side against the other."""

from __future__ import annotations

import statistics
from typing import Any

SIDES = {
    "petra-sqlite": "Petra, SQLite",
    "dbos-sqlite": "DBOS, SQLite",
    "petra-postgres": "Petra, PostgreSQL",
    "dbos-postgres": "DBOS, PostgreSQL",
}
STORES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
TIMES = frozenset({"s", "ms per step"})
"""Units in which less is better."""
Results = dict[str, Any]


def figures(results: Results, side: str, work: dict[str, str]) -> list[float]:
    """Return the samples of a side in the unit of the workload."""
    return [
        convert(sample, work["unit"])
        for sample in results["samples"].get(f"{side} {work['key']}", [])
    ]


def convert(sample: dict[str, Any], unit: str) -> float:
    if unit == "s":
        return float(sample["seconds"])
    if unit == "ms per step":
        return float(sample["seconds"] / sample["units"] * 1000)
    return float(sample["units"] / sample["seconds"])


def ratio(petra: list[float], dbos: list[float], unit: str) -> float | None:
    """Return how many times as fast Petra is; less is faster where the unit is a time."""
    if not petra or not dbos:
        return None
    quick, slow = statistics.median(petra), statistics.median(dbos)
    return slow / quick if unit in TIMES else quick / slow


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(values: list[float], unit: str = "") -> str:
    """Write a median with its range."""
    if not values:
        return "–"
    middle = f"**{number(statistics.median(values))}** {unit}".rstrip()
    return f"{middle} ({number(min(values))} to {number(max(values))})" if values[1:] else middle
