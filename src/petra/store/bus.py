"""The bus: how engines hint to each other that there is something to look at.

Rule 1: lost, doubled, late, out of order: all of it is normal here. Whoever needs something looks for it by itself now
and then; a hint only makes that sooner. Nothing lies on a bus that nobody else has.
Rule 2: nobody waits for a bus. Telling is done at once, from a bounded buffer; what does not fit is dropped.
Rule 3: a hint is told once what it is about is durable, outside of the transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Heard = Callable[[str], None]


class Bus(Protocol):
    """What carries hints between engines: a word for what it is about, a space, and which."""

    def tell(self, *hints: str) -> None:
        """Tell everybody who hears, soon; the same hint told twice meanwhile is told once."""

    async def hear(self, heard: Heard) -> None:
        """Hear what others tell from now on; calling it again mends a lost connection.

        Raises:
            UnavailableError: it cannot be reached.
        """


class InProcessBus:
    """A bus between engines of one process."""

    def __init__(self) -> None:
        self._hearing: list[Heard] = []

    def tell(self, *hints: str) -> None:
        """Tell everybody who hears."""
        for hint in hints:
            for heard in tuple(self._hearing):
                heard(hint)

    async def hear(self, heard: Heard) -> None:
        """Hear what others tell from now on."""
        if heard not in self._hearing:
            self._hearing.append(heard)
