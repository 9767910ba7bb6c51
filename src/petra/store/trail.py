"""The trail of an act: its entry of the audit, on its way into the transaction that makes the act durable.

Rule 1: the first thing that an act makes durable takes the entry along, so that neither is there without the other.
Rule 2: what was noted that way is not noted again; what made nothing durable is noted by whoever answers.
Rule 3: an act that no store makes durable (a file that is written) is noted twice: as ``begun`` before, and after.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from petra.store.rows import AuditNote

T = TypeVar("T")
BEGUN = "begun"
"""The outcome in an entry that was written before its act."""
_UNDER_WAY: ContextVar[Trail | None] = ContextVar("petra.act", default=None)


class Trail:
    """What will be noted of an act that is under way."""

    def __init__(
        self, make: Callable[[str], AuditNote | None], write: Callable[[AuditNote], Awaitable[None]]
    ) -> None:
        """Make one; ``make`` gives the entry of an outcome, None where nobody is to be noted (yet)."""
        self._make = make
        self._write = write
        self._intended = False
        self.written = False

    def entry(self) -> AuditNote | None:
        """Return the entry that is still to be written, if there is one."""
        return None if self.written else self._make("done")

    async def intend(self) -> None:
        """Note that it is about to be done, durably."""
        note = None if self.written or self._intended else self._make(BEGUN)
        if note is not None:
            self._intended = True
            await self._write(note)


def under_way() -> Trail | None:
    """Return the trail of the act that this is a part of."""
    return _UNDER_WAY.get()


@contextmanager
def acting(trail: Trail) -> Iterator[Trail]:
    """Have what is done within noted by a trail."""
    token = _UNDER_WAY.set(trail)
    try:
        yield trail
    finally:
        trail.written = True  # nothing that comes later is a part of it
        _UNDER_WAY.reset(token)


async def noted(work: Callable[[AuditNote | None], Awaitable[T]]) -> T:
    """Do something durable with the entry of the act that it is a part of; what gives nothing back wrote no entry."""
    trail = under_way()
    note = trail.entry() if trail is not None else None
    done = await work(note)
    if trail is not None and note is not None and done:
        trail.written = True
    return done
