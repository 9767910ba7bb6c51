"""The rules by which enabled firings are ordered, for nets and for executions alike (S17).

Rule 1: an order is computed from stored data only, and is total.
Rule 2: the name of the run has no part in it, nor has anything derived from it: the same net, the same inputs and
the same arrivals give the same sequence of firings in every run.
Rule 3: ties go by arrival.
"""

from __future__ import annotations

import hashlib
import unicodedata
from itertools import count

from petra.values import canonical

Urgency = tuple[int, bytes]


def name_key(name: str) -> bytes:
    """Return what names are ordered by: never the locale, and one way to write an accent."""
    return unicodedata.normalize("NFC", name).encode()


def urgency(priority: int, name: str) -> Urgency:
    """Return what ``priority`` orders by before arrival: the lower number, then the name."""
    return (priority, name_key(name))


def scatter(seed: int | str, arrival: int, name: str, position: int = 0) -> bytes:
    """Return what ``hash`` orders by: an order that looks arbitrary and is the same everywhere.

    ``arrival`` is when the firing became possible, ``position`` tells apart those that became so together.
    """
    return hashlib.sha256(canonical([seed, arrival, name, position])).digest()


def draw(seed: int | str, k: int, attempt: int, size: int) -> int:
    """Return an index below ``size``, each with the same chance.

    Takes as many bits as the size needs and draws again when they say too much: a remainder
    would favour the first ones.
    """
    bits = (size - 1).bit_length()
    for again in count():
        hashed = hashlib.sha256(canonical([seed, k, attempt, again])).digest()
        index = int.from_bytes(hashed, "big") >> (256 - bits)
        if index < size:
            return index
    raise AssertionError("count() does not end")
