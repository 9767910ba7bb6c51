"""The pytest plug-in: ``*.test.yaml`` files are collected, and each case is a test.

It is loaded by every run of pytest in an environment with Petra, so it imports the rest of Petra only when
there is a file to collect, and reads a playbook when the first case of its file is run: each process of a run that
is shared among several collects all files. Files that hold no ``kind: Test`` belong to somebody else and are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from petra.testing.suite import Case, CaseLine, SuiteReader

_SUFFIXES = (".test.yaml", ".test.yml")
_HEAD_BYTES = 1 << 16
_IS_TEST = re.compile(rb"""^kind: *["']?Test\b""", re.MULTILINE)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PlaybookTests | None:
    """Collect the test files of playbooks."""
    if not file_path.name.endswith(_SUFFIXES) or not _is_ours(file_path):
        return None
    return PlaybookTests.from_parent(parent, path=file_path)


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return _IS_TEST.search(file.read(_HEAD_BYTES)) is not None


class CaseFailedError(Exception):
    """A case did not come out as expected; the message tells how, and what happened."""


class PlaybookTests(pytest.File):
    """A test file of a playbook."""

    def collect(self) -> Iterator[PlaybookCase]:
        """Yield its cases.

        Raises:
            CollectError: the file cannot be used.
        """
        from petra.testing.suite import TestError, open_suite  # noqa: PLC0415 - see above

        try:
            reader = open_suite(self.path)
            lines = reader.lines()
        except TestError as error:
            raise self.CollectError(str(error)) from None
        for number, line in enumerate(lines):
            yield PlaybookCase.from_parent(
                self, name=line.name, line=line, reader=reader, number=number
            )


class PlaybookCase(pytest.Item):
    """One case."""

    def __init__(self, *, line: CaseLine, reader: SuiteReader, number: int, **more: Any) -> None:
        super().__init__(**more)
        self.line = line
        self._reader = reader
        self._number = number

    def _case(self) -> Case:
        from petra.testing.suite import TestError  # noqa: PLC0415 - see above

        try:
            return self._reader.suite().cases[self._number]
        except TestError as error:
            raise CaseFailedError(str(error)) from None

    def runtest(self) -> None:
        """Run the case in virtual time.

        Raises:
            CaseFailedError: an expectation is not met, or the test is wrong.
        """
        from petra.testing.runner import run_case  # noqa: PLC0415 - see above

        result = run_case(self._case())
        if result.result != "passed":
            raise CaseFailedError(result.message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the message alone; a traceback into Petra helps only when Petra has a bug."""
        if isinstance(excinfo.value, CaseFailedError):
            return f"{self.path}:{self.line.line}\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where the case is written; pytest counts lines from zero."""
        return self.path, self.line.line - 1, self.line.name
