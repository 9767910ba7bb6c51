"""The results of a loop that are too large for an event: which of them a worker stores next (S18)."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.kernel.chunks import loop_of
from petra.kernel.state import LoopState, StepRun

GATHER_BYTES = 16 * 1024 * 1024
"""Bytes of JSON that a worker is given to store at a time; results that have more are stored in pieces first."""

PUT_ASIDE_BYTES = 1024 * 1024
"""Bytes of JSON, about, that the results of a loop may have in memory before the first of them are put aside."""
_SAMPLE = 64

_MEASURED = 1000
"""Results that are measured at a time."""

_encode = msgspec.json.Encoder().encode


def fitting(loop: LoopState, most: int) -> tuple[int, int]:
    """Return up to which index the results that are not stored fit into so many bytes of JSON, and how many they have."""
    size, place, step, held = 2, 0, _MEASURED, loop.held
    while place < len(held):
        own = len(_encode(held[place : place + step]))
        if size + own <= most or (step == 1 and not place):
            size += own
            place = min(place + step, len(held))
        elif step > 1:
            step = 1
        else:
            return loop.stored + place, size
    return loop.total, size + 5 * (loop.total - loop.stored - place)


def to_put_aside(loop: LoopState) -> tuple[int, list[Any]]:
    """Return results that need not stay in memory until the loop is through, and up to which index they are.

    They are the first that are not stored, up to the first iteration that is still out; none where they are small.
    """
    upto = min(loop.active, default=loop.next)
    count = upto - loop.stored
    if loop.nests or count < _SAMPLE:
        return 0, []
    sample = loop.held[count - _SAMPLE : count]
    if len(_encode(sample)) * count < PUT_ASIDE_BYTES * _SAMPLE:
        return 0, []
    return upto, loop.held[:count]


def results_of(run: StepRun) -> list[Any]:
    """Return the results of all iterations, none of which is stored, in index order; null for those that have none."""
    loop = loop_of(run)
    return [*loop.held, *([None] * (loop.total - len(loop.held)))]


def to_gather(run: StepRun, upto: int) -> list[Any]:
    """Return what a worker is to store as one: some results, all of them, or the pieces they were stored in."""
    loop = loop_of(run)
    if upto:
        found = loop.held[: upto - loop.stored]
        return found + [None] * (upto - loop.stored - len(found))
    return loop.pieces or results_of(run)
