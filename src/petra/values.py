"""JSON values and their one canonical encoding.

Two values are the same value exactly when ``canonical`` gives the same bytes: keys sorted, no white
space, shortest float that reads back. Hashes everywhere in Petra are taken over these bytes, so they
depend neither on the order of a dict nor on ``PYTHONHASHSEED``.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_WEIGHED: Final = 64
"""Items of a list, or of an object, that are weighed for all of them; deeper down a quarter of that, and so on."""

_encoder = msgspec.json.Encoder(order="deterministic")


def canonical(value: object) -> bytes:
    """Encode a JSON value so that equal values give equal bytes.

    Raises:
        ValueError: the value holds a NaN or an infinity, which JSON cannot say.
    """
    _refuse_non_finite(value)
    return _encoder.encode(value)


def texts_in(value: object) -> Iterator[str]:
    """Yield every string that a JSON value holds; keys are none of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical encoding, as hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def fits(value: object, limit: int) -> bool:
    """Tell whether the JSON of a value has at most so many bytes, about, without looking at all of a large one."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str:
            limit -= len(item) + 2 if item.isascii() else len(item.encode("utf-8", "replace")) + 2
        elif kind is dict:
            limit -= 2 + sum(map(len, item)) + 4 * len(item)
            if limit >= 0:
                stack += item.values()
        elif kind is list:
            limit -= 2 + len(item)
            if limit >= 0:
                stack += item
        else:
            limit -= 4
        if limit < 0:
            return False
    return True


def weight(value: object) -> int:
    """Return how many bytes a value takes in memory, about; of many items a sample is weighed.

    A short row takes some twenty times what its JSON does.
    """
    total = 0.0
    stack: list[tuple[Any, float, int]] = [(value, 1.0, _WEIGHED)]
    while stack:
        item, times, most = stack.pop()
        total += times * sys.getsizeof(item)
        if not isinstance(item, list | dict) or not item:
            continue
        if isinstance(item, dict):
            sample = list(islice(item.values(), most))
        else:
            sample = [item[place] for place in range(0, len(item), -(-len(item) // most))]
        each = times * len(item) / len(sample)
        stack += [(one, each, max(1, most // 4)) for one in sample]
    return round(total)


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
