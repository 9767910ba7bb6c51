"""Attempts to log in: so many per account and per address, then nobody is let try for a while.

Rule 1: an attempt counts before the password is looked at: a thousand at once are as few as one after the other.
Rule 2: what is remembered is bounded, whoever asks for how many names; and of what is refused nothing is.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict, deque
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias

from petra.clock import Clock
from petra.errors import PetraError

WINDOW_S: Final = 300.0
PER_ACCOUNT: Final = 10
PER_ADDRESS: Final = 50
REMEMBERED_MAX: Final = 20_000
NAME_MAX: Final = 100
IPV6_BITS: Final = 64
"""So much of an address of IPv6 says whose it is."""
_Key: TypeAlias = tuple[str, str]


class TooManyError(PetraError):
    """There were too many attempts; ``wait_s`` says how long to wait."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"too many attempts to log in; try again in {wait_s:.0f} s")
        self.wait_s = wait_s


class Attempts:
    """Counts attempts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: OrderedDict[_Key, deque[float]] = OrderedDict()

    def count(self, account: str, address: str) -> None:
        """Count an attempt.

        Raises:
            TooManyError: there were too many, and this one is none.
        """
        self._count((_account(account), PER_ACCOUNT), (_address("address", address), PER_ADDRESS))

    def count_address(self, address: str) -> None:
        """Count somebody from an address who says no name yet.

        Raises:
            TooManyError: there were too many.
        """
        self._count((_address("elsewhere", address), PER_ADDRESS))

    def succeeded(self, account: str) -> None:
        """Forget the attempts on an account: its user is in."""
        self._seen.pop(_account(account), None)

    def _count(self, *bounds: tuple[_Key, int]) -> None:
        now = self._clock.monotonic()
        for key, most in bounds:
            times = self._recent(key, now)
            if len(times) >= most:
                raise TooManyError(times[0] + WINDOW_S - now)
        # what is refused has left nothing behind: it would push out what counts
        for key, _ in bounds:
            self._seen.setdefault(key, deque()).append(now)
            self._seen.move_to_end(key)
        while len(self._seen) > REMEMBERED_MAX:
            self._seen.popitem(last=False)

    def _recent(self, key: _Key, now: float) -> Sequence[float]:
        times = self._seen.get(key)
        while times and times[0] <= now - WINDOW_S:
            times.popleft()
        return times or ()


def _account(name: str) -> _Key:
    """Return under what an account is counted: of a name that is none it is enough to know how it begins."""
    return "account", name[:NAME_MAX]


def _address(what: str, address: str) -> _Key:
    """Return under what an address is counted: of IPv6 the network, for anybody has all of one."""
    with contextlib.suppress(ValueError):
        known = ip_address(address.partition("%")[0])
        if isinstance(known, IPv6Address):
            mapped = known.ipv4_mapped
            address = str(mapped or ip_network((known, IPV6_BITS), strict=False))
    return what, address
