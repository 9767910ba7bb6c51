"""Obligations of the source documents as cases in virtual time; a case names its rows in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from petra.testing import Case, load_suite, run_case

HERE = Path(__file__).parent
_NAMED = re.compile(r"\[([^]]+)\] (.+)")


def _cases() -> Iterator[object]:
    for path in sorted(HERE.glob("*.yaml")):
        for case in load_suite(path).cases:
            named = _NAMED.fullmatch(case.name)
            assert named is not None, f"{path.name}: '{case.name}' names no row"
            rows = named[1].split()
            yield pytest.param(case, id=f"{rows[0]}: {named[2]}", marks=pytest.mark.spec(*rows))


@pytest.mark.parametrize("case", list(_cases()))
def test_the_source_documents_ask_that(case: Case) -> None:
    result = run_case(case)
    assert result.result == "passed", result.message
