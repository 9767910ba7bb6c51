"""Patterns: what they find is what Python's ``re`` finds, and their work is bounded."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from petra.errors import ExpressionError
from petra.expr import Profile, compile_template
from petra.expr.patterns import compiled

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


MEGABYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("pattern", "text", "after", "expected"),
    [
        ("a", "a" * MEGABYTE, "b", "b" * MEGABYTE),
        (r"\s+", "a " * (MEGABYTE // 2), "_", "a_" * (MEGABYTE // 2)),
        ("[^a-z]", "aB" * (MEGABYTE // 2), "", "a" * (MEGABYTE // 2)),
        ("(a)b", "ab" * 300_000, r"\1", "a" * 300_000),
        ("foo|ba[rz]+", "foobar " * 100_000, "x", "xx " * 100_000),
        ("^#+", "#a\n" * 300_000, "", "a\n" * 300_000),
        ("a{3}b", "a" * MEGABYTE, "", "a" * MEGABYTE),
    ],
)
def test_dense_matches_in_a_megabyte_are_within_the_budget(pattern: str, text: str, after: str, expected: str) -> None:  # fmt: skip
    assert replaced(text, pattern, after, multiline=True) == expected


@pytest.mark.parametrize("pattern", ["a", "a*", r"\w", "(a)"])
def test_a_dense_replacement_does_not_grow_beyond_what_may_be_built(pattern: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        replaced("a" * MEGABYTE, pattern, "b" * 1000)
    assert caught.value.kind == "limit"


STEADY = [
    "a",
    "[ab]",
    r"\w+",
    "a*",
    "a+?",
    "(a)",
    "(a)(b)",
    "a|b",
    "ab|c+",
    "(?:a|b)",
    "^a",
    "a{2}b",
    r"a\b",
    "",
    "a?",
]
TAKES_BACK = [
    "a+b",
    r"\s+$",
    "(a+)+",
    "(a|b)c",
    "(a|a)(a|a)b",
    "(ab)+",
    "a*b*",
    "(a+|b)c",
    "x" * 65,
    "a{65}",
    "a{99,}",
]


@pytest.mark.parametrize(("pattern", "steady"), [*((p, True) for p in STEADY), *((p, False) for p in TAKES_BACK)])  # fmt: skip
def test_only_what_gives_nothing_back_is_left_to_python(pattern: str, steady: bool) -> None:  # noqa: FBT001
    assert (compiled(pattern).steady is not None) is steady


@pytest.mark.parametrize("after", [r"[\g<0>]", r"\\", "x", ""])
@pytest.mark.parametrize("pattern", STEADY)
@given(text=TEXTS, count=st.integers(0, 3))
def test_what_python_is_left_is_what_all_ways_find(pattern: str, after: str, text: str, count: int) -> None:  # fmt: skip
    wanted = re.sub(pattern, after, text, count=count)
    assert replaced(text, pattern, after, count=count) == wanted
