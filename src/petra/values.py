"""JSON values and their one canonical encoding.

Two values are the same value exactly when ``canonical`` gives the same bytes: keys sorted, no white
space, shortest float that reads back. Hashes everywhere in Petra are taken over these bytes, so they
depend neither on the order of a dict nor on ``PYTHONHASHSEED``.
"""

from __future__ import annotations

import hashlib
import math
from typing import TypeAlias

import msgspec

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_encoder = msgspec.json.Encoder(order="deterministic")


def canonical(value: object) -> bytes:
    """Encode a JSON value so that equal values give equal bytes.

    Raises:
        ValueError: the value holds a NaN or an infinity, which JSON cannot say.
    """
    _refuse_non_finite(value)
    return _encoder.encode(value)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical encoding, as hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _refuse_non_finite(value: object) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a JSON value")
    elif isinstance(value, dict):
        for item in value.values():
            _refuse_non_finite(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_non_finite(item)
