"""Reducers of ctx keys."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.reduce import GROWING, Reducer, reduce_value
from petra.references import look_through, spliced

ABSENT = object()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.spec("S10")
@pytest.mark.parametrize(
    ("reducer", "old", "new", "expected"),
    [
        ("last", 1, 2, 2), ("last", ABSENT, 2, 2),
        ("first", 1, 2, 1), ("first", ABSENT, 2, 2), ("first", None, 2, None),
        ("append", ABSENT, 1, [1]), ("append", [1], [2], [1, [2]]), ("append", None, 1, [1]),
        ("extend", ABSENT, [1], [1]), ("extend", [1], [2, 1], [1, 2, 1]),
        ("sum", ABSENT, 2, 2), ("sum", 1, 2, 3), ("sum", 0.5, 1, 1.5),
        ("min", ABSENT, 2, 2), ("min", 1, 2, 1), ("min", "b", "a", "a"),
        ("max", ABSENT, 2, 2), ("max", 1, 2, 2), ("max", 3, 2.5, 3),
        ("merge", ABSENT, {"a": 1}, {"a": 1}),
        ("merge", {"a": {"x": 1}, "b": 1}, {"a": {"y": 2}}, {"a": {"y": 2}, "b": 1}),
        ("union", ABSENT, [1, 2, 1], [1, 2]), ("union", [3, 1], [2, 1, 3, 4], [3, 1, 2, 4]),
        ("union", ["a"], "b", ["a", "b"]), ("union", [{"a": 1, "b": 2}], [{"b": 2, "a": 1}],
                                           [{"a": 1, "b": 2}]), ("union", [1], [True], [1, True]),
    ],
)  # fmt: skip
def test_a_reducer_combines(reducer: Reducer, old: Any, new: Any, expected: Any) -> None:
    present = old is not ABSENT
    found = reduce_value(reducer, old if present else None, new, present=present)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.spec("S10")
@pytest.mark.parametrize(
    ("reducer", "old", "new"),
    [
        ("append", "text", 1), ("extend", [1], 2), ("extend", {}, [2]), ("sum", 1, "2"), ("sum", 1, True),
        ("sum", [], 1), ("sum", 1e308, 1e308), ("min", 1, "a"), ("max", None, [1]), ("max", True, 1),
        ("merge", [], {}), ("merge", {}, 1), ("union", 5, [1]),
    ],
)  # fmt: skip
def test_a_reducer_refuses_what_it_cannot_combine(reducer: Reducer, old: Any, new: Any) -> None:
    with pytest.raises(ValueError):
        reduce_value(reducer, old, new, present=True)


@pytest.mark.spec("S10")
@given(
    reducer=st.sampled_from(sorted(GROWING)),
    old=st.lists(JSON) | st.dictionaries(st.text(max_size=2), JSON),
    new=JSON,
)
def test_what_is_in_pieces_is_added_to_as_if_it_were_whole(
    reducer: Reducer, old: Any, new: Any
) -> None:
    key = f"e/{'0' * 64}.json"
    reference = spliced("s", [[len(old), key, 1]], type(old)())
    try:
        expected = reduce_value(reducer, old, new, present=True)
    except ValueError:
        if reducer != "union":  # who writes to one has seen what is there
            with pytest.raises(ValueError):
                reduce_value(reducer, reference, new, present=True)
        return
    if reducer == "union":
        new, expected = [new], [*old, new]  # what it had is left out before
    found = reduce_value(reducer, reference, new, present=True)
    assert look_through(found, lambda _: old) == expected


@given(reducer=st.sampled_from(get_args(Reducer)), old=JSON, new=JSON)
def test_a_reducer_is_pure_and_only_ever_refuses(reducer: Reducer, old: Any, new: Any) -> None:
    before = copy.deepcopy((old, new))
    for present in (True, False):
        with contextlib.suppress(ValueError):
            reduce_value(reducer, old, new, present=present)
    assert repr((old, new)) == repr(before)
