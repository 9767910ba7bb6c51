from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from petra.expr import FILTERS, FUNCTIONS, HELPERS, METHODS, PREDICATES, limits

PAGE = (Path(__file__).parents[2] / "docs/reference/expressions.md").read_text()


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_the_page_says_what_the_filter_says_of_itself(name: str) -> None:
    said = (inspect.getdoc(FILTERS[name]) or "").splitlines()[0]
    in_a_cell = said.replace("|", r"\|")
    assert f"| `{name}` | {in_a_cell} |" in PAGE


@pytest.mark.parametrize("name", sorted(PREDICATES))
def test_the_page_has_the_test(name: str) -> None:
    assert f"\n| `{name}` | " in PAGE


def test_the_page_has_every_method_and_function() -> None:
    assert [name for name in METHODS if f"`{name}`" not in PAGE] == []
    assert [name for name in (*FUNCTIONS, *HELPERS) if f"`{name}(" not in PAGE] == []


def test_the_page_has_every_limit_as_it_is() -> None:
    for name in ("SOURCE", "TOKENS", "DEPTH", "LEVELS", "RESULT", "RANGE"):
        assert f"| `MAX_{name}` | {getattr(limits, f'MAX_{name}'):,} |" in PAGE
    assert f"| `FUEL` | {limits.FUEL:,} |" in PAGE
