"""Frames: part of a story as columns, for whoever folds the marking themselves.

``delta`` has for every record the places that gained or lost tokens: place, ±n, place, ±n … ``dt`` is the time since the
record before it, in milliseconds, ``at0`` the time of the first record, in milliseconds since 1970. Places, types and
steps are those of the whole story so far, so that their indices hold in every answer.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any, Final

import msgspec

from petra.story.bins import Bin, StepCounts
from petra.story.fold import Delta, Place, Story

FRAMES_MAX: Final = 50_000
"""So many records an answer has."""
BINS_MAX: Final = 10_000
STEPS_TOLD_MAX: Final = 100_000
"""Of so many steps bins tell in all: where many steps take turns, bins are larger."""


class ShownPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where tokens are: before a step, by the arc they came, or in it."""

    step: str
    kind: str
    arc: tuple[str, int] | None = None


class Became(msgspec.Struct, frozen=True, array_like=True):
    """What had become of a step by the end of a bin, in all; and its run that began last, as it was then."""

    step: int
    started: int
    done: int
    failed: int
    retries: int
    parts: int
    """Records in which iterations of it failed."""
    decided: int
    """Records in which somebody decided its outcome."""
    last: int
    """The last record about it."""
    failing: bool
    """Whether its last run failed."""
    run: int
    first: int
    """The records in which that run began and ended; 0 where it had not."""
    ended: int
    state: str
    first_ms: float
    """When that was, in milliseconds since ``at0``."""
    ended_ms: float


class Frames(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Columns with an entry per record, or per bin: then ``seq`` has the last record of each.

    Of a bin, ``delta`` has the sums, ``came`` how many tokens came into each place, ``marked`` its worst record, by which it
    is called, ``gap`` the longest time in which nothing happened, from when to when, and ``became`` the steps that it is
    about. Whoever adds them up has what was at the end of a bin, and goes on from there with the records behind it.
    """

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
    came: list[Delta] | None = None
    marked: list[int] | None = None
    marked_ms: list[float] | None = None
    gap: list[tuple[float, float]] | None = None
    became: list[list[Became]] | None = None


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
    """Put as many records into each bin as it takes, and more where bins would tell of too many steps.

    A bin is called by the worst of its records, and as large as a power of two, so that sums are at hand.
    """
    size = 1 << (-(-(end - begin) // bins) - 1).bit_length()
    made = _bins(story, begin, end, size)
    while len(made) > 1 and sum(len(moment.steps) for _, moment in made) > STEPS_TOLD_MAX:
        size *= 2
        made = _bins(story, begin, end, size)
    ends = [stop for stop, _ in made]
    named = [moment.named for _, moment in made]
    first = story.at[begin]
    return Frames(
        **_head(story, begin), dt=[_ms(b - a) for a, b in pairwise([first, *(story.at[stop - 1] for stop in ends)])],
        type=[story.type[n] for n in named], step=[story.step[n] for n in named],
        run=[story.run[n] for n in named], flag=[moment.flag for _, moment in made],
        delta=[_flat(moment.net) for _, moment in made], seq=ends, came=[_flat(moment.came) for _, moment in made],
        marked=[n + 1 for n in named], marked_ms=[_ms(story.at[n] - first) for n in named],
        gap=[(_ms(moment.gap[0] - first), _ms(moment.gap[1] - first)) for _, moment in made],
        became=[[_became(story, step, by, stop, first) for step, by in moment.steps.items()] for stop, moment in made],
    )  # fmt: skip


def _bins(story: Story, begin: int, end: int, size: int) -> list[tuple[int, Bin]]:
    stops = [min(start + size, end) for start in range(begin, end, size)]
    return [(stop, story.bins.between(story, a, stop)) for a, stop in pairwise([begin, *stops])]


def _flat(sums: Counter[int]) -> Delta:
    return tuple(part for pair in sums.items() if pair[1] for part in pair)


def _became(story: Story, step: int, by: StepCounts, stop: int, first: float) -> Became:
    """Tell what had become of a step by a record; its last run is told as it was then, whatever became of it later."""
    run = story.runs[by.run - 1] if by.run else None
    is_over = run is not None and 0 < run.last <= stop
    return Became(
        step, by.started, by.done, by.failed, by.retries, by.parts, by.decided, by.last, by.failing, by.run,
        run.first if run is not None else 0,
        run.last if run is not None and is_over else 0,
        run.state if run is not None and is_over else "running",
        _ms(run.started - first) if run is not None else 0.0,
        _ms((run.ended or 0.0) - first) if run is not None and is_over else 0.0,
    )  # fmt: skip
