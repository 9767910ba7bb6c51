"""How much work something is: counted, not timed, so that a busy machine changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class TooMuchWorkError(BaseException):
    """Something was broken off because it took too many calls; whoever handles errors does not handle this."""


def counted(do: Callable[[], T], most: int | None = None) -> tuple[T, int]:
    """Do something; return what it came to, and how many functions were called and left on the way.

    Raises:
        TooMuchWorkError: there were more than ``most`` of them, so that what does not end is no hang.
    """
    count = 0

    def note(_frame: object, _event: str, _what: Any) -> None:
        nonlocal count
        count += 1
        if most is not None and count > most:
            raise TooMuchWorkError(f"more than {most:,} calls")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        found = do()
    finally:
        sys.setprofile(before)
    return found, count
