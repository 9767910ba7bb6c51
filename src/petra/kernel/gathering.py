"""The results of a loop that are too large for an event: which of them a worker stores next (S18)."""

from __future__ import annotations

from bisect import bisect_left
from operator import sub
from typing import Any

import msgspec

from petra.kernel.chunks import loop_of
from petra.kernel.state import LoopState, StepRun

GATHER_BYTES = 16 * 1024 * 1024
"""Bytes of JSON that a worker is given to store at a time; results that have more are stored in pieces first."""

PUT_ASIDE_BYTES = 1024 * 1024
"""Bytes of JSON, about, that the results of a loop may have in memory before the first of them are put aside."""
SAMPLE = 64

_MEASURED = 1000
"""Results that are measured at a time."""

_encode = msgspec.json.Encoder().encode


def fitting(loop: LoopState, most: int) -> tuple[int, int]:
    """Return up to which index the results that are not stored fit into so many bytes of JSON, and how many they have."""
    size, place, step, held, end = 2, 0, _MEASURED, loop.held, loop.total
    if loop.aside:  # from there on they are stored already
        end = loop.aside[0][0]
        held = held[: end - loop.stored]
    while place < len(held):
        own = len(_encode(held[place : place + step]))
        if size + own <= most or (step == 1 and not place):
            size += own
            place = min(place + step, len(held))
        elif step > 1:
            step = 1
        else:
            return loop.stored + place, size
    return end, size + 5 * (end - loop.stored - place)


def to_put_aside(loop: LoopState) -> tuple[int, int, list[Any]]:
    """Return results that need not stay in memory until the loop is through, from and up to which index they are.

    They are the first that are not stored, up to the first iteration that is still out; or those behind it. None where
    they are small: what is behind iterations that never end takes ``PUT_ASIDE_BYTES`` for each of those.
    """
    if loop.nests:
        return 0, 0, []
    active = sorted(loop.active)  # they nearly are
    upto, due = active[0] if active else loop.next, False
    if loop.aside and upto >= loop.aside[0][0]:
        upto, due = loop.aside[0][0], True  # what is before it goes before it, however small
    if due or _is_large(loop, loop.stored, upto):
        return 0, upto, loop.held[: upto - loop.stored]
    since, upto = _behind(loop, active)
    if _is_large(loop, since, upto):
        return since, upto, loop.held[since - loop.stored : upto - loop.stored]
    return 0, 0, []


def _is_large(loop: LoopState, since: int, upto: int) -> bool:
    """Tell by a sample whether results have so many bytes that they are put aside."""
    count = upto - since
    if count < SAMPLE:
        return False
    sample = loop.held[upto - SAMPLE - loop.stored : upto - loop.stored]
    return len(_encode(sample)) * count >= PUT_ASIDE_BYTES * SAMPLE


def _behind(loop: LoopState, active: list[int]) -> tuple[int, int]:
    """Return the most results in a row that are in memory behind one of the iterations that are still out."""
    if not active:
        return 0, 0
    apart = sum(upto - since for since, upto, _ in loop.aside) + len(active)
    behind = min(len(loop.held), loop.next - active[0]) - apart
    if behind < SAMPLE:
        return 0, 0  # not even all of them together are many
    taken = active
    if loop.aside:
        taken = sorted([*active, *(since for since, _, _ in loop.aside)])
    gaps = list(
        map(sub, [*taken[1:], loop.next], taken)
    )  # thousands may be out: no steps of Python for each
    for since, upto, _ in loop.aside:
        gaps[bisect_left(taken, since)] -= upto - since - 1
    widest = gaps.index(max(gaps))
    end = taken[widest + 1] if widest + 1 < len(taken) else loop.next
    return end - gaps[widest] + 1, end


def results_of(run: StepRun) -> list[Any]:
    """Return the results of all iterations, none of which is stored, in index order; null for those that have none."""
    loop = loop_of(run)
    return [*loop.held, *([None] * (loop.total - len(loop.held)))]


def to_gather(run: StepRun, upto: int) -> list[Any]:
    """Return what a worker is to store as one: some results, all of them, or the pieces they were stored in."""
    loop = loop_of(run)
    if upto:
        held = loop.held[: upto - loop.stored]
        return held + [None] * (upto - loop.stored - len(held))
    return loop.pieces or results_of(run)
