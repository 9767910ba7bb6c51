"""Backoff: how long to wait before the next try (S5).

| backoff | seconds before try n + 1 |
|---|---|
| none | delay |
| linear | delay · n |
| exponential | delay · 2^(n − 1) |

With ``delay: retry_after`` the wait is what the other side asked for (the Retry-After of an http answer), neither grown
nor shortened, and capped by ``ASKED_MAX_S`` where no ``max_delay`` is given; who asked for nothing is waited for as if the
delay were absent.

``max_delay`` caps that, and so does ``LONGEST_S``. Jitter then takes away up to that fraction: the wait is
``delay · (1 − jitter · u)`` with ``u`` in [0, 1). It only shortens, so no wait exceeds ``max_delay``, and
tries that have reached the cap still spread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

Backoff: TypeAlias = Literal["none", "linear", "exponential"]
Jitter: TypeAlias = Callable[[], float]
"""A source of numbers in [0, 1)."""

LONGEST_S: Final = 366 * 24 * 3600.0
"""No wait is longer than this many seconds, whatever the policy says."""

ASKED_MAX_S: Final = 3600.0
"""The other side is not waited for longer than this many seconds, unless ``max_delay`` says so."""
RETRY_AFTER: Final = "retry_after"
"""The word for a delay that the other side decides."""

_MOST_DOUBLINGS: Final = 64


class Retry(Struct, frozen=True, kw_only=True):
    """A retry with its numbers rendered; ``attempts`` counts all tries."""

    backoff: Backoff = "none"
    attempts: float = 3
    delay: float = 1.0
    max_delay: float = math.inf
    jitter: float = 0.0
    asked: float | None = None

    def wait_s(self, tries: int, draw: Jitter) -> float:
        """Return the seconds to wait after that many tries."""
        if self.asked is not None:
            most = ASKED_MAX_S if math.isinf(self.max_delay) else self.max_delay
            return min(self.asked, most, LONGEST_S)
        wait = min(self.delay * self._factor(tries), self.max_delay, LONGEST_S)
        return wait * (1.0 - self.jitter * draw()) if self.jitter else wait

    def _factor(self, tries: int) -> float:
        match self.backoff:
            case "none":
                return 1.0
            case "linear":
                return tries
            case "exponential":
                return 2.0 ** min(tries - 1, _MOST_DOUBLINGS)


def asked_for(outcome: Any) -> float | None:
    """Return the seconds that the other side asked for, if it did."""
    value = outcome
    for key in ("error", "details", RETRY_AFTER):
        value = value.get(key) if isinstance(value, Mapping) else None
    number = as_number(value)
    return number if number is not None and number >= 0 else None


def as_number(value: Any) -> float | None:
    """Return a value as a finite number; a text that reads as one is one."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None
