"""Answers fit, stay data, and say how to get the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.agents.cutting import ANSWER_MAX, fitting, part
from petra.agents.toolbox import among
from petra.client.problems import ServerError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=300),
    lambda below: st.lists(below, max_size=40) | st.dictionaries(st.text(max_size=20), below, max_size=40),
    max_leaves=60,
)  # fmt: skip


@given(VALUES, st.integers(200, 3000))
def test_whatever_is_answered_fits_and_is_data(value: Any, room: int) -> None:
    found = fitting(value, "ask", room)
    assert len(json.dumps(found, ensure_ascii=False, separators=(",", ":"))) <= room * 1.1
    if found != value:
        assert found["_cut"]["how"] == "ask"


def test_what_is_long_is_cut_where_it_is_long() -> None:
    found = fitting({"a": 1, "text": "x" * 100_000, "rows": list(range(50_000))}, "ask")
    assert found["a"] == 1
    assert found["text"].endswith("more characters]")
    assert found["rows"][:3] == [0, 1, 2]
    assert len(json.dumps(found)) <= ANSWER_MAX


def test_ten_megabytes_and_a_deep_value_are_cut() -> None:
    deep: Any = "end"
    for _ in range(200):
        deep = {"more": [deep]}
    found = fitting({"deep": deep, "large": "x" * 10_000_000}, "ask")
    assert found["_cut"]["characters"] > 10_000_000


def test_a_pointer_leads_to_a_part_or_says_where_it_ends() -> None:
    value = {"a/b": [{"~": "hello"}], "": 1}
    assert part(value, "/a~1b/0/~0", 1, 2) == {
        "value": "el",
        "offset": 1,
        "of": 5,
        "next_offset": 3,
    }
    assert part(value, "", 0, 1) == {"value": value}
    assert part(value, "/", 0, 1) == {"value": 1}
    for wrong in ("/c", "/a~1b/1", "/a~1b/-1", "/a~1b/0/~0/0"):
        with pytest.raises(LookupError, match="there is no"):
            part(value, wrong, 0, 1)


def test_a_tool_that_is_none_is_told_with_a_hint() -> None:
    with pytest.raises(ServerError) as caught:
        among((), "x" * 1000)
    assert (caught.value.code, len(caught.value.detail) < 200) == ("unknown-tool", True)
