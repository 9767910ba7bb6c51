"""What stretches of a story come to, so that who looks at a long one need not read all of it.

Rule 1: what is known at the end of a bin is exact: a story can be gone on with from there, record by record.
Rule 2: every so many records are summed up once, when the last of them is taken; larger bins are made of those.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, Final, NamedTuple

from petra.story.marks import FAILS, OPERATOR, severity

if TYPE_CHECKING:
    from petra.story.fold import Story

EVERY: Final = 256
"""So many records are summed up while a story is folded."""

_SUMS: Final = 6
_STARTED, _DONE, _FAILED, _RETRIES, _PARTS, _DECIDED = range(_SUMS)
"""Where sums stand in ``StepCounts``."""
_COLUMN: Final = {
    "step.started": _STARTED,
    "step.done": _DONE,
    "loop.done": _DONE,
    "step.failed": _FAILED,
    "attempt.ended": _RETRIES,
    "run.redelivered": _RETRIES,
}
_ENDS: Final = frozenset({"step.done", "loop.done", "step.failed", "run.returned"})


class StepCounts(NamedTuple):
    """What had become of a step by a record, as its own records say."""

    started: int = 0
    done: int = 0
    failed: int = 0
    retries: int = 0
    parts: int = 0
    """Records in which iterations of it failed."""
    decided: int = 0
    """Records in which somebody decided its outcome."""
    last: int = 0
    """The last record about it."""
    failing: bool = False
    """Whether its last run failed."""
    run: int = 0
    """The run of it that began last."""


_NONE: Final = StepCounts()


class Bin(NamedTuple):
    """Some records that follow each other."""

    net: Counter[int]
    """By place: how many tokens it gained."""
    came: Counter[int]
    """By place: how many tokens came into it."""
    steps: dict[int, StepCounts]
    """What had become of the steps that it is about, by its end."""
    flag: int
    named: int
    """The worst of them, and the last of the worst; its place in the columns."""
    gap: tuple[float, float]
    """The longest time in which nothing happened."""


class Bins:
    """The sums of a story, bin by bin."""

    def __init__(self, every: int = EVERY) -> None:
        self._every = every
        self._bins: list[Bin] = []
        self._ends: dict[int, list[int]] = {}
        self._counts: dict[int, list[StepCounts]] = {}

    def follow(self, story: Story) -> None:
        """Sum up the last records, whenever there are enough of them."""
        end = len(story)
        if end % self._every:
            return
        total = _sum(story, end - self._every, end, self._steps(story, end - self._every, end))
        self._bins.append(total)
        for step, counts in total.steps.items():
            self._ends.setdefault(step, []).append(end)
            self._counts.setdefault(step, []).append(counts)

    def between(self, story: Story, begin: int, end: int) -> Bin:
        """Return what the records behind ``begin`` up to ``end`` come to."""
        parts: list[Bin] = []
        while begin < end:
            number, inside = divmod(begin, self._every)
            until = min(end, begin - inside + self._every)
            if inside == 0 and until - begin == self._every and number < len(self._bins):
                parts.append(self._bins[number])
            else:
                steps = self._steps(story, begin - inside, until)
                parts.append(_sum(story, begin, until, steps))
            begin = until
        return _together(story, parts)

    def _steps(self, story: Story, begin: int, end: int) -> dict[int, StepCounts]:
        """Return what had become by ``end`` of the steps that records are about; a bin ends at ``begin``."""
        countings: dict[int, _Counting] = {}
        kinds, running = list(story.types), _running(story)
        columns = (story.step, story.type, story.flag, story.run, story.delta)
        for n, (step, kind, flag, run, delta) in enumerate(
            zip(*(column[begin:end] for column in columns), strict=True), begin + 1
        ):
            for place in delta[::2]:  # a run can go away with a record that names another step
                other = running.get(place)
                if other is not None and other not in countings:
                    countings[other] = _Counting(self._by(other, begin))
            if step >= 0:
                if step not in countings:
                    countings[step] = _Counting(self._by(step, begin))
                countings[step].count(n, kinds[kind], flag, run)
        return {step: counting.step_counts() for step, counting in countings.items()}

    def _by(self, step: int, end: int) -> StepCounts:
        known = bisect_right(self._ends.get(step, []), end)
        return self._counts[step][known - 1] if known else _NONE


def _running(story: Story) -> dict[int, int]:
    """Return the steps that have a place of runs, by its number."""
    steps = story.steps
    return {
        number: steps[place.step]
        for place, number in story.places.items()
        if place.kind == "running" and place.step in steps
    }


class _Counting:
    """Goes on counting what becomes of a step."""

    __slots__ = ("failing", "last", "run", "sums")

    def __init__(self, was: StepCounts) -> None:
        self.sums = list(was[:_SUMS])
        self.last, self.failing, self.run = was.last, was.failing, was.run

    def count(self, seq: int, kind: str, flag: int, run: int) -> None:
        self.last = seq
        sums, column = self.sums, _COLUMN.get(kind)
        if column is not None:
            sums[column] += 1
            if column == _STARTED:
                self.run = run
            elif column in (_DONE, _FAILED):
                self.failing = column == _FAILED
        if flag:
            sums[_PARTS] += kind != "step.failed" and bool(flag & FAILS)
            sums[_DECIDED] += kind in _ENDS and bool(flag & OPERATOR)

    def step_counts(self) -> StepCounts:
        started, done, failed, retries, parts, decided = self.sums
        return StepCounts(
            started, done, failed, retries, parts, decided, self.last, self.failing, self.run
        )


def _sum(story: Story, begin: int, end: int, steps: dict[int, StepCounts]) -> Bin:
    net, came = Counter[int](), Counter[int]()
    flags = story.flag[begin:end]
    for delta in story.delta[begin:end]:
        for place, count in zip(delta[::2], delta[1::2], strict=True):
            net[place] += count
            if count > 0:
                came[place] += count
    flag = reduce(or_, flags)
    named = end - 1
    if flag:
        named = max(range(begin, end), key=lambda n: (severity(flags[n - begin]), n))
    times = story.at[max(0, begin - 1) : end]
    gap = max(pairwise(times), key=_length, default=(times[0], times[0]))
    return Bin(net, came, steps, flag, named, gap)


def _length(gap: tuple[float, float]) -> float:
    return gap[1] - gap[0]


def _together(story: Story, parts: list[Bin]) -> Bin:
    if len(parts) == 1:
        return parts[0]
    net, came = Counter[int](), Counter[int]()
    steps: dict[int, StepCounts] = {}
    flag = 0
    for part in parts:
        for sums, more in ((net, part.net), (came, part.came)):
            for place, count in more.items():
                sums[place] += count
        steps |= part.steps
        flag |= part.flag
    named = max((part.named for part in parts), key=lambda n: (severity(story.flag[n]), n))
    return Bin(net, came, steps, flag, named, max((part.gap for part in parts), key=_length))
