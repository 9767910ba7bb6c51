"""The ways to take tokens, and their order."""

from __future__ import annotations

from itertools import combinations, islice, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from petra.errors import NetError
from petra.net import Marking, Token, Transition, modes
from petra.net.modes import count_modes, modes_by_age, nth_mode

if TYPE_CHECKING:
    from petra.net import Mode

# A busy machine is no defect of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def marking(**places: str) -> Marking:
    return Marking.new("pqr").add(
        {
            place: [Token.of(f"{place}{name}", name) for name in held]
            for place, held in places.items()
        }
    )


def taken(mode: Mode) -> str:
    return " ".join("".join(str(one.data) for one in tokens) for tokens in mode.taken.values())


@pytest.mark.spec("003§7.3.3.1-1", "003§7.3.3.1-3", "003§7.3.3.1-4")
@pytest.mark.parametrize(
    ("arcs", "held", "expected"),
    [
        pytest.param("p + q ->", {"p": "ab", "q": "c"}, ["a c", "b c"], id="two by one"),
        pytest.param(
            "q + p ->", {"p": "ab", "q": "cd"}, ["c a", "c b", "d a", "d b"], id="arc order"
        ),
        pytest.param("2 p ->", {"p": "cab"}, ["ca", "cb", "ab"], id="choose 2 of 3 by position"),
        pytest.param("2 p ->", {"p": "a"}, [], id="too few tokens"),
        pytest.param("p + q ->", {"p": "abc"}, [], id="one place is empty"),
        pytest.param("-> q", {}, [""], id="nothing to take is one way"),
    ],
)
def test_modes_come_by_position(arcs: str, held: dict[str, str], expected: list[str]) -> None:
    found = modes(Transition.of("t", arcs), marking(**held).tokens)
    assert [taken(mode) for mode in found] == expected


@CALM
@given(st.integers(0, 5), st.integers(0, 4), st.integers(1, 3), st.integers(1, 2))
def test_the_order_is_lexicographic_by_token_position(n: int, m: int, k: int, j: int) -> None:
    held = Marking.new("pq").add(
        {
            "p": [Token.of(f"p{i}", i) for i in range(n)],
            "q": [Token.of(f"q{i}", i) for i in range(m)],
        }
    )
    found = modes(Transition.of("t", ({"p": k, "q": j}, {})), held.tokens)
    expected = list(product(combinations(range(n), k), combinations(range(m), j)))
    assert [(tuple(mode.all("p")), tuple(mode.all("q"))) for mode in found] == expected
    assert expected == sorted(expected)


def test_modes_come_lazily() -> None:
    held = Marking.new("p").add({"p": [Token.of(str(i), i) for i in range(200)]})
    asked: list[Mode] = []

    def note(mode: Mode) -> bool:
        asked.append(mode)
        return True

    many = Transition.of("t", "10 p ->", guard=note)
    assert len(list(islice(modes(many, held.tokens), 3))) == 3
    assert len(asked) == 3


@pytest.mark.spec("003§7.3.2-1")
def test_a_guard_sees_the_mode_and_decides() -> None:
    same = Transition.of("t", "p + q ->", guard=lambda mode: mode["p"] == mode["q"])
    found = modes(same, marking(p="abc", q="cb").tokens)
    assert [taken(mode) for mode in found] == ["b b", "c c"]


def test_a_read_arc_binds_a_token_and_takes_nothing() -> None:
    look = Transition.of("t", "p ->", reads="q", guard=lambda mode: mode["q"] == "d")
    (mode,) = modes(look, marking(p="a", q="cd").tokens)
    assert taken(mode) == "a"
    assert mode.read["q"].data == "d"
    assert list(modes(look, marking(p="a").tokens)) == []


def test_a_function_that_asks_for_another_place_is_told_so() -> None:
    (mode,) = modes(Transition.of("t", "p ->"), marking(p="a").tokens)
    with pytest.raises(NetError, match="mode: unknown place 'pp'; did you mean 'p'"):
        mode["pp"]
    with pytest.raises(NetError, match="mode: unknown place 'q'; known: p"):
        mode.all("q")


@CALM
@given(st.integers(0, 5), st.integers(0, 4), st.integers(1, 3), st.integers(1, 2))
def test_modes_without_a_guard_can_be_counted_and_picked(n: int, m: int, k: int, j: int) -> None:
    held = Marking.new("pqr").add(
        {
            place: [Token.of(f"{place}{i}", i) for i in range(count)]
            for place, count in (("p", n), ("q", m), ("r", 2))
        }
    )
    some = Transition.of("t", ({"p": k, "q": j}, {}), reads="r")
    found = list(modes(some, held.tokens))
    assert count_modes(some, held.tokens) == len(found)
    assert [nth_mode(some, held.tokens, i) for i in range(len(found))] == found


ages = st.lists(st.integers(0, 4), max_size=4).map(sorted)


@CALM
@given(ages, ages, st.integers(1, 2))
def test_by_age_is_the_order_of_becoming_possible_then_of_position(
    p: list[int], q: list[int], weight: int
) -> None:
    held = Marking.new("pq").add(
        {
            place: [Token.of(f"{place}{i}", i, born=born) for i, born in enumerate(some)]
            for place, some in (("p", p), ("q", q))
        }
    )
    join = Transition.of("t", ({"p": weight, "q": 1}, {}))
    expected = sorted(modes(join, held.tokens), key=lambda mode: mode.born)
    assert list(modes_by_age(join, held.tokens)) == expected
