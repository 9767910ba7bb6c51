"""How much work something is: counted, not timed, so that a busy machine changes nothing."""

from __future__ import annotations

import cProfile
import itertools
import signal
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LOOK_S = 0.1
"""Seconds of the processor after which it is looked whether there were too many calls: each look counts as a few of them."""


class TooMuchWorkError(BaseException):
    """Something was broken off because it took too many calls; whoever handles errors does not handle this."""


def counted(do: Callable[[], T], most: int | None = None) -> tuple[T, int]:
    """Do something; return what it came to, and how many functions were called and left on the way.

    Raises:
        TooMuchWorkError: there were more than ``most`` of them, so that what does not end is no hang.
    """
    events = itertools.count()
    # it asks what time it is at every call and at every end of one, and all of it in C
    profile = cProfile.Profile(events.__next__, 1.0)

    def look(*_: object) -> None:
        if most is not None and next(events) > most:
            raise TooMuchWorkError(f"more than {most:,} calls")

    if most is None:
        return profile.runcall(do), next(events)
    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, LOOK_S, LOOK_S)
    try:
        found = profile.runcall(do)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    look()
    return found, next(events)
