"""The lint that says when the order of firing cannot matter."""

from __future__ import annotations

import pytest

from petra.net import (
    Equivalence,
    Mode,
    Net,
    Question,
    Transition,
    compare,
    confluence,
    enabled,
    explore,
    start,
    verify,
)

SIZE = Question("a", lambda data: "big" if isinstance(data, int) and data > 5 else "small")
KIND = Question("a", lambda data: data)
T = Transition.of


def gather(mode: Mode) -> dict[str, list[object]]:
    return {"c": [mode.all("b")]}


CONFLUENT = {
    "a sequence": ([T("t", "a -> b"), T("u", "b -> c")], {"a": [1, 2, 3]}),
    "a split and a join": (
        [T("split", "a -> b + c"), T("join", "b + c -> d")],
        {"a": [1]},
    ),
    "a choice by the data of the token": (
        [
            T("big", "a -> b", guard=SIZE.case("big")),
            T("small", "a -> c", guard=SIZE.case("small")),
        ],
        {"a": [1, 9, 3, 7]},
    ),
    "a shared place that is never shared at once": (
        [T("t", "a + e -> b"), T("u", "b -> c + e"), T("v", "c + e -> d")],
        {"a": [1], "e": [1]},
    ),
    "a guard over its own token": ([T("t", "a -> b", guard=lambda m: m["a"] == 1)], {"a": [1, 2]}),
    "a reset that leaves one partner": (
        [T("t", "a -> b + c", resets="b"), T("join", "b + c -> d")],
        {"a": [1], "b": [2]},
    ),
    "a reset of what nobody else uses": ([T("t", "a -> b", resets="c")], {"a": [1], "c": [1, 2]}),
}

CLASHING = {
    "a free choice": ([T("t", "a -> b"), T("u", "a -> c")], {"a": [1]}, "both want"),
    "guards that both let it pass": (
        [T("t", "a -> b", guard=lambda _: True), T("u", "a -> c", guard=lambda _: True)],
        {"a": [1]},
        "both want",
    ),
    "one answer for two": (
        [T("t", "a -> b", guard=KIND.case(1)), T("u", "a -> c", guard=KIND.case(1, 2))],
        {"a": [1]},
        "both want",
    ),
    "a decision about another token": (
        [
            T("t", "a + e -> b", guard=SIZE.case("big")),
            T("u", "a + e -> c", guard=SIZE.case("small")),
        ],
        {"a": [1, 9], "e": [1]},
        "binds 1 of 2",
    ),
    "partners to choose from": ([T("t", "a + b -> c")], {"a": [1, 2], "b": [1]}, "binds 1 of 2"),
    "an order of arrival that shows": (
        [T("l", "a -> b"), T("r", "d -> b"), T("t", "2 b -> c", fire=gather)],
        {"a": [1], "d": [2]},
        "order of arrival",
    ),
    "a token that is read and taken": (
        [T("t", "a -> b", reads="c"), T("u", "c -> d")],
        {"a": [1], "c": [1]},
        "takes the token",
    ),
    "a place that is emptied and used": (
        [T("t", "a -> b"), T("u", "c -> d", resets="a")],
        {"a": [1], "c": [1]},
        "empties it",
    ),
}


def net(transitions: list[Transition]) -> Net:
    return Net.of("n", places="a b c d e", transitions=transitions)


@pytest.mark.spec("S17", "003§7.3.7-1")
@pytest.mark.parametrize("name", CONFLUENT)
def test_confluent_is(name: str) -> None:
    transitions, tokens = CONFLUENT[name]
    verdict = confluence(net(transitions), tokens)
    assert verdict.confluent, verdict.clash
    assert explore(net(transitions), tokens) is None


@pytest.mark.spec("S17", "003§7.3.7-1")
@pytest.mark.parametrize("name", CLASHING)
def test_not_confluent_is_and_two_runs_show_it(name: str) -> None:
    transitions, tokens, words = CLASHING[name]
    verdict = confluence(net(transitions), tokens)
    assert not verdict.confluent
    assert verdict.clash is not None
    assert words in str(verdict.clash)
    divergence = explore(net(transitions), tokens)
    assert divergence is not None
    assert compare(divergence.left, divergence.right) is divergence.equivalence
    assert divergence.equivalence not in (Equivalence.IDENTITY, Equivalence.CAUSAL)
    for receipts in (divergence.left, divergence.right):
        assert verify(receipts, net(transitions), start(net(transitions), tokens).marking) is None


def test_too_many_markings_to_tell_is_said_and_not_guessed() -> None:
    verdict = confluence(net([T("t", "a -> a + b")]), {"a": [1]}, limit=50)
    assert (verdict.confluent, verdict.clash, verdict.markings) == (False, None, 50)


@pytest.mark.parametrize(("data", "answer"), [(1, "small"), (9, "big"), (None, "small")])
def test_a_decision_gives_each_token_to_one_case(data: object, answer: str) -> None:
    (firing,) = enabled(start(net([T("t", "a -> b")]), {"a": [data]}))
    assert [one for one in ("big", "small") if SIZE.case(one)(firing.mode)] == [answer]
