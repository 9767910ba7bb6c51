"""Decoders of JSON, made one at a time.

msgspec notes on a class what it knows of it while it is still finding that out. Of two threads that begin at once with types
that share a class, one would take the half of it, and the process would end with a fault of memory at the first value.
"""

from __future__ import annotations

import threading
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")
_MAKING: Final = threading.Lock()


def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return what reads values of a type: for decoders that are made when they are first needed, in whichever thread."""
    with _MAKING:
        return msgspec.json.Decoder(kind)
