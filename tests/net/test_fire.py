"""How a net moves, alone and by the hand of the outside world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from petra.errors import NetError
from petra.net import (
    Abort,
    ByName,
    Net,
    Priority,
    Random,
    Transition,
    cancel_region,
    drain,
    enabled,
    exchange,
    inject,
    is_quiescent,
    start,
    step,
    verify,
    withdraw,
)

if TYPE_CHECKING:
    from petra.net import Configuration, Mode, Production, Receipt


def net(*transitions: Transition, initial: dict[str, int] | None = None) -> Net:
    return Net.of("n", places="a b c d", transitions=transitions, initial=initial)


def names(receipts: tuple[Receipt, ...]) -> list[str]:
    return [receipt.transition for receipt in receipts]


def test_a_single_token_carries_its_data_on() -> None:
    copy = net(Transition.of("t", "a -> b + 2 c"))
    after = drain(start(copy, {"a": [{"n": 7}]})).marking
    assert after.data("b") == [{"n": 7}]
    assert after.data("c") == [{"n": 7}, {"n": 7}]


def test_several_tokens_become_plain_ones() -> None:
    join = net(Transition.of("t", "a + b -> c"))
    assert drain(start(join, {"a": [1], "b": [2]})).marking.data("c") == [None]


def test_a_fire_function_computes_what_is_produced() -> None:
    add = net(
        Transition.of("t", "2 a + b -> c", fire=lambda mode: {"c": [[*mode.all("a"), mode["b"]]]})
    )
    assert drain(start(add, {"a": [1, 2], "b": [3]})).marking.data("c") == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("production", "words"),
    [
        pytest.param(
            {"b": []}, "produced 0 tokens for place 'b', but its arc says 1", id="too few"
        ),
        pytest.param({"b": [1, 2]}, "produced 2 tokens", id="too many"),
        pytest.param({}, "produced 0 tokens", id="left out"),
        pytest.param({"b": [1], "c": [1]}, "unknown output place 'c'", id="no such arc"),
        pytest.param({"b": "x"}, "must give place 'b' a list", id="not a list"),
        pytest.param({"b": [object()]}, "JSON values only", id="not JSON"),
    ],
)
def test_a_firing_that_breaks_its_arcs_fails_and_changes_nothing(
    production: Production, words: str
) -> None:
    broken = start(net(Transition.of("t", "a -> b", fire=lambda _: production)), {"a": [1]})
    with pytest.raises(NetError, match=words):
        step(broken)
    assert broken.marking.counts() == {"a": 1}
    assert len(broken.receipts) == 1


@pytest.mark.spec("003§7.4.1.1-2")
def test_an_exception_in_a_fire_function_is_a_failure_and_never_rest() -> None:
    def fail(_: Mode) -> Production:
        raise ZeroDivisionError

    broken = start(net(Transition.of("t", "a -> b", fire=fail)), {"a": [1]})
    with pytest.raises(ZeroDivisionError):
        drain(broken)
    assert not is_quiescent(broken)


@pytest.mark.spec("S17", "003§7.3.3-2", "003§7.4.2-1")
def test_after_an_abort_the_next_mode_and_then_the_next_transition_is_tried() -> None:
    def only_three(mode: Mode) -> Production | Abort:
        return {"b": [mode["a"]]} if mode["a"] == 3 else Abort(f"not {mode['a']}")

    picky = Transition.of("picky", "a -> b", fire=only_three)
    other = Transition.of("then", "a -> c")
    stepped = step(start(net(picky, other), {"a": [1, 2, 3]}, strategy=ByName()))
    assert stepped.receipt is not None
    assert (stepped.receipt.transition, stepped.receipt.attempt) == ("picky", 2)
    assert [abort.reason for abort in stepped.aborts] == ["not 1", "not 2"]
    assert stepped.marking.data("b") == [3]
    stepped = step(stepped.configuration)
    assert stepped.receipt is not None
    assert (stepped.receipt.transition, stepped.receipt.attempt) == ("then", 2)


@pytest.mark.spec("S17", "003§7.3.3-3")
def test_when_all_abort_the_step_says_so_and_nothing_has_changed() -> None:
    never = Transition.of("never", "a -> b", fire=lambda _: Abort("no"))
    before = start(net(never), {"a": [1, 2]})
    stepped = step(before)
    assert stepped.receipt is None
    assert [abort.transition for abort in stepped.aborts] == ["never", "never"]
    assert stepped.configuration == before
    assert stepped.configuration.receipts == before.receipts
    assert not is_quiescent(before)


@pytest.mark.spec("003§7.3.3.2-4", "003§7.3.3.2-1")
def test_fifo_fires_what_became_possible_first() -> None:
    old = net(
        Transition.of("z", "a -> d"), Transition.of("b", "b -> c"), Transition.of("a", "c -> d")
    )
    first = inject(inject(inject(start(old), "a"), "b"), "a")
    assert names(drain(first).receipts) == ["z", "b", "z", "a"]


@pytest.mark.spec("003§7.3.3.2-2", "003§7.3.3.3-1", "003§7.3.3.3-2", "003§7.3.8-4")
def test_priority_fires_the_lowest_number_first_and_a_function_may_give_it() -> None:
    urgent = net(
        Transition.of("late", "a -> d", priority=5),
        Transition.of("plain", "b -> d"),
        Transition.of("soon", "c -> d", priority=-1),
        initial={"a": 1, "b": 1, "c": 1},
    )
    by_number = drain(start(urgent, strategy=Priority()))
    assert names(by_number.receipts) == ["soon", "plain", "late"]
    reverse = Priority(of=lambda transition: -transition.priority)
    assert names(drain(start(urgent, strategy=reverse)).receipts) == ["late", "plain", "soon"]


@pytest.mark.spec("003§7.3.3.2-3", "003§7.3.3.4-1", "003§7.3.3.4-2")
def test_name_goes_by_bytes_of_the_normal_form() -> None:
    names_in_order = ["B", "a", "z", "\u00e9t\u00e9"]
    spelled = [*reversed(names_in_order[:3]), "e\u0301te\u0301"]
    mixed = net(*(Transition.of(name, "a -> b") for name in spelled), initial={"a": 1})
    ordered = [one.transition.name for one in enabled(start(mixed, strategy=ByName()))]
    assert ordered == ["B", "a", "z", "e\u0301te\u0301"]


@pytest.mark.spec("003§7.3.3.2-5", "003§7.3.3.2-6", "003§7.3.1-3")
def test_every_seed_of_random_is_reproducible_and_some_differ() -> None:
    def order(seed: int) -> tuple[str, ...]:
        wide = net(*(Transition.of(name, "a -> b") for name in "stuv"), initial={"a": 4})
        return tuple(names(drain(start(wide, strategy=Random(seed))).receipts))

    assert [order(seed) for seed in range(5)] == [order(seed) for seed in range(5)]
    assert len({order(seed) for seed in range(20)}) > 5


@pytest.mark.spec("003§7.4.1.4-1")
def test_a_drain_stops_at_its_limit_and_says_so() -> None:
    endless = start(net(Transition.of("t", "a -> a"), initial={"a": 1}))
    drained = drain(endless, max_steps=25)
    assert (len(drained.receipts), drained.limited) == (25, True)
    assert drain(endless, max_steps=0).limited
    exact = drain(start(net(Transition.of("t", "a -> b"), initial={"a": 3})), max_steps=3)
    assert (len(exact.receipts), exact.limited) == (3, False)


def test_a_read_arc_needs_a_token_and_leaves_it() -> None:
    look = net(Transition.of("t", "a -> c", reads="b"), initial={"a": 2})
    assert is_quiescent(start(look))
    drained = drain(inject(start(look), "b", "key"))
    assert drained.marking.counts() == {"b": 1, "c": 2}
    assert drained.marking.data("b") == ["key"]
    (key,) = drained.marking.get("b")
    assert all(receipt.read == {"b": key.id} for receipt in drained.receipts)


@pytest.mark.spec("003§7.4.2.1-5", "003§7.4.2.1-6")
def test_a_reset_empties_its_place_before_anything_is_produced() -> None:
    reset = net(Transition.of("t", "a -> b", resets="b c"), initial={"a": 1, "b": 3, "c": 2})
    drained = drain(start(reset))
    assert drained.marking.counts() == {"b": 1}
    (receipt,) = drained.receipts
    assert {place: len(ids) for place, ids in receipt.reset.items()} == {"b": 3, "c": 2}
    assert verify(drained.configuration.receipts, reset) is None


def test_a_transition_that_takes_nothing_gives_every_token_a_name_of_its_own() -> None:
    spring = net(Transition.of("spring", "-> a"), Transition.of("t", "a -> b"))
    drained = drain(start(spring), max_steps=10)
    ids = [one.id for receipt in drained.receipts for one in receipt.produced]
    assert len(set(ids)) == len(ids)
    assert verify(drained.configuration.receipts, spring) is None
    more = drain(drained.configuration, max_steps=5).configuration
    assert verify(more.receipts, spring) is None


@pytest.mark.spec("003§7.4.1.3-1")
def test_acts_from_outside_are_recorded_as_receipts() -> None:
    simple = net(Transition.of("t", "a + b -> c"))
    given = inject(start(simple), "a", 1, 2, reason="by hand", ts=5)
    (first, second) = given.marking.get("a")
    taken = withdraw(given, "a", first.id)
    swapped = exchange(taken, {"a": [second.id]}, {"b": ["x"], "a": ["y"]})
    done = drain(cancel_region(inject(swapped, "d"), ["d"])).configuration
    assert [(one.kind, one.transition) for one in done.receipts] == [
        ("start", ""),
        ("inject", "by hand"),
        ("withdraw", ""),
        ("exchange", ""),
        ("inject", ""),
        ("cancel", ""),
        ("fire", "t"),
    ]
    assert done.marking.counts() == {"c": 1}
    assert done.receipts[1].ts == 5
    assert verify(done.receipts, simple) is None


def test_injected_tokens_are_named_by_the_sequence_of_acts() -> None:
    simple = net(Transition.of("t", "a -> b"))
    one = inject(inject(start(simple), "a"), "a")
    two = inject(inject(start(simple, run="other"), "a"), "a")
    assert one.marking == two.marking
    assert len({token.id for token in one.marking.get("a")}) == 2


def test_a_refused_act_changes_nothing() -> None:
    before = start(net(Transition.of("t", "a -> b"), initial={"c": 1}))
    with pytest.raises(NetError, match="unknown place 'x'"):
        inject(before, "x")
    with pytest.raises(NetError, match="insufficient tokens"):
        withdraw(before, "c", "nobody")
    with pytest.raises(NetError, match="insufficient tokens"):
        exchange(before, {"c": [before.marking.get("c")[0].id], "a": ["nobody"]}, {"b": [1]})
    with pytest.raises(NetError, match="unknown place 'x'"):
        cancel_region(before, ["c", "x"])
    assert before.marking.counts() == {"c": 1}
    assert len(before.receipts) == 1


def test_two_futures_of_one_configuration_do_not_see_each_other() -> None:
    simple = net(Transition.of("t", "a -> b"), initial={"a": 2})
    present = step(start(simple)).configuration
    one, two = inject(present, "c"), drain(present).configuration
    again: Configuration = inject(one, "d")
    assert [receipt.kind for receipt in one.receipts] == ["start", "fire", "inject"]
    assert [receipt.kind for receipt in two.receipts] == ["start", "fire", "fire"]
    assert [receipt.kind for receipt in again.receipts] == ["start", "fire", "inject", "inject"]
    assert all(verify(some.receipts, simple) is None for some in (one, two, again))


def test_stepping_costs_no_more_with_many_tokens() -> None:
    asked: list[object] = []

    def even(mode: Mode) -> bool:
        asked.append(mode["a"])
        return isinstance(mode["a"], int) and mode["a"] % 2 == 0

    choice = net(Transition.of("even", "a -> b", guard=even), Transition.of("rest", "c -> d"))
    drained = drain(start(choice, {"a": range(1000), "c": range(500)}))
    assert drained.marking.counts() == {"a": 500, "b": 500, "d": 500}
    assert len(asked) == 1000
