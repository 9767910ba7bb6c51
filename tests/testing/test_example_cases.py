"""The examples: every case passes, and every arc of every playbook is taken by one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.examples import EXAMPLES, example_documents, example_playbooks

from petra.testing.coverage import Coverage
from petra.testing.session import Verdict, cases_of, judge, suite_files

FILES = example_documents("test")


@pytest.mark.spec("S21")
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(EXAMPLES)))
def test_every_case_of_an_example_passes(file: Path) -> None:
    for found in cases_of(file):
        verdict = found if isinstance(found, Verdict) else judge(found, Coverage())
        assert (verdict.name, verdict.message) == (verdict.name, "")


@pytest.mark.slow
@pytest.mark.spec("S21")
def test_every_arc_of_every_example_is_covered() -> None:
    coverage = Coverage()
    for file in FILES:
        for case in cases_of(file):
            assert not isinstance(case, Verdict)
            judge(case, coverage)
    assert [str(found) for found in coverage if found.never] == []
    covered = {Path(found.name) for found in coverage}
    assert covered == set(example_playbooks())


def test_the_examples_are_what_the_command_line_finds() -> None:
    assert list(suite_files([str(EXAMPLES)])) == FILES
