"""Patterns: what they find is what Python's ``re`` finds, and their work is bounded."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template

pytestmark = pytest.mark.spec("S6")


def replaced(text: str, pattern: str, after: str = r"<\1>", **flags: Any) -> Any:
    named = "".join(f", {name}={str(value).lower()}" for name, value in flags.items())
    source = "{{ text | regex_replace(pattern, after" + named + ") }}"
    scope = {"text": text, "pattern": pattern, "after": after}
    return compile_template(source, Profile.SERVER).render(scope)


ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "[a-c]", r"\d", r"\w", r"\s", "-", "\\.", r"[\d-]", "(ab)", "(a|b)", "(?:ab|c)"]
)  # fmt: skip
PIECES = st.tuples(ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{0,2}", "*?", "+?", "??", "{1,}?"]))  # fmt: skip
EDGES = st.sampled_from(["", "", "", "^", "$", r"\b", r"\B", r"\A", r"\Z"])
SEQUENCES = st.builds(
    lambda first, pieces, last: first + "".join(a + q for a, q in pieces) + last,
    EDGES, st.lists(PIECES, max_size=4), EDGES,
)  # fmt: skip
PATTERNS = st.lists(SEQUENCES, min_size=1, max_size=3).map("|".join)
# Before 3.14 Python holds that an empty text has no \B.
TEXTS = st.text("abc1 -.\n", min_size=1, max_size=20)


@pytest.mark.slow
@settings(max_examples=500)
@given(PATTERNS, TEXTS, st.lists(st.booleans(), min_size=2, max_size=2))
def test_a_pattern_finds_what_python_finds(pattern: str, text: str, flags: list[bool]) -> None:
    ignorecase, multiline = flags
    known = re.IGNORECASE * ignorecase | re.MULTILINE * multiline
    wanted = re.sub(pattern, r"<\g<0>>", text, flags=known)
    found = replaced(text, pattern, r"<\g<0>>", ignorecase=ignorecase, multiline=multiline)
    assert found == wanted


@settings(max_examples=200)
@given(st.sampled_from(["(a)(b)?", "(a+)(b*)", "((a)|b)+", "(.)(.)", "(a|ab)(c|bc)?", "(a*?)(b)"]), TEXTS)  # fmt: skip
def test_groups_take_what_python_lets_them_take(pattern: str, text: str) -> None:
    assert replaced(text, pattern, r"[\1:\2]") == re.sub(pattern, r"[\1:\2]", text)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "ends in the middle"), ("(a", "not closed"), ("a)", "not opened"), ("[a", "ends in the middle"),
        ("*a", "nothing to repeat"), ("a**", "repeats a repetition"), ("a++", "repeats a repetition"),
        ("(a)\\1", "refers back"), ("(?=a)", "has a group"), ("(?P<x>a)", "has a group"), ("(?i)a", "has a group"),
        ("\\y", "means nothing"), ("a{2,1}", "from low to high"), ("a{9999}", "from low to high"), ("[z-a]", "class"),
        ("^*", "takes no character"), ("\\", "ends in the middle"),
    ],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(ExpressionError, match="the pattern") as caught:
        replaced("a", pattern, "")
    # an empty group of a pattern is one; "(" ends before its group does
    assert said in caught.value.message or (pattern == "(" and "not closed" in caught.value.message)


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", "a" * 1001, "(" * 500 + ")" * 500])
def test_a_pattern_that_is_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(ExpressionError, match="the pattern"):
        replaced("a", pattern)


def test_a_rare_match_in_a_megabyte_is_found() -> None:
    text = "x" * 500_000 + " 42 " + "y" * 500_000
    assert replaced(text, r"\d+", "n") == text.replace("42", "n")


def test_what_would_be_too_large_is_not_made() -> None:
    with pytest.raises(ExpressionError, match=r"too large|too much work"):
        replaced("a" * 60_000, "a", "b" * 1000)


def test_a_replacement_names_groups_that_are_there() -> None:
    assert replaced("ab", "(a)", r"\\\g<1>\1") == "\\aab"
    with pytest.raises(ExpressionError, match="no group 2"):
        replaced("ab", "(a)", r"\2")
    assert replaced("aaa", "a", "b", count=2) == "bba"
