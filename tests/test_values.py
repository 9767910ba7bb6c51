from __future__ import annotations

import sys
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.values import canonical, digest, weight

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.spec("S17")
@given(st.dictionaries(st.text(), json_values))
def test_the_order_of_keys_never_changes_the_digest(value: dict[str, object]) -> None:
    assert digest(dict(reversed(value.items()))) == digest(value)


def test_canonical_bytes_are_sorted_and_without_white_space() -> None:
    assert canonical({"b": 1, "a": [1.5, None, True]}) == b'{"a":[1.5,null,true],"b":1}'


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": {"b": float("-inf")}}])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not a JSON value"):
        canonical(value)


def deep_size(value: object) -> int:
    size = sys.getsizeof(value)
    if isinstance(value, dict):
        return size + sum(map(deep_size, value.values()))
    return size + sum(map(deep_size, value)) if isinstance(value, list) else size


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([{"n": one} for one in range(10_000)], id="short rows"),
        pytest.param(
            [{"id": one, "on": [one, str(one)]} for one in range(5_000)], id="longer rows"
        ),
        pytest.param({str(one): one / 7 for one in range(5_000)}, id="a table"),
        pytest.param(["x" * 1_000] * 500, id="texts"),
        pytest.param("é" * 100_000, id="a text"),
        pytest.param([], id="nothing"),
    ],
)
def test_a_value_is_weighed_about_as_it_is_in_memory(value: object) -> None:
    assert 0.6 * deep_size(value) <= weight(value) <= 1.6 * deep_size(value)


def test_weighing_looks_at_a_sample_only() -> None:
    class Counted(list[object]):
        seen = 0

        def __getitem__(self, place: object) -> object:  # type: ignore[override]
            Counted.seen += 1
            return 7

        def __iter__(self) -> NoReturn:
            raise AssertionError("all of it is looked at")

    assert weight(Counted([0] * 1_000_000)) > 8_000_000
    assert 0 < Counted.seen <= 100
