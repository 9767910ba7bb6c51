"""What a firing changes for others is noticed, and only that."""

from __future__ import annotations

import pytest

from petra.net import (
    ByName,
    Fifo,
    Mode,
    Net,
    Priority,
    Strategy,
    Transition,
    drain,
    is_quiescent,
    start,
)

RANKED = [Fifo(), Priority(), ByName()]


def fired(net: Net, tokens: dict[str, list[object]], strategy: Strategy) -> list[str]:
    done = drain(start(net, tokens, strategy=strategy))
    assert is_quiescent(done.configuration)
    return [receipt.transition for receipt in done.receipts]


def same(mode: Mode) -> bool:
    return bool(mode["p"] == mode["q"])


def net(*transitions: Transition) -> Net:
    return Net.of("n", places="p q r s", transitions=transitions)


@pytest.mark.parametrize("strategy", RANKED, ids=lambda one: one.name)
def test_a_token_that_arrives_enables_a_guarded_transition(strategy: Strategy) -> None:
    chain = net(
        Transition.of("t", "p -> q"), Transition.of("u", "q -> r", guard=lambda m: m["q"] > 1)
    )
    assert sorted(fired(chain, {"p": [1, 2, 3]}, strategy)) == ["t", "t", "t", "u", "u"]


def test_by_position_a_token_that_arrives_may_complete_an_earlier_mode() -> None:
    join = net(Transition.of("add", "r -> q"), Transition.of("join", "p + q -> s", guard=same))
    done = drain(start(join, {"p": [1, 2], "q": [2], "r": [1]}, strategy=ByName()))
    first, second = done.configuration.marking.get("s")
    assert first.born < second.born
    joined = [receipt for receipt in done.receipts if receipt.transition == "join"]
    one, _ = start(join, {"p": [1, 2], "q": [2], "r": [1]}).marking.get("p")
    assert joined[0].consumed["p"] == [one.id]


def test_by_age_a_token_that_arrives_never_comes_before_an_older_mode() -> None:
    join = net(Transition.of("add", "r -> q"), Transition.of("join", "p + q -> s", guard=same))
    done = drain(start(join, {"p": [1, 2], "q": [2], "r": [1]}, strategy=Fifo()))
    joined = [receipt for receipt in done.receipts if receipt.transition == "join"]
    _, two = start(join, {"p": [1, 2], "q": [2], "r": [1]}).marking.get("p")
    assert joined[0].consumed["p"] == [two.id]


@pytest.mark.parametrize("strategy", RANKED, ids=lambda one: one.name)
def test_a_read_token_that_was_taken_is_read_no_more(strategy: Strategy) -> None:
    look = net(
        Transition.of("a", "q -> r", guard=lambda m: m["q"] == 1),
        Transition.of("look", "p -> s", reads="q"),
    )
    done = drain(start(look, {"p": [0], "q": [1, 2]}, strategy=strategy))
    (left,) = done.marking.get("q")
    assert [one.transition for one in done.receipts] == ["a", "look"]
    assert done.receipts[1].read == {"q": left.id}


@pytest.mark.parametrize("strategy", RANKED, ids=lambda one: one.name)
def test_a_token_that_was_reset_is_taken_no_more(strategy: Strategy) -> None:
    wipe = net(Transition.of("a", "p -> q", resets="q r"), Transition.of("b", "r -> s"))
    assert fired(wipe, {"p": [1], "q": [1], "r": [1, 2]}, strategy) == ["a"]


@pytest.mark.parametrize("strategy", RANKED, ids=lambda one: one.name)
def test_two_that_want_one_token_do_not_both_get_it(strategy: Strategy) -> None:
    race = net(Transition.of("a", "p -> q"), Transition.of("b", "p -> r"))
    assert fired(race, {"p": [1]}, strategy) == ["a"]


@pytest.mark.parametrize("strategy", RANKED, ids=lambda one: one.name)
def test_what_is_left_of_a_place_that_is_taken_from_and_reset_is_gone(strategy: Strategy) -> None:
    both = net(
        Transition.of("a", "p -> q", resets="p"),
        Transition.of("b", "p -> r", guard=lambda m: m["p"] == 2),
    )
    assert fired(both, {"p": [1, 2]}, strategy) == ["a"]
