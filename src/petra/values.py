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

INDEX_DIGITS: Final = 15
_WEIGHED: Final = 64
"""Items of a list, or of an object, that are weighed for all of them; deeper down a quarter of that, and so on."""

_WIDE: Final = 10_000
"""Keys of an object that are sorted here: the encoder takes twenty times as long, and lets no other thread run meanwhile."""

_AT_ONCE: Final = 1_000
"""Keys of such an object that are encoded together."""

_encoder = msgspec.json.Encoder(order="deterministic")


def canonical(value: object) -> bytes:
    """Encode a JSON value so that equal values give equal bytes.

    Raises:
        ValueError: the value holds a NaN or an infinity, which JSON cannot say.
    """
    if _is_wide(value):
        return b"".join(_pieces(value))
    return _encoder.encode(value)


def _pieces(value: object) -> Iterator[bytes]:
    """Encode a value that has an object with very many keys somewhere."""
    if not _is_wide(value):
        yield _encoder.encode(value)
    elif isinstance(value, dict):
        keys, before = iter(sorted(value)), b"{"  # in the order of their bytes
        while some := list(islice(keys, _AT_ONCE)):
            yield before + b",".join(_members({key: value[key] for key in some}))
            before = b","
        yield b"}"
    elif isinstance(value, list | tuple):
        yield b"[" + b",".join(b"".join(_pieces(item)) for item in value) + b"]"


def _members(some: dict[str, Any]) -> Iterator[bytes]:
    """Encode some members of an object, which come in order."""
    if not _is_wide(some):
        yield _encoder.encode(some)[1:-1]
        return
    for key, item in some.items():
        yield _encoder.encode(key) + b":" + b"".join(_pieces(item))


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


def _is_wide(value: object) -> bool:
    """Tell whether there is an object with very many keys in a value; what is no JSON value is refused."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a JSON value")
    elif isinstance(value, dict):
        wide = len(value) > _WIDE
        for item in value.values():
            if _is_wide(item):
                wide = True
        return wide
    elif isinstance(value, list | tuple):
        wide = False
        for item in value:
            if _is_wide(item):
                wide = True
        return wide
    return False


def index_in(length: int, part: str) -> int | None:
    """Return the place in a list of that length that a part of a path names; None where it names none.

    Other scripts have digits, too, which ``int`` does not read; and of very many digits it reads none at all.
    """
    if not (part.isascii() and part.isdigit() and len(part) <= INDEX_DIGITS):
        return None
    index = int(part)
    return index if index < length else None
