from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import model, playbook

from petra.playbook.overlay import effective_spec, merge

pytestmark = pytest.mark.spec("S5")

MAPS = st.recursive(
    st.integers() | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: isinstance(value, dict))


@pytest.mark.parametrize(
    ("outer", "inner", "merged"),
    [
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="scalars: the inner one wins", marks=pytest.mark.spec("002§3.1-2")),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}, id="maps: deep", marks=pytest.mark.spec("002§3.1-3")),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists: replaced", marks=pytest.mark.spec("002§3.1-4")),
        pytest.param({"a": {"b": 1}}, {"a": 2}, {"a": 2}, id="a scalar replaces a map"),
        pytest.param({"a": 2}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="a map replaces a scalar"),
    ],
)  # fmt: skip
def test_merging(
    outer: dict[str, object], inner: dict[str, object], merged: dict[str, object]
) -> None:
    assert merge(outer, inner) == merged


@given(MAPS, MAPS)
def test_merging_keeps_every_inner_leaf_and_every_outer_key(
    outer: dict[str, Any], inner: dict[str, Any]
) -> None:
    merged = merge(outer, inner)
    assert merge(outer, {}) == outer == merge({}, outer) == merge(outer, outer)
    assert set(merged) == set(outer) | set(inner)
    assert merge(merged, inner) == merged


@pytest.mark.spec("002§3.1-1", "002§3-1", "002§5.1-1")
def test_each_scope_overrides_the_one_outside_it() -> None:
    text = playbook("""
        executor:
          spec:
            timeout_s: 999
            timeout: {connect: 1, read: 1}
            max_rows: 1
            policy: {defaults: {timeouts: {task_s: 9}}}
        workflow:
          - step: a
            spec: {timeout: {read: 2}, verify: false}
            loop: {in: [1], iterator: i, spec: {max_bytes: 3}}
            tool: {kind: http, url: x, spec: {max_bytes: 4, timeout_s: 5}}
          - step: b
            tool: {kind: http, url: x}
    """)
    book = model(text)
    first, second = book.workflow
    defaults = {"verify": True, "isolation": "thread"}
    assert effective_spec(book, first, first.tool[0], defaults) == {
        "isolation": "thread", "timeout": {"connect": 1, "read": 2}, "max_rows": 1, "verify": False, "max_bytes": 4, "timeout_s": 5,
    }  # fmt: skip
    # the limit of the execution is not that of an attempt, but there is a default for tasks
    assert effective_spec(book, second, second.tool[0])["timeout_s"] == 9


@pytest.mark.spec("002§3.2-1", "002§3.2-2")
def test_policies_take_no_part() -> None:
    text = playbook("""
        workflow:
          - step: a
            spec: {policy: {lifecycle: {timeout_s: 3}}}
            tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}
    """)
    book = model(text)
    assert effective_spec(book, book.workflow[0], book.workflow[0].tool[0]) == {}
