"""Cases written from the pages of the semantics, sentence by sentence; each name is the claim it checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from petra.testing import Case, load_suite, run_case

CASES = Path(__file__).parent / "cases"


def _cases() -> Iterator[object]:
    for path in sorted(CASES.glob("S*.test.yaml")):
        rule = f"S{int(path.name[1:3])}"
        for case in load_suite(path).cases:
            marks = pytest.mark.spec(rule)
            yield pytest.param(case, id=f"{rule}: {case.name}", marks=marks)


@pytest.mark.parametrize("case", list(_cases()))
def test_the_semantics_say(case: Case) -> None:
    result = run_case(case)
    assert result.result == "passed", result.message
