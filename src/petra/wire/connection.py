"""How a connection between server and worker ends, on every transport."""

from __future__ import annotations

from petra.errors import PetraError


class LostError(PetraError):
    """The connection is gone; another may be had."""


class NonsenseError(LostError):
    """The other end says what is no frame; nothing after it can be trusted."""
