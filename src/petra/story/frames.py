"""Frames: part of a story as columns, for who folds the marking themselves.

``delta`` has for every record the places that gained or lost tokens: place, ±n, place, ±n … ``dt`` is the time since the
record before it, in milliseconds, ``at0`` the time of the first record, in milliseconds since 1970. Places, types and
steps are those of the whole story so far, so that their indices hold in every answer.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any, Final

import msgspec

from petra.story.fold import NOTHING, Delta, Place, Story

FRAMES_MAX: Final = 50_000
"""So many records an answer has."""
BINS_MAX: Final = 10_000


class ShownPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where tokens are: before a step, by the arc they came, or in it."""

    step: str
    kind: str
    arc: tuple[str, int] | None = None


class Frames(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Columns with an entry per record, or per bin: then ``seq`` has the last record of each."""

    first: int
    at0: float
    version: int
    places: list[ShownPlace]
    types: list[str]
    steps: list[str]
    dt: list[float]
    type: list[int]
    step: list[int]
    run: list[int]
    flag: list[int]
    delta: list[Delta]
    seq: list[int] | None = None


def frames_of(
    story: Story, *, after: int = 0, until: int | None = None, bins: int | None = None
) -> Frames:
    """Return the records behind ``after`` up to ``until``, which is among them."""
    begin = max(0, min(after, len(story)))
    end = max(begin, min(len(story), len(story) if until is None else until))
    if bins is not None and end - begin > bins:
        return _binned(story, begin, end, bins)
    end = min(end, begin + FRAMES_MAX)
    at = story.at[begin:end]
    return Frames(
        **_head(story, begin),
        dt=[0.0, *(_ms(b - a) for a, b in pairwise(at))] if at else [],
        type=list(story.type[begin:end]), step=list(story.step[begin:end]), run=list(story.run[begin:end]),
        flag=list(story.flag[begin:end]), delta=story.delta[begin:end],
    )  # fmt: skip


def _head(story: Story, begin: int) -> dict[str, Any]:
    return {
        "first": begin + 1,
        "at0": _ms(story.at[begin]) if begin < len(story) else 0.0,
        "version": len(story),
        "places": [_shown(place) for place in story.places],
        "types": list(story.types),
        "steps": list(story.steps),
    }


def _shown(place: Place) -> ShownPlace:
    return ShownPlace(place.step, place.kind, place.arc)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _binned(story: Story, begin: int, end: int, bins: int) -> Frames:
    """Put as many records into each bin as it takes; a bin is called by the record in it that is marked most."""
    size = -(-(end - begin) // bins)
    starts = range(begin, end, size)
    seqs, dt, named, flags, deltas = [], [], [], [], []
    before = story.at[begin]
    for start in starts:
        stop = min(start + size, end)
        seqs.append(stop)
        dt.append(_ms(story.at[stop - 1] - before))
        before = story.at[stop - 1]
        named.append(max(range(start, stop), key=lambda n: (story.flag[n], n)))
        flag, sums = 0, Counter[int]()
        for number in range(start, stop):
            flag |= story.flag[number]
            delta = story.delta[number]
            for place, count in zip(delta[::2], delta[1::2], strict=True):
                sums[place] += count
        flags.append(flag)
        deltas.append(tuple(part for pair in sums.items() if pair[1] for part in pair))
    return Frames(
        **_head(story, begin), dt=dt, type=[story.type[n] for n in named], step=[story.step[n] for n in named],
        run=[story.run[n] for n in named], flag=flags, delta=deltas, seq=seqs,
    )  # fmt: skip


def steps_named(story: Story) -> list[str]:
    """Return the step of every record, empty where it is about none."""
    names = list(story.steps)
    return ["" if number == NOTHING else names[number] for number in story.step]
