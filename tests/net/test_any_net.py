"""Whatever the net, the tokens and the strategy, these hold."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from thoroughness import few

from petra.net import (
    Abort,
    ByHash,
    ByName,
    Equivalence,
    Fifo,
    Mode,
    Net,
    Priority,
    Production,
    Question,
    Random,
    Receipt,
    Strategy,
    Transition,
    compare,
    confluence,
    drain,
    enabled,
    explore,
    first_difference,
    is_quiescent,
    read_receipts,
    start,
    step,
    verify,
    write_receipts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# A busy machine is no defect of the code.
CALM = settings(
    max_examples=few(50),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

PLACES = ["a", "b", "c", "d", "e"]


def total(mode: Mode) -> int:
    return sum(number(one.data) for tokens in mode.taken.values() for one in tokens)


def number(data: object) -> int:
    return data if isinstance(data, int) else 0


def parity(data: object) -> str:
    return "odd" if number(data) % 2 else "even"


PARITY = {place: Question(place, parity) for place in PLACES}


def counting(outputs: dict[str, int], *, declines: bool) -> Callable[[Mode], Production | Abort]:
    def fire(mode: Mode) -> Production | Abort:
        if declines and total(mode) % 3 == 1:
            return Abort("one too many")
        return {place: [total(mode) + 1] * weight for place, weight in outputs.items()}

    return fire


def weights(least: int) -> st.SearchStrategy[dict[str, int]]:
    weight = st.sampled_from([1, 1, 1, 2])
    return st.dictionaries(st.sampled_from(PLACES), weight, min_size=least, max_size=2)


@st.composite
def transitions(draw: st.DrawFn, name: str) -> Transition:
    inputs = draw(weights(1))
    outputs = draw(st.one_of(weights(1), weights(1), weights(0)))
    rare = st.lists(st.sampled_from(PLACES), max_size=1)
    guard = draw(
        st.sampled_from(
            [
                None,
                None,
                lambda mode: total(mode) % 2 == 0,
                PARITY[next(iter(inputs))].case("even"),
                PARITY[next(iter(inputs))].case("odd"),
            ]
        )
    )
    fire = draw(
        st.sampled_from([None, counting(outputs, declines=False), counting(outputs, declines=True)])
    )
    reads = draw(st.one_of(st.just([]), st.just([]), rare))
    return Transition.of(
        name,
        (inputs, outputs),
        reads=[place for place in reads if place not in inputs],
        resets=draw(st.one_of(st.just([]), st.just([]), rare)),
        guard=guard,
        fire=fire,
        priority=draw(st.integers(0, 2)),
    )


@st.composite
def nets(draw: st.DrawFn) -> Net:
    names = draw(st.lists(st.sampled_from("tuvwxyz"), min_size=2, max_size=6, unique=True))
    return Net.of(
        "any",
        places=PLACES,
        transitions=[draw(transitions(name)) for name in names],
        initial=draw(st.dictionaries(st.sampled_from(PLACES), st.integers(1, 2), max_size=2)),
    )


token_data = st.dictionaries(
    st.sampled_from(PLACES), st.lists(st.integers(0, 5), min_size=1, max_size=3), min_size=2
)
strategies: st.SearchStrategy[Strategy] = st.one_of(
    st.just(Fifo()),
    st.just(Priority()),
    st.just(Priority(of=lambda transition: -transition.priority)),
    st.just(ByName()),
    st.builds(ByHash, st.integers(0, 9)),
    st.builds(Random, st.integers(0, 9)),
)


@pytest.mark.spec("S17", "003§7.3.3-1", "003§7.3.6-1", "003§7.3.6-2")
@CALM
@given(nets(), token_data, strategies)
def test_a_strategy_orders_every_enabled_firing_and_each_once(
    net: Net, tokens: dict[str, list[int]], strategy: Strategy
) -> None:
    configuration = drain(start(net, tokens, strategy=strategy), 5).configuration
    ordered = [(one.transition.name, repr(one.mode)) for one in enabled(configuration)]
    again = [(one.transition.name, repr(one.mode)) for one in enabled(configuration)]
    by_name = start(net, tokens, strategy=ByName())
    assert ordered == again
    assert len(set(ordered)) == len(ordered)
    everything = ByName().order(net, configuration.marking.tokens, run=by_name.run, k=0)
    assert sorted(ordered) == sorted((one.transition.name, repr(one.mode)) for one in everything)


@pytest.mark.spec("S17", "003§7.3.3.3-3", "003§7.3.6-4")
@CALM
@given(nets(), token_data, strategies)
def test_a_drain_fires_what_the_order_of_the_strategy_says(
    net: Net, tokens: dict[str, list[int]], strategy: Strategy
) -> None:
    configuration = start(net, tokens, strategy=strategy)
    drained = drain(configuration, 12)
    for receipt in drained.receipts:
        order = list(enabled(configuration))
        chosen = order[receipt.attempt]
        assert receipt.transition == chosen.transition.name
        assert receipt.consumed == {
            place: [one.id for one in some] for place, some in chosen.mode.taken.items()
        }
        assert all(
            isinstance(one.transition.fire(one.mode), Abort) if one.transition.fire else False
            for one in order[: receipt.attempt]
        )
        stepped = step(configuration)
        assert stepped.receipt == receipt
        configuration = stepped.configuration
    assert configuration.marking == drained.marking


@pytest.mark.spec("S17", "003§7.3.1-1", "003§7.3.1-2", "003§7.3.5-5")
@CALM
@given(nets(), token_data, strategies)
def test_the_same_inputs_give_the_same_bytes(
    net: Net, tokens: dict[str, list[int]], strategy: Strategy
) -> None:
    one, two, three = (
        drain(start(net, tokens, strategy=strategy, ts=day), 20, ts=day).configuration.receipts
        for day in ("monday", "tuesday", "monday")
    )
    assert compare(one, two) is Equivalence.IDENTITY
    assert first_difference(one, two) is None
    assert write_receipts(one) != write_receipts(two)
    assert write_receipts(one) == write_receipts(three)


@pytest.mark.spec("S17", "003§7.3.1-4")
@CALM
@given(nets(), token_data, strategies)
def test_what_was_recorded_verifies_after_a_round_trip(
    net: Net, tokens: dict[str, list[int]], strategy: Strategy
) -> None:
    first = start(net, tokens, strategy=strategy)
    done = drain(first, 20).configuration
    receipts = read_receipts(write_receipts(done.receipts))
    assert tuple(receipts) == done.receipts
    assert verify(receipts, net, first.marking) is None
    assert [one.after for one in receipts[:-1]] == [one.before for one in receipts[1:]]
    assert all(two.previous == one.hash for one, two in pairwise(receipts))


@pytest.mark.slow
@pytest.mark.spec("S17", "003§7.3.1-4")
@settings(CALM, max_examples=few(100))
@given(st.data(), nets(), token_data, strategies)
def test_any_changed_byte_is_named(
    data: st.DataObject, net: Net, tokens: dict[str, list[int]], strategy: Strategy
) -> None:
    first = start(net, tokens, strategy=strategy)
    receipts = list(drain(first, 8).configuration.receipts)
    index = data.draw(st.integers(0, len(receipts) - 1))
    record = msgspec.to_builtins(receipts[index])
    field = data.draw(st.sampled_from([name for name in record if name != "ts"]))
    record[field] = data.draw(changed(record[field]))
    try:
        receipts[index] = msgspec.convert(record, Receipt)
    except msgspec.ValidationError:
        return
    flaw = verify(receipts, net, first.marking)
    assert flaw is not None
    assert flaw.index == index


def changed(value: object) -> st.SearchStrategy[object]:
    """Return ways to change a JSON value, down to one character of one string inside it."""
    if isinstance(value, int):
        return st.integers(0, 2**40).filter(lambda other: other != value)
    if isinstance(value, str):
        return st.integers(0, len(value) - 1).map(partial(flip, value)) if value else st.just("x")
    if isinstance(value, list):
        inside = [changed(one).map(partial(put, value, at)) for at, one in enumerate(value)]
        return st.one_of(st.just([*value, "x"]), *(st.just(value[:-1]) for _ in value), *inside)
    assert isinstance(value, dict)
    inside = [changed(one).map(partial(put, value, key)) for key, one in value.items()]
    drops = [st.just({k: v for k, v in value.items() if k != key}) for key in value]
    return st.one_of(st.just({**value, "new": []}), *drops, *inside)


def flip(text: str, at: int) -> str:
    return text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]


def put(value: Any, key: Any, new: object) -> object:
    copy = value.copy()
    copy[key] = new
    return copy


@pytest.mark.spec("003§7.4.1-1", "003§7.4.1.1-1", "003§7.4.1.4-1")
@CALM
@given(nets(), token_data, strategies)
def test_a_drain_that_was_not_limited_left_nothing_that_can_fire(
    net: Net, tokens: dict[str, list[int]], strategy: Strategy
) -> None:
    drained = drain(start(net, tokens, strategy=strategy), 15)
    assert len(drained.receipts) <= 15
    if drained.limited:
        assert len(drained.receipts) == 15
        assert not is_quiescent(drained.configuration)
    else:
        assert len(drained.receipts) == 15 or drain(drained.configuration, 1).receipts == ()
        assert is_quiescent(drained.configuration) == (not drained.aborts)


@pytest.mark.slow
@pytest.mark.spec("S17", "003§7.3.7-1", "003§7.3.7-6")
@settings(CALM, max_examples=few(40))
@given(nets(), token_data)
def test_what_the_lint_calls_confluent_runs_the_same_under_all_strategies(
    net: Net, tokens: dict[str, list[int]]
) -> None:
    assume(confluence(net, tokens, limit=300).confluent)
    divergence = explore(net, tokens, seeds=20, max_steps=40)
    assert divergence is None
