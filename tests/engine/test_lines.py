"""Who is let in next, decided from a line as it stands; held against a slow reading of the same rules (S15)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from petra.engine.lines import Allowance, LineVerdict, judge
from petra.playbook.shared import Rate
from petra.store.rows import LineRow, PermitRow


def row(name: str, **more: Any) -> PermitRow:
    given: dict[str, Any] = {"rank": 0.0, "asked": 0.0, "most": 2, **more}
    return PermitRow(id=name, execution=f"e-{name}", limit="playbook x", **given)


def line(holders: list[PermitRow], queue: list[PermitRow], recent: bytes = b"") -> LineRow:
    return LineRow(
        used=sum(one.units for one in holders), waiting=len(queue), holders=tuple(holders), queue=tuple(queue),
        recent=recent,
    )  # fmt: skip


def names(rows: list[PermitRow]) -> list[str]:
    return [one.id for one in rows]


def turned_away(verdict: LineVerdict) -> list[str]:
    return [one.id for one, _, _ in verdict.refused]


_ROWS = st.builds(
    lambda units, policy: (units, policy),
    st.integers(1, 3),
    st.sampled_from(["queue", "cancel_new", "reject"]),
)


@pytest.mark.spec("S15")
@given(most=st.integers(1, 4), held=st.lists(st.integers(1, 2), max_size=4), asked=st.lists(_ROWS, max_size=8))  # fmt: skip
def test_a_line_is_judged_as_an_oracle_does(
    most: int, held: list[int], asked: list[tuple[int, str]]
) -> None:
    holders = [row(f"h{n}", units=u, state="held", most=most) for n, u in enumerate(held)]
    queue = [
        row(f"q{n}", units=units, on_limit=policy, most=most, rank=float(n))
        for n, (units, policy) in enumerate(asked)
    ]
    verdict = judge(line(holders, queue), Allowance(), 0.0)
    free, blocked = most - sum(held), False
    for one in queue:  # the oracle: one after the other, with what is free
        if one.units > most:
            expected = "refused"
        elif not blocked and one.units <= free:
            expected, free = "given", free - one.units
        else:
            expected = "waits" if one.on_limit == "queue" else "refused"
            blocked = blocked or one.on_limit == "queue"
        found = (
            "given" if one in verdict.given else "refused" if one.id in turned_away(verdict) else "waits"
        )  # fmt: skip
        assert found == expected, one
    assert sum(held) + sum(one.units for one in verdict.given) <= max(most, sum(held))
    assert not verdict.stopped


@pytest.mark.spec("S15")
@given(most=st.integers(1, 3), held=st.integers(0, 3), asked=st.integers(0, 6))
def test_with_cancel_running_the_newest_live_and_no_more(most: int, held: int, asked: int) -> None:
    held = min(held, most)
    ages = [float(n) for n in range(held + asked)]
    holders = [row(f"h{n}", state="held", most=most, asked=ages[n]) for n in range(held)]
    queue = [
        row(f"q{n}", on_limit="cancel_running", most=most, rank=ages[held + n], asked=ages[held + n])
        for n in range(asked)
    ]  # fmt: skip
    gone: set[str] = set()
    for _ in range(
        10
    ):  # as the turnstile does: until nothing moves, those who were told being gone by then
        verdict = judge(line(holders, queue), Allowance(), 0.0)
        if not verdict.moves:
            break
        leave = {*turned_away(verdict), *names(verdict.stopped)}
        gone |= leave
        came = [replace(one, state="held") for one in queue if one in verdict.given]
        holders = [one for one in (*holders, *came) if one.id not in leave]
        queue = [one for one in queue if one.id not in leave and one not in verdict.given]
        assert len(holders) <= most
    everybody = [f"h{n}" for n in range(held)] + [f"q{n}" for n in range(asked)]
    newest = everybody[-most:]
    assert queue == []
    assert [name for name in everybody if name not in gone] == newest


@pytest.mark.spec("S15")
@given(
    count=st.integers(1, 4),
    steps=st.lists(st.tuples(st.floats(0, 7), st.integers(1, 3)), max_size=30),
)
def test_no_stretch_of_a_rate_has_more_than_it_says(
    count: int, steps: list[tuple[float, int]]
) -> None:
    rate, now, recent, begun, again = Rate(count=count, per_s=10.0), 0.0, b"", [], None
    queue: list[PermitRow] = []
    for number, (passed, units) in enumerate(steps):
        now += passed
        queue.append(row(f"{number:02}", units=units, most=0, rank=float(number)))
        verdict = judge(line([], queue, recent), Allowance(None, rate), now)
        assert again is None or now >= again or not verdict.given
        begun += [(now, one.units) for one in verdict.given]
        recent = verdict.recent if verdict.recent is not None else recent
        leave = {*names(verdict.given), *turned_away(verdict)}
        queue = [one for one in queue if one.id not in leave]
        again = verdict.again
        assert bool(queue) == (again is not None)
        for at, _ in begun:  # the oracle: every window that begins with something
            assert sum(n for t, n in begun if at <= t < at + 10.0) <= count
    while queue:  # and nobody waits longer than a rate makes them
        assert again is not None
        now = again
        verdict = judge(line([], queue, recent), Allowance(None, rate), now)
        assert verdict.given, "the time that was told is when the next one comes in"
        recent, again = verdict.recent or recent, verdict.again
        queue = [one for one in queue if one not in verdict.given]


@pytest.mark.spec("S15")
def test_what_nobody_has_configured_lets_nobody_in() -> None:
    waits = row("a", most=0)
    assert not judge(line([], [waits]), None, 0.0).moves
    assert not judge(line([], [waits]), Allowance(0), 0.0).moves
    assert names(judge(line([], [waits]), Allowance(1), 0.0).given) == ["a"]
    assert names(judge(line([], [waits]), Allowance(), 0.0).given) == ["a"]


@pytest.mark.spec("S15", "S16")
def test_who_would_wait_for_those_who_wait_for_it_is_told_so() -> None:
    parent = row("parent", state="held", most=2)
    other = row("other", state="held", most=2)
    child = row("child", most=2)
    asked = {"child": ["e-parent"]}
    assert not judge(line([parent, other], [child]), Allowance(), 0.0, ancestors=asked).moves
    both = judge(line([parent, other], [child]), Allowance(), 0.0, ancestors={"child": ["e-parent", "e-other"]})  # fmt: skip
    ((_, why, kind),) = both.refused
    assert kind == "deadlock"
    assert "is held by e-parent, e-other, which waits for this execution" in why
