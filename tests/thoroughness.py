"""How much a test tries: all of it in ``make test``, a tenth in ``make check``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

FROM = int(os.environ.get("PETRA_FROM", "0"))
"""The first seed of a soak: so that it can be run in parts, and another time with other seeds."""
QUICK = os.environ.get("PETRA_QUICK") == "1"
FEWEST = 5
_T = TypeVar("_T")


def seeds(count: int, shard: int, shards: int) -> range:
    """Return the seeds of one of several shards, all of them together ``count`` from ``FROM`` on."""
    return range(FROM + shard, FROM + count, shards)


def few(count: int) -> int:
    """Return how many of ``count`` examples, seeds or paths a run tries."""
    return max(min(count, FEWEST), count // 10) if QUICK else count


def some(corpus: Sequence[_T]) -> Sequence[_T]:
    """Return the files of a corpus that a run reads: all, or every third."""
    return corpus[::3] if QUICK else corpus
