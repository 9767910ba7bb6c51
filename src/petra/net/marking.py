"""Markings: which tokens each place holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from petra.values import Json


@dataclass(frozen=True, slots=True)
class Token:
    """A token: who made it, what it carries, and since when it is there."""

    id: str
    payload: bytes = b"null"
    born: int = 0

    @property
    def data(self) -> Json:
        """The value the token carries: a fresh copy, so nobody can change what a token holds."""
        decoded: Json = msgspec.json.decode(self.payload)
        return decoded
