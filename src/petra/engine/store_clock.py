"""The time of the store: engines that share one go by its clock, whatever their own machines believe.

Rule 1: timers, and the times in records, follow the store's clock; between two looks at it, seconds are counted by our own.
Rule 2: a small difference stays as it is: how long asking took is not known any better.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from petra.clock import Clock
from petra.engine.limits import CLOCK_SLACK_S
from petra.store.base import Store

_log = logging.getLogger(__name__)


class StoreClock:
    """A clock that shows the time of a store, once it has asked for it."""

    def __init__(self, inner: Clock, store: Store) -> None:
        self._inner = inner
        self._store = store
        self._base: float | None = None
        self.monotonic: Callable[[], float] = inner.monotonic
        self.sleep, self.call_later = inner.sleep, inner.call_later

    def now(self) -> float:
        """Return the seconds since 1970, as the store counts them."""
        return self._inner.now() if self._base is None else self._base + self.monotonic()

    async def set_right(self) -> None:
        """Ask the store for its time, and go by that.

        Raises:
            UnavailableError: it cannot be asked.
        """
        began = self.monotonic()
        there = await self._store.now()
        took = self.monotonic() - began
        if self._base is not None and took > CLOCK_SLACK_S:
            return  # anything may have happened meanwhile
        wrong = self.now() - there
        if self._base is None or abs(wrong) > CLOCK_SLACK_S:
            self._base = there - self.monotonic()  # rather late by the way here than ahead
            if abs(wrong) > CLOCK_SLACK_S:
                _log.warning("the clock here is %.1f s off the store's, which counts", wrong)


def by_store(clock: Clock, store: Store, *, shared: bool) -> Clock:
    """Return the clock of an engine: that of the store, if others share it."""
    return StoreClock(clock, store) if shared and not isinstance(clock, StoreClock) else clock
