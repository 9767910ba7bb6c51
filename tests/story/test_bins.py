"""Bins of a story: what they tell at their ends is what all records up to there tell."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from story.test_story import EACH_SOURCE, SOURCES, Named, named_logs

from petra.kernel import Record
from petra.kernel.replay import encode_body
from petra.story import Frames, Story, frames_of
from petra.story import frames as frames_module
from petra.story.bins import Bins
from petra.story.frames import Became
from petra.story.marks import FAILS, OPERATOR, RETRIES, STUCK, severity

DONE = {"step.done", "loop.done"}
ENDS = {*DONE, "step.failed", "run.returned"}


def told(records: list[Record], every: int = 4) -> Story:
    story = Story(Bins(every))
    for record in records:
        story.take(record.at, encode_body(record.event, record.receipt))
    return story


class Facts:
    """What exact frames tell, added up record by record: as a page does that holds all of them."""

    def __init__(self, frames: Frames, until: int) -> None:
        self.marking: Counter[int] = Counter()
        self.came: Counter[int] = Counter()
        self.steps: dict[int, list[int]] = {}
        for n in range(until):
            for place, count in zip(frames.delta[n][::2], frames.delta[n][1::2], strict=True):
                self.marking[place] += count
                self.came[place] += max(0, count)
            if frames.step[n] >= 0:
                self._count(frames, n)

    def _count(self, frames: Frames, n: int) -> None:
        kind, flag = frames.types[frames.type[n]], frames.flag[n]
        row = self.steps.setdefault(frames.step[n], [0] * 9)
        row[0] += kind == "step.started"
        row[1] += kind in DONE
        row[2] += kind == "step.failed"
        row[3] += kind in {"attempt.ended", "run.redelivered"}
        row[4] += kind != "step.failed" and bool(flag & FAILS)
        row[5] += kind in ENDS and bool(flag & OPERATOR)
        row[6] = n + 1
        row[7] = 1 if kind == "step.failed" else 0 if kind in DONE else row[7]
        row[8] = frames.run[n] if kind == "step.started" else row[8]


def counts_of(one: Became) -> list[int]:
    return [
        one.started, one.done, one.failed, one.retries, one.parts, one.decided, one.last, int(one.failing), one.run
    ]  # fmt: skip


def the_ends_of_bins_are_exact(name: str, story: Story, binned: Frames) -> None:
    assert binned.seq is not None
    assert binned.came is not None
    assert binned.became is not None
    exact = frames_of(story)
    marking, came, became = Counter[int](), Counter[int](), dict[int, Became]()
    time = 0.0
    for n, end in enumerate(binned.seq):
        for sums, parts in ((marking, binned.delta[n]), (came, binned.came[n])):
            for place, count in zip(parts[::2], parts[1::2], strict=True):
                sums[place] += count
        became |= {one.step: one for one in binned.became[n]}
        facts = Facts(exact, end)
        assert +marking == +facts.marking, (name, end)
        assert +came == +facts.came, (name, end)
        said = {step: counts_of(one) for step, one in became.items() if one.last}
        assert said == facts.steps, (name, end)
        time += binned.dt[n]
        assert time == pytest.approx((story.at[end - 1] - story.at[0]) * 1000, abs=0.01)
        for one in became.values():
            if not one.run:
                continue
            run = story.runs[one.run - 1]
            is_over = 0 < run.last <= end
            assert (one.first, one.ended) == (run.first, run.last if is_over else 0), (name, end)
            assert one.state == (run.state if is_over else "running"), (name, end)


@EACH_SOURCE
def test_what_bins_tell_at_their_ends_is_exact(source: Path) -> None:
    for number, (name, _, records) in enumerate(named_logs(source)):
        if len(records) < 3:
            continue
        story = told(records, every=1 << number % 4)
        until = len(records) - (number % 3 if len(records) > 5 else 0)
        binned = frames_of(story, until=until, bins=1 + number % (until - 1))
        assert (binned.seq or [])[-1] == until
        the_ends_of_bins_are_exact(name, story, binned)


@pytest.fixture(scope="module")
def longest() -> list[Record]:
    logs: list[Named] = [log for source in SOURCES for log in named_logs(source)]
    return max(logs, key=lambda one: len(one[2]))[2]


def test_bins_begin_anywhere(longest: list[Record]) -> None:
    story = told(longest)
    binned = frames_of(story, after=3, bins=2)
    assert (binned.first, len(binned.delta)) == (4, 2)
    sums: Counter[int] = Counter()
    for delta in binned.delta:
        for place, count in zip(delta[::2], delta[1::2], strict=True):
            sums[place] += count
    before = story.marking(3)
    names = list(story.places)
    assert {place: before.get(place, 0) + sums[n] for n, place in enumerate(names)} == {
        place: story.marking().get(place, 0) for place in names
    }


def test_a_bin_is_called_by_the_last_of_its_worst_records() -> None:
    assert severity(STUCK) > severity(FAILS | RETRIES) > severity(OPERATOR) > severity(RETRIES) > 0
    seen = 0
    for source in SOURCES:
        for name, _, records in named_logs(source):
            story = told(records)
            (marked,) = frames_of(story, bins=1).marked or [0]
            if not marked:
                continue
            worst = max(severity(flag) for flag in story.flag)
            assert severity(story.flag[marked - 1]) == worst, name
            assert all(severity(flag) < worst for flag in story.flag[marked:]), name
            seen += worst > 0
    assert seen > 10


def test_a_bin_says_how_long_nothing_happened(longest: list[Record]) -> None:
    story = told(longest)
    (gap,) = frames_of(story, bins=1).gap or [(0.0, 0.0)]
    gaps = [b - a for a, b in zip(story.at, story.at[1:], strict=False)]
    assert gap[1] - gap[0] == pytest.approx(max(gaps) * 1000, abs=0.01)
    assert story.at[0] * 1000 + gap[0] in [pytest.approx(at * 1000, abs=0.01) for at in story.at]


def test_where_many_steps_take_turns_bins_are_larger(
    longest: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = told(longest)
    many = frames_of(story, bins=8)
    told_of = sum(len(steps) for steps in many.became or [])
    monkeypatch.setattr(frames_module, "STEPS_TOLD_MAX", told_of - 1)
    fewer = frames_of(story, bins=8)
    assert len(fewer.delta) < len(many.delta)
    the_ends_of_bins_are_exact("longest", story, fewer)
