"""What workers last said about tasks that they try again. It was true when they said it, and no decision depends on it."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from petra.clock import Clock
from petra.engine.limits import RETRIES_KEPT_MAX
from petra.wire.frames import Retrying


class LastRetry(NamedTuple):
    """Which try of a run failed last, of how many, and when the next one comes or came; and all of it in words."""

    words: str
    failed: int
    of: int | None
    next_at: float


class Retries:
    """The last retry of each run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: OrderedDict[tuple[str, str], tuple[Retrying, float]] = OrderedDict()

    def take(self, notice: Retrying) -> None:
        """Remember that a worker will try again."""
        key = (notice.execution, notice.run)
        self._last[key] = notice, self._clock.now()
        self._last.move_to_end(key)
        while len(self._last) > RETRIES_KEPT_MAX:
            self._last.popitem(last=False)

    def last(self, execution: str, run: str) -> LastRetry | None:
        """Return what was said last of a run; nothing of one that had no retry."""
        retrying = self._last.get((execution, run))
        if retrying is None:
            return None
        notice, at = retrying
        attempt, error = notice.attempt, notice.attempt.error
        of = f" of {notice.of}" if notice.of else ""
        why = f" ({error.kind}: {error.message})" if error is not None else ""
        now = self._clock.now()
        wait = at + (attempt.delay_s or 0.0) - now
        then = f"comes in {wait:.1f} s" if wait > 0 else f"came {-wait:.0f} s ago"
        words = (
            f"Try {attempt.number}{of} of task '{attempt.task}' failed{why}; the next one {then}."
        )
        return LastRetry(words, attempt.number, notice.of, now + wait)
