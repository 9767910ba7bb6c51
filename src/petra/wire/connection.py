"""What every transport between server and worker has in common: how frames go together, and how a connection ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from petra.errors import PetraError
from petra.wire.frames import AnyFrame


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
