"""The algebra of markings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from petra.errors import NetError
from petra.net import Marking, Token

# A busy machine is no defect of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

PLACES = ["a", "b", "c"]
data = st.one_of(
    st.none(), st.integers(-9, 9), st.text('aé"\n', max_size=3), st.lists(st.booleans())
)
names = st.lists(st.text("xyz", min_size=1, max_size=4), unique=True, max_size=8)


@st.composite
def deltas(draw: st.DrawFn) -> dict[str, list[Token]]:
    held: dict[str, list[Token]] = {}
    for name in draw(names):
        held.setdefault(draw(st.sampled_from(PLACES)), []).append(Token.of(name, draw(data)))
    return held


def marking(delta: dict[str, list[Token]]) -> Marking:
    return Marking.new(PLACES).add(delta)


def ids(delta: dict[str, list[Token]]) -> set[tuple[str, str]]:
    return {(place, token.id) for place, tokens in delta.items() for token in tokens}


@CALM
@given(deltas(), deltas())
def test_taking_what_was_added_leaves_what_was_there(
    held: dict[str, list[Token]], delta: dict[str, list[Token]]
) -> None:
    assume(not ids(held) & ids(delta))
    before = marking(held)
    assert before.add(delta).take(delta) == before
    assert before.add(delta).take(delta).hash == before.hash


@CALM
@given(deltas(), deltas())
def test_adding_commutes_up_to_the_hash(
    one: dict[str, list[Token]], two: dict[str, list[Token]]
) -> None:
    assume(not ids(one) & ids(two))
    assert marking(one).add(two).hash == marking(two).add(one).hash


@CALM
@given(deltas(), st.randoms(use_true_random=False))
def test_the_hash_sees_no_order_and_equality_does(
    held: dict[str, list[Token]], random: Any
) -> None:
    shuffled = {place: random.sample(tokens, len(tokens)) for place, tokens in held.items()}
    assert marking(held).hash == marking(shuffled).hash
    assert (marking(held) == marking(shuffled)) == (shuffled == held)


@CALM
@given(deltas(), deltas())
def test_different_tokens_have_different_hashes(
    one: dict[str, list[Token]], two: dict[str, list[Token]]
) -> None:
    same = {(p, t.id, t.payload) for p, ts in one.items() for t in ts} == {
        (p, t.id, t.payload) for p, ts in two.items() for t in ts
    }
    assert (marking(one).hash == marking(two).hash) == same


@CALM
@given(deltas(), deltas(), st.sampled_from(["unknown place", "missing token", "token twice"]))
def test_a_failed_apply_has_no_effect(
    held: dict[str, list[Token]], delta: dict[str, list[Token]], fault: str
) -> None:
    assume(not ids(held) & ids(delta))
    before = marking(held)
    snapshot, total = before.snapshot(), before.hash
    consume, produce = dict(held), dict(delta)
    if fault == "unknown place":
        produce["nowhere"] = [Token("n")]
    elif fault == "missing token":
        consume["c"] = [*consume.get("c", []), Token("missing")]
    else:
        produce["c"] = [*produce.get("c", []), Token("twice"), Token("twice")]
    with pytest.raises(NetError):
        before.apply(consume, produce)
    assert before.snapshot() == snapshot
    assert before.hash == total


@CALM
@given(deltas(), deltas())
def test_applying_is_taking_and_then_adding(
    held: dict[str, list[Token]], delta: dict[str, list[Token]]
) -> None:
    assert marking(held).apply(held, delta) == Marking.new(PLACES).add(delta)


@CALM
@given(deltas())
def test_a_snapshot_is_json_and_restores_the_same_marking(held: dict[str, list[Token]]) -> None:
    before = marking(held)
    restored = Marking.restore(json.loads(json.dumps(before.snapshot())))
    assert restored == before
    assert restored.hash == before.hash
    assert hash(restored) == hash(before)


def test_an_unknown_place_and_missing_tokens_are_different_errors() -> None:
    empty = Marking.new(["order", "paid"])
    with pytest.raises(NetError, match="unknown place 'odrer'; did you mean 'order'"):
        empty.get("odrer")
    with pytest.raises(NetError, match="place 'order': insufficient tokens"):
        empty.take({"order": [Token("x")]})


@pytest.mark.spec("003§7.3.4-1")
def test_tokens_keep_their_order_of_insertion() -> None:
    some = [Token.of(str(n), n) for n in (5, 3, 4)]
    assert Marking.new("a").add({"a": some}).data("a") == [5, 3, 4]


def test_set_replaces_what_a_place_holds() -> None:
    before = Marking.new("ab").add({"a": [Token("x"), Token("y")]})
    after = before.set("a", [Token("y"), Token("z")])
    assert [token.id for token in after.get("a")] == ["y", "z"]
    assert after.counts() == {"a": 2}


def test_a_token_carries_json_only_and_nobody_can_change_it() -> None:
    with pytest.raises(NetError, match="JSON values only"):
        Token.of("x", float("nan"))
    with pytest.raises(NetError, match="JSON values only"):
        Token.of("x", object())
    token = Token.of("x", {"a": [1]})
    assert isinstance(token.data, dict)
    token.data["a"] = "changed"
    assert token.data == {"a": [1]}


def test_a_marking_shows_what_it_holds() -> None:
    assert repr(Marking.new("ab")) == "<Marking empty>"
    held = Marking.new("ab").add({"a": [Token("x"), Token("y")], "b": [Token("z")]})
    assert repr(held) == "<Marking 2 a + b>"
