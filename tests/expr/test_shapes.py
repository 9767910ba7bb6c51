"""Filters that reshape lists and objects, and digests."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template

pytestmark = pytest.mark.spec("S6")

DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]
NESTED: Any = {"k": 1}
for _ in range(60):
    NESTED = {"k": NESTED}
SCOPE = {
    "rows": [[1, [2, [3]]], [], 4], "a": {"x": 1, "in": {"p": 1, "q": [1]}}, "b": {"y": 2, "in": {"q": [2]}},
    "deep": DEEP, "nested": NESTED, "many": [0] * 100_000,
}  # fmt: skip


def render(source: str) -> Any:
    return compile_template("{{ " + source + " }}", Profile.SERVER).render(SCOPE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("rows | flatten", [1, 2, 3, 4]),
        ("rows | flatten(1)", [1, [2, [3]], 4]),
        ("rows | flatten(levels=0)", [[1, [2, [3]]], [], 4]),
        ("a | combine(b)", {"x": 1, "y": 2, "in": {"q": [2]}}),
        ("a | combine(b, {'x': 3}, recursive=true)", {"x": 3, "y": 2, "in": {"p": 1, "q": [2]}}),
        ("a | combine", {"x": 1, "in": {"p": 1, "q": [1]}}),
        ("[1, 2, 3] | zip(['a', 'b'], [true, false])", [[1, "a", True], [2, "b", False]]),
        ("[] | zip([1])", []),
        ("'é' | hash", hashlib.sha256("é".encode()).hexdigest()),
        ("'x' | hash('sha1')", hashlib.sha1(b"x").hexdigest()),
        ("{'b': 1, 'a': 2} | hash == {'a': 2, 'b': 1} | hash", True),
        ("['x'] | map('hash', 'md5') | first", hashlib.md5(b"x").hexdigest()),
    ],
)
def test_shapes(source: str, expected: object) -> None:
    assert render(source) == expected


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("'x' | flatten", "type"), ("rows | flatten('1')", "type"), ("rows | combine(a)", "type"), ("a | combine(1)", "type"),
        ("rows | zip('ab')", "type"), ("'x' | hash('crc')", "type"), ("'x' | hash([])", "type"), ("deep | flatten", "limit"),
        ("nested | combine(nested, recursive=true)", "limit"), ("many | zip(many, many, many)", "limit"),
        ("([many] * 20) | flatten", "limit"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(source: str, kind: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        render(source)
    assert caught.value.kind == kind


def test_nothing_is_changed_in_place() -> None:
    render("a | combine(b, recursive=true)")
    assert SCOPE["a"] == {"x": 1, "in": {"p": 1, "q": [1]}}
