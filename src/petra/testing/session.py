"""A test session: files are found, cases run, and whatever happens becomes a verdict.

Rule 1: nothing that a test file holds, or that goes wrong in a case, stops the session.
Rule 2: an exception that is no error of Petra's own is a bug of Petra, and the verdict says so.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

from petra.errors import PetraError
from petra.testing.coverage import Coverage
from petra.testing.explore import explore
from petra.testing.runner import run_case
from petra.testing.suite import Case, load_suite

SUFFIXES = (".test.yaml", ".test.yml")
_SKIPPED = frozenset({".git", ".venv", "node_modules", "__pycache__", ".petra"})


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What came of one case, or of a file that cannot be used: then ``case`` is empty."""

    file: str
    case: str
    line: int
    result: Literal["passed", "failed", "error"]
    message: str = ""
    time_s: float = 0.0

    @property
    def name(self) -> str:
        """The name by which the case is shown and chosen."""
        return f"{self.file}::{self.case}" if self.case else self.file


def suite_files(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the files that are meant, each once: files as given, and the test files below folders."""
    seen = set()
    for named in paths:
        path = Path(named)
        files = sorted(filter(_is_test_file, path.rglob("*"))) if path.is_dir() else [path]
        for file in files:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _is_test_file(path: Path) -> bool:
    return path.name.endswith(SUFFIXES) and not _SKIPPED & set(path.parts) and path.is_file()


def cases_of(
    path: Path, word: str = "", shelves: Sequence[Path] = ()
) -> Iterator[Case | CaseVerdict]:
    """Yield the cases of a file whose name holds a word, or the verdict on a file that has none."""
    try:
        suite = load_suite(path, shelves)
    except PetraError as error:
        yield CaseVerdict(str(path), "", 1, "error", str(error))
    except Exception as error:  # noqa: BLE001 - rule 2
        yield CaseVerdict(str(path), "", 1, "error", bug(error))
    else:
        wanted = word.casefold()
        for case in suite.cases:
            if wanted in f"{case.file}::{case.name}".casefold():
                yield case


def judge(case: Case, coverage: Coverage, *, seeds: int = 0) -> CaseVerdict:
    """Run a case, and with ``seeds`` explore it too; note the arcs it takes."""
    begun = perf_counter()
    result: Literal["passed", "failed", "error"]
    try:
        verdict = run_case(case)
        coverage.add(case, verdict.simulation)
        result, message = verdict.result, verdict.message
        difference = explore(case, seeds) if seeds and result != "error" else None
        if difference is not None:
            result, message = "failed", f"{difference}\n{message}".rstrip()
    except PetraError as error:
        result, message = "error", str(error)
    except Exception as error:  # noqa: BLE001 - rule 2
        result, message = "error", bug(error)
    return CaseVerdict(case.file, case.name, case.line, result, message, perf_counter() - begun)


def bug(error: Exception) -> str:
    """Say that an exception is a bug, and where it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return (
        f"{type(error).__name__}: {error}{place}\n"
        "this is a bug in Petra, not in your test; please report it with the test file and its playbook"
    )
