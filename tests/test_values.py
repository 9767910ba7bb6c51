from __future__ import annotations

import sys
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.values import canonical, digest, index_in, weight

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


@pytest.mark.spec("S17")
@given(json_values)
def test_an_object_with_very_many_keys_has_the_bytes_that_any_has(value: object) -> None:
    with pytest.MonkeyPatch.context() as patched:
        whole = canonical(value)
        patched.setattr("petra.values._WIDE", 1)
        patched.setattr("petra.values._AT_ONCE", 2)
        assert canonical(value) == whole
        assert canonical([value, {"a": value, "ä": [1.5], "\U0010ffff": None}]).count(whole) >= 2


def test_no_other_thread_waits_for_a_million_keys_to_be_sorted() -> None:
    """The encoder would have to sort them in one go; here it is handed what is in order, a thousand at a time."""
    longest: list[int] = []

    class Encoder:
        def encode(self, value: object) -> bytes:
            longest.append(len(value) if isinstance(value, dict) else 0)
            return b"{}"

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("petra.values._encoder", Encoder())
        canonical({"rows": {str(n): n for n in range(30_000)}})
    assert max(longest) == 1_000


@pytest.mark.parametrize(
    ("part", "index"),
    [("0", 0), ("2", 2), ("3", None), ("-1", None), ("", None), ("a", None), ("²", None), ("9" * 5_000, None)],
)  # fmt: skip
def test_a_part_of_a_path_names_an_item_or_none(part: str, index: int | None) -> None:
    assert index_in(3, part) == index
