"""Items of a long list that are at hand and small go to the worker themselves; all others as references (S9, S18)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import few

from petra.kernel import Program, State, assignment, decide
from petra.kernel import commands as c
from petra.kernel.assignment import SMALL_ITEM, iterations
from petra.kernel.lists import PIECE_BYTES, cut
from petra.kernel.objects import PlainShelf
from petra.playbook import read
from petra.references import is_reference
from petra.wire import Iteration

TEXT = (
    "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\nworkflow:\n- step: s\n"
    "  tool: {kind: python, code: x}\n"
    "  loop: {in: '{{ workload.items }}', iterator: i, spec: {mode: parallel, policy: {exec: local}}}\n"
)


def handed_out(items: list[Any], *, with_shelf: bool) -> tuple[list[Iteration], PlainShelf]:
    program, state, shelf = Program(read(TEXT, "p").checked()), State(id="e"), PlainShelf()
    decide(program, state, c.Start(now=0.0, workload={"items": items}), shelf)
    ((run, chunk),) = [(run.id, chunk) for run in state.runs.values() for chunk in run.chunks]
    given = assignment(program, state, run, chunk, shelf=shelf if with_shelf else None)
    again = iterations(program, state.runs[run], [one.path for one in given.iterations])
    assert [(one.path, one.iter["index"]) for one in again] == [
        (one.path, one.path[-1]) for one in given.iterations
    ]
    return given.iterations, shelf


@pytest.mark.spec("S9", "S18")
def test_small_items_that_are_at_hand_go_themselves() -> None:
    items = list(range(60_000))
    given, _ = handed_out(items, with_shelf=True)
    assert len(given) > 100
    assert [one.iter for one in given] == [{"i": n, "index": n} for n in range(len(given))]


@pytest.mark.spec("S9", "S18")
def test_items_that_nobody_has_at_hand_go_as_references() -> None:
    items = list(range(60_000))
    given, shelf = handed_out(items, with_shelf=False)
    assert all(is_reference(one.iter["i"]) for one in given)
    assert [shelf(one.iter["i"]) for one in given] == items[: len(given)]


@pytest.mark.spec("S9", "S18")
def test_items_that_are_larger_than_a_reference_go_as_references_though_they_are_at_hand() -> None:
    items = [f"{n:0{SMALL_ITEM}}" for n in range(2_000)]
    given, shelf = handed_out(items, with_shelf=True)
    assert all(is_reference(one.iter["i"]) for one in given)
    assert [shelf(one.iter["i"]) for one in given] == items[: len(given)]


def one_by_one(items: list[Any]) -> list[list[Any]]:
    """Cut as the rule says: a piece ends before the item that would make it too large."""
    pieces: list[list[Any]] = []
    size = 0
    for item in items:
        length = len(msgspec.json.encode(item)) + 1
        if not pieces or size + length > PIECE_BYTES:
            pieces.append([])
            size = 0
        pieces[-1].append(item)
        size += length
    return pieces


@pytest.mark.spec("S18")
@settings(max_examples=few(60), deadline=None)
@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 700), st.sampled_from([0, 1, 90, 300, 501, 502, 1_000, 140_000])),
        max_size=6,
    )
)
def test_a_list_is_cut_where_it_was_cut_when_each_item_was_measured(
    sizes: list[tuple[int, int]],
) -> None:
    items = [n if size == 0 else "x" * size for n, size in sizes for _ in range(min(n, 10**6 // (size + 1)) or 1)]  # fmt: skip
    assert list(cut(items)) == one_by_one(items)
