from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.values import canonical, digest

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
