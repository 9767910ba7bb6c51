"""Meters: what an engine did so far, in numbers that only grow, and how long it took; for whoever watches it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final

from petra.store import rows

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
COUNTED: Final = frozenset({
    "execution.started", "execution.forked", "execution.ended", "step.started", "step.done", "step.failed", "loop.done",
    "run.redelivered", "incident.raised", "execution.stuck",
})  # fmt: skip
"""Types of records that are counted."""


class Histogram:
    """How often something was at most so much: a number per bound, and one for what is beyond all of them."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Meters:
    """What an engine counts."""

    def __init__(self) -> None:
        self.decide_s = Histogram()
        self.commit_s = Histogram()
        self.batch_changes = Histogram(SIZES)
        self.records = 0
        self._types: Counter[str] = Counter()

    def committed(self, batch: rows.Batch, seconds: float) -> None:
        """Count a batch that is durable."""
        self.commit_s.observe(seconds)
        self.batch_changes.observe(len(batch.changes))
        written = [record.type for change in batch.changes for record in change.records]
        self.records += len(written)
        self._types.update(written)

    @property
    def by_type(self) -> dict[str, int]:
        """How many records of each type that is counted were written."""
        return {name: count for name, count in self._types.items() if name in COUNTED}
