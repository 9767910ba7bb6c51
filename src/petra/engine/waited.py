"""What is in the way of something that is tried twice a second: said when it begins, when it changes, now and then, and when it is over."""

from __future__ import annotations

import logging

from petra.clock import Clock
from petra.engine.limits import AGAIN_S

_log = logging.getLogger(__name__)


class WaitedFor:
    """Words about what is in the way of one thing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._what: object = None
        self._said = 0.0

    def tell(self, what: object, words: str) -> None:
        """Say what is in the way, unless it was said a moment ago that such a thing is."""
        now = self._clock.monotonic()
        if what != self._what or now - self._said >= AGAIN_S:
            self._what, self._said = what, now
            _log.warning("%s", words)

    def over(self) -> None:
        """Say that nothing is in the way any more, if something was."""
        if self._what is not None:
            self._what = None
            _log.warning("that is over, and all goes on")
