"""What every transport between server and worker has in common: how frames go together, what is skipped, and how a connection ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from petra.errors import PetraError
from petra.wire.frames import AnyFrame, Unknown

UNKNOWN_MAX: Final = 1_000
"""So many frames of kinds that this version does not know may come beyond the known ones beside them."""
UNKNOWN_BYTES: Final = 65_536
"""A longer one counts for as many as it has so many bytes."""
NAMES_TOLD: Final = 8


class Sends(Protocol):
    """One end of a connection, as far as it sends."""

    def send(self, frame: AnyFrame) -> None:
        """Send a frame, in order, without waiting."""


def send_together(link: Sends, frames: Sequence[AnyFrame]) -> None:
    """Send frames that follow each other: in one go, where a transport can do that."""
    at_once = getattr(link, "send_together", None)
    if at_once is not None:
        at_once(frames)
    else:
        for frame in frames:
            link.send(frame)


class LostError(PetraError):
    """The connection is gone; another may be had."""


class NonsenseError(LostError):
    """The other end says what is no frame; nothing after it can be trusted."""


class Skipped:
    """The unknown frames of one connection: a neighbouring version may say some, and nobody says them without end.

    Each known frame makes room for another one.
    """

    def __init__(self) -> None:
        self.total = 0
        self._weight = 0
        self._names: set[str] = set()

    def known(self) -> None:
        """A frame came that is known."""
        if self._weight:
            self._weight -= 1

    def take(self, frame: Unknown) -> bool:
        """Count one; tell whether it is the first of its name, which is worth a line of log.

        Raises:
            NonsenseError: there are too many, or they are too long.
        """
        self.total += 1
        self._weight += 1 + frame.size // UNKNOWN_BYTES
        if self._weight > UNKNOWN_MAX:
            raise NonsenseError(f"{self.total:,} unknown frames, '{frame}' the last of them")
        first = frame.name not in self._names and len(self._names) < NAMES_TOLD
        if first:
            self._names.add(frame.name)
        return first
