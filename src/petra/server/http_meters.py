"""What the gate counts of requests."""

from __future__ import annotations

from collections import Counter
from typing import Final

from petra.engine.meters import Histogram

METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


class HttpMeters:
    """What the gate counts of requests."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str]] = Counter()
        self.seconds = Histogram()

    def answered(self, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        kind = f"{status // 100}xx" if 100 <= status < 600 else "none"
        self.requests[method if method in METHODS else "other", kind] += 1
        self.seconds.observe(seconds)
