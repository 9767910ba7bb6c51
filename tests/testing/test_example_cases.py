"""The examples: every case passes, and every arc of every playbook is taken by one of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from support.examples import EXAMPLES, example_documents, example_playbooks

from petra.testing.coverage import Coverage
from petra.testing.session import CaseVerdict, cases_of, judge, suite_files

FILES = example_documents("test")
COVERAGE = Coverage()


@cache
def judged(file: Path) -> list[CaseVerdict]:
    """Judge the cases of a file, once in a process, and note which arcs they took."""
    return [
        case if isinstance(case, CaseVerdict) else judge(case, COVERAGE) for case in cases_of(file)
    ]


@pytest.mark.spec("S21")
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(EXAMPLES)))
def test_every_case_of_an_example_passes(file: Path) -> None:
    for verdict in judged(file):
        assert (verdict.name, verdict.message) == (verdict.name, "")


@pytest.mark.slow
@pytest.mark.spec("S21")
def test_every_arc_of_every_example_is_covered() -> None:
    for file in FILES:
        judged(file)
    assert [str(book) for book in COVERAGE if book.never] == []
    covered = {Path(book.name) for book in COVERAGE}
    assert covered == set(example_playbooks())


def test_the_examples_are_what_the_command_line_finds() -> None:
    assert list(suite_files([str(EXAMPLES)])) == FILES
