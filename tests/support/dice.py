"""Chance that is the same on every machine: numbers from a seed."""

from __future__ import annotations

from hashlib import sha256
from typing import TypeVar

_T = TypeVar("_T")


class Dice:
    """Numbers from a seed by SHA-256: no module of chance, no state outside."""

    def __init__(self, seed: int, purpose: str) -> None:
        self.seed = f"{seed}/{purpose}"
        self.thrown = 0

    def below(self, limit: int) -> int:
        """Return the next number from 0 up to the limit."""
        self.thrown += 1
        found = sha256(f"{self.seed}/{self.thrown}".encode()).digest()
        return int.from_bytes(found[:8]) % limit

    def pick(self, items: list[_T]) -> _T:
        """Return one of the items."""
        return items[self.below(len(items))]
