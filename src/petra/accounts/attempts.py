"""Attempts to log in: so many per account and per address, then nobody is let try for a while.

Rule 1: an attempt counts before the password is looked at: a thousand at once are as few as one after the other.
Rule 2: what is remembered is bounded, whoever asks for how many names.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final

from petra.clock import Clock
from petra.errors import PetraError

WINDOW_S: Final = 300.0
PER_ACCOUNT: Final = 10
PER_ADDRESS: Final = 50
REMEMBERED_MAX: Final = 20_000


class TooManyError(PetraError):
    """There were too many attempts; ``wait_s`` says how long to wait."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"too many attempts to log in; try again in {wait_s:.0f} s")
        self.wait_s = wait_s


class Attempts:
    """Counts attempts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def count(self, account: str, address: str) -> None:
        """Count an attempt.

        Raises:
            TooManyError: there were too many, and this one is none.
        """
        keys = (("account", account), PER_ACCOUNT), (("address", address), PER_ADDRESS)
        now = self._clock.monotonic()
        for key, most in keys:
            times = self._recent(key, now)
            if len(times) >= most:
                raise TooManyError(times[0] + WINDOW_S - now)
        for key, _ in keys:
            self._recent(key, now).append(now)
            self._seen.move_to_end(key)
        while len(self._seen) > REMEMBERED_MAX:
            self._seen.popitem(last=False)

    def count_address(self, address: str) -> None:
        """Count somebody from an address who says no name yet.

        Raises:
            TooManyError: there were too many.
        """
        now = self._clock.monotonic()
        times = self._recent(("elsewhere", address), now)
        if len(times) >= PER_ADDRESS:
            raise TooManyError(times[0] + WINDOW_S - now)
        times.append(now)
        while len(self._seen) > REMEMBERED_MAX:
            self._seen.popitem(last=False)

    def succeeded(self, account: str) -> None:
        """Forget the attempts on an account: its user is in."""
        self._seen.pop(("account", account), None)

    def _recent(self, key: tuple[str, str], now: float) -> deque[float]:
        times = self._seen.setdefault(key, deque())
        while times and times[0] <= now - WINDOW_S:
            times.popleft()
        return times
