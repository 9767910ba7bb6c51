"""The chain of receipts, its verification, and the ways two runs are the same."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
from thoroughness import QUICK

from petra.errors import NetError
from petra.net import (
    ByName,
    Equivalence,
    Fifo,
    Net,
    Priority,
    Produced,
    Random,
    Receipt,
    Transition,
    compare,
    drain,
    first_difference,
    inject,
    read_receipts,
    start,
    verify,
    write_receipts,
)
from petra.net.receipt import sealed

if TYPE_CHECKING:
    from petra.net import Mode, Production

DIAMOND = Net.of(
    "diamond",
    places="start a b left right end",
    transitions=[
        Transition.of("split", "start -> a + b"),
        Transition.of("l", "a -> left", priority=1),
        Transition.of("r", "b -> right"),
        Transition.of("join", "left + right -> end"),
    ],
    initial={"start": 1},
    final={"end": 1},
)


def run(net: Net, strategy: ByName | Priority | Fifo | Random) -> tuple[Receipt, ...]:
    return drain(start(net, strategy=strategy)).configuration.receipts


@pytest.mark.spec("S17", "003§7.3.5-1", "003§7.3.5-2", "003§7.3.5-3", "003§7.3.5-4")
def test_a_receipt_says_what_happened_and_the_seal_leaves_the_time_out() -> None:
    done = drain(start(DIAMOND, run="r1"), ts="now").configuration
    split = done.receipts[1]
    assert (split.k, split.run, split.kind, split.transition) == (1, "r1", "fire", "split")
    assert (split.strategy, split.net, split.ts) == ("fifo", DIAMOND.digest(), "now")
    (taken,) = split.consumed["start"]
    assert taken == done.receipts[0].produced[0].id
    assert [one.place for one in split.produced] == ["a", "b"]
    assert msgspec.structs.replace(split, ts="later").seal() == split.hash


@pytest.mark.spec("S17")
def test_verify_names_the_first_bad_record() -> None:
    receipts = list(run(DIAMOND, Fifo()))
    assert verify(receipts, DIAMOND) is None
    receipts[2] = msgspec.structs.replace(receipts[2], transition="r")
    receipts[4] = msgspec.structs.replace(receipts[4], after="0" * 64)
    flaw = verify(receipts, DIAMOND)
    assert flaw is not None
    assert str(flaw).startswith("receipt 2: hash: ")


@pytest.mark.spec("S17")
@pytest.mark.parametrize(
    ("at", "change", "field"),
    [
        pytest.param(1, {"transition": "nobody"}, "transition", id="no such transition"),
        pytest.param(2, {"transition": "r"}, "consumed", id="other arcs"),
        pytest.param(2, {"consumed": {"a": ["x"]}}, "consumed", id="a token that is not there"),
        pytest.param(2, {"read": {"b": "x"}}, "read", id="a read that is none"),
        pytest.param(2, {"reset": {"b": []}}, "reset", id="a reset that is none"),
        pytest.param(2, {"produced": []}, "produced", id="nothing produced"),
        pytest.param(
            2, {"produced": [Produced("left", "x", "y")]}, "produced", id="a token of other causes"
        ),
        pytest.param(0, {"produced": []}, "after", id="no initial token"),
        pytest.param(2, {"after": "0" * 64}, "after", id="another marking after"),
        pytest.param(2, {"before": "0" * 64}, "before", id="another marking before"),
        pytest.param(2, {"k": 7}, "k", id="another position"),
        pytest.param(2, {"run": "x"}, "run", id="another run"),
        pytest.param(2, {"net": "x"}, "net", id="another net"),
        pytest.param(2, {"strategy": "x"}, "strategy", id="another strategy"),
        pytest.param(2, {"kind": "start"}, "kind", id="a second start"),
        pytest.param(2, {"attempt": -1}, "attempt", id="an impossible attempt"),
        pytest.param(2, {"previous": "x"}, "previous", id="another past"),
    ],
)
def test_a_record_that_was_sealed_anew_is_still_found(
    at: int, change: dict[str, object], field: str
) -> None:
    receipts = list(run(DIAMOND, Fifo()))
    receipts[at] = sealed(msgspec.structs.replace(receipts[at], **change))
    flaw = verify(receipts, DIAMOND)
    assert flaw is not None
    assert (flaw.index, flaw.field) == (at, field)


@pytest.mark.spec("S17")
def test_the_seal_covers_every_field_but_the_time() -> None:
    receipt = run(DIAMOND, Fifo())[2]
    for field in set(Receipt.__struct_fields__) - {"hash", "ts"}:
        other = [] if field == "produced" else "other"
        assert msgspec.structs.replace(receipt, **{field: other}).seal() != receipt.hash, field


def test_a_reset_that_hides_a_token_is_found() -> None:
    wipe = Net.of(
        "wipe",
        places="a b c",
        transitions=[Transition.of("t", "a -> c", resets="b")],
        initial={"a": 1, "b": 2},
    )
    first, second = run(wipe, Fifo())
    hidden = sealed(msgspec.structs.replace(second, reset={"b": second.reset["b"][:1]}))
    flaw = verify([first, hidden], wipe)
    assert flaw is not None
    assert (flaw.index, flaw.field) == (1, "reset")


@pytest.mark.spec("S17")
def test_a_record_that_is_left_out_or_moved_is_found() -> None:
    receipts = list(run(DIAMOND, Fifo()))
    without = verify(receipts[:2] + receipts[3:], DIAMOND)
    swapped = verify([*receipts[:2], receipts[3], receipts[2], receipts[4]], DIAMOND)
    assert without is not None
    assert swapped is not None
    assert without.index == swapped.index == 2
    assert verify([], DIAMOND) is not None
    assert verify(receipts[1:], DIAMOND) is not None


def test_another_initial_marking_is_found() -> None:
    started = start(DIAMOND, {"start": ["data"]})
    assert verify(started.receipts, DIAMOND, started.marking) is None
    flaw = verify(started.receipts, DIAMOND)
    assert flaw is not None
    assert (flaw.index, flaw.field) == (0, "produced")


def test_a_line_that_is_no_receipt_is_named() -> None:
    lines = write_receipts(run(DIAMOND, Fifo()))
    with pytest.raises(NetError, match="line 6 is not a receipt"):
        read_receipts(lines + b'{"k": 1}\n')


@pytest.mark.spec("S17", "003§7.3.2-3", "003§7.3.2-4", "003§7.3.7-6")
def test_the_order_of_independent_firings_is_no_causal_difference() -> None:
    one, two = run(DIAMOND, ByName()), run(DIAMOND, Priority())
    assert [x.transition for x in one[2:4]] == ["l", "r"]
    assert [x.transition for x in two[2:4]] == ["r", "l"]
    assert first_difference(one, two) == 0  # the strategy's name is in every receipt
    assert compare(one, two) is Equivalence.CAUSAL


def test_who_took_which_of_two_equal_tokens_is_an_outcome_of_its_own() -> None:
    both = Net.of(
        "both",
        places="a b c",
        transitions=[Transition.of("x", "a -> b"), Transition.of("y", "a -> c")],
        initial={"a": 2},
    )
    found = {compare(run(both, Random(0)), run(both, Random(seed))) for seed in range(30)}
    assert Equivalence.OUTCOME in found


def test_different_firings_may_leave_the_same_marking() -> None:
    choice = Net.of(
        "choice",
        places="a b",
        transitions=[Transition.of("x", "a -> b", priority=1), Transition.of("y", "a -> b")],
        initial={"a": 1},
    )
    assert compare(run(choice, ByName()), run(choice, Priority())) is Equivalence.MARKING


def test_different_data_is_a_different_outcome() -> None:
    def fire(mode: Mode) -> Production:
        return {"b": [mode["a"]]}

    copy = Net.of("copy", places="a b", transitions=[Transition.of("t", "a -> b", fire=fire)])
    one = drain(inject(start(copy), "a", 1)).configuration.receipts
    two = drain(inject(start(copy), "a", 2)).configuration.receipts
    assert compare(one, two) is Equivalence.NONE


def test_a_reset_depends_on_everything_that_used_its_place() -> None:
    reset = Net.of(
        "reset",
        places="a b c d e",
        transitions=[
            Transition.of("use", "a -> b", priority=1),
            Transition.of("used", "b -> c", priority=1),
            Transition.of("wipe", "d -> e", resets="b", priority=2),
        ],
        initial={"a": 1, "d": 1},
    )
    first = run(reset, Priority())
    last = run(reset, Priority())
    wiped_first = drain(
        start(reset, strategy=Priority(of=lambda transition: -transition.priority))
    ).configuration.receipts
    assert compare(first, last) is Equivalence.IDENTITY
    assert compare(first, wiped_first) is Equivalence.OUTCOME


def test_the_order_of_two_resets_of_one_place_is_a_causal_difference() -> None:
    twice = Net.of(
        "twice",
        places="a b c d",
        transitions=[
            Transition.of("one", "a -> c", resets="d", priority=2),
            Transition.of("two", "b -> c", resets="d", priority=1),
        ],
        initial={"a": 1, "b": 1},
    )
    assert compare(run(twice, ByName()), run(twice, Priority())) is Equivalence.OUTCOME


SCRIPT = """
import sys
from petra.net import *
kinds = Question("a", lambda data: data["kind"])
net = Net.of("seeds", places=["a", "b", "c", "\u00e4", "log"], transitions=[
    Transition.of("left", "a -> b", guard=kinds.case("l")),
    Transition.of("right", "a -> c", guard=kinds.case("r")),
    Transition.of("pair", "b + c -> \u00e4 + log", fire=lambda m: {"\u00e4": [{"z": m["b"], "a": m["c"]}], "log": [1]}),
    Transition.of("wipe", "2 log -> ", resets="b", priority=-1),
])
tokens = {"a": [{"kind": kind, "n": n, "of": {"x": 1, "b": 2}} for n, kind in enumerate("lrrllrlrlr")]}
for strategy in (Fifo(), Priority(), ByName(), ByHash(3), Random(4)):
    done = drain(inject(start(net, tokens, strategy=strategy), "log", 1.5)).configuration
    sys.stdout.buffer.write(write_receipts(done.receipts))
"""


HASH_SEEDS = ("0", "1") if QUICK else ("0", "1", "2", "42", "4294967295")


@pytest.mark.slow
@pytest.mark.spec("S17", "003§7.3.1-1", "003§7.3.1-5")
def test_receipts_are_the_same_bytes_under_any_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            check=True,
            capture_output=True,
        ).stdout
        for seed in HASH_SEEDS
    }
    assert len(outputs) == 1
    (lines,) = outputs
    assert len(read_receipts(lines)) > 50
