"""The strategies that look arbitrary are exact functions of what is stored."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from petra.net import ByHash, Net, Random, Transition, enabled, start
from petra.net.order import draw
from petra.values import canonical

WIDE = Net.of(
    "wide",
    places="a b",
    transitions=[Transition.of(name, "a -> b") for name in "tuvw"],
    initial={"a": 3},
)


def order(strategy: ByHash | Random, *, run: str = "run", k: int = 1) -> list[str]:
    marking = start(WIDE).marking
    ordered = strategy.order(WIDE, marking.tokens, run=run, k=k)
    return [f"{one.transition.name}{one.mode.taken['a'][0].id}" for one in ordered]


@pytest.mark.spec("S17", "003§7.3.3.2-5")
def test_hash_orders_by_seed_arrival_name_and_position() -> None:
    def key(name: str, position: int) -> bytes:
        return hashlib.sha256(canonical([7, 0, name, position])).digest()

    tokens = [token.id for token in start(WIDE).marking.get("a")]
    pairs = [(name, position) for name in "tuvw" for position in range(len(tokens))]
    ordered = sorted(pairs, key=lambda pair: key(*pair))
    assert order(ByHash(7), run="r", k=5) == [name + tokens[place] for name, place in ordered]


@pytest.mark.spec("S17")
def test_hash_changes_with_the_seed_and_not_with_the_name_of_the_run() -> None:
    orders = [
        order(ByHash(7), run="r"),
        order(ByHash(8), run="r"),
        order(ByHash(7), run="s"),
    ]
    assert orders[0] == orders[2] != orders[1]
    assert len({tuple(sorted(one)) for one in orders}) == 1


@pytest.mark.spec("S17")
def test_random_draws_without_replacement_one_draw_per_attempt() -> None:
    urn = [
        f"{one.transition.name}{one.mode.taken['a'][0].id}"
        for name in "tuvw"
        for one in enabled(start(WIDE))
        if one.transition.name == name
    ]
    drawn = [urn.pop(draw(3, 9, attempt, len(urn))) for attempt in range(12)]
    assert order(Random(3), k=9) == drawn


@pytest.mark.spec("S17")
def test_a_draw_is_fair() -> None:
    for size in (1, 3, 5, 6, 7):
        drawn = Counter(draw("seed", k, 0, size) for k in range(600 * size))
        assert set(drawn) == set(range(size))
        assert all(480 < count < 720 for count in drawn.values()), drawn


@settings(deadline=None)
@given(st.integers(), st.integers(0, 99), st.integers(0, 9), st.integers(1, 2**70))
def test_a_draw_stays_below_its_size(seed: int, k: int, attempt: int, size: int) -> None:
    assert 0 <= draw(seed, k, attempt, size) < size
    assert draw(seed, k, attempt, size) == draw(seed, k, attempt, size)


def test_a_draw_is_the_same_on_every_machine_and_for_ever() -> None:
    assert [draw(1, k, 0, 1000) for k in range(5)] == [786, 587, 672, 903, 916]
