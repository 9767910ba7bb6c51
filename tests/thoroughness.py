"""How much a test tries: all of it in ``make test``, a tenth in ``make check``."""

from __future__ import annotations

import os

QUICK = os.environ.get("PETRA_QUICK") == "1"
FEWEST = 5


def few(count: int) -> int:
    """Return how many of ``count`` examples, seeds or paths a run tries."""
    return max(min(count, FEWEST), count // 10) if QUICK else count
