"""``petra test``: every case of every test file, in virtual time, with the coverage of arcs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import click

from petra.cli.files import library_option
from petra.cli.output import as_json, count, fold, print_json, tell, width
from petra.testing.coverage import Coverage, PlaybookCoverage
from petra.testing.junit import junit
from petra.testing.runner import STORY
from petra.testing.session import CaseVerdict, cases_of, judge, suite_files

_COLOURS = {"passed": "green", "failed": "red", "error": "red"}
_COLUMNS_MAX = 80
_ARCS_MAX = 20


@click.command("test")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option("-k", "word", metavar="WORD", default="", help="Only cases with WORD in their name.")
@click.option(
    "--explore",
    "seeds",
    type=click.IntRange(min=1, max=10_000),
    metavar="N",
    help="Run each case under N seeds and every selection strategy; report any whose outcome differs.",
)
@click.option(
    "--junit",
    "report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write JUnit XML too.",
)
@library_option
@as_json
def command(
    paths: tuple[str, ...],
    *,
    word: str,
    seeds: int | None,
    report: Path | None,
    library: tuple[Path, ...],
    output: str,
) -> None:
    """Run test files: playbooks in virtual time, with scripted tools and no server.

    Folders are searched for *.test.yaml and *.test.yml. Exits with 1 when a case fails.
    """
    files = list(suite_files(paths))
    if not files:
        where = ", ".join(paths)
        raise click.UsageError(
            f"no test file in {where}; they end in .test.yaml; 'petra init NAME' writes a first one"
        )
    begun = perf_counter()
    coverage = Coverage()
    verdicts = []
    for verdict in _run(files, word, seeds or 0, coverage, library):
        verdicts.append(verdict)
        if output == "text":
            _line(verdict)
    if not verdicts:
        raise click.UsageError(f"no case has '{word}' in its name; try without '-k'")
    if report is not None:
        _write(report, junit(verdicts))
    if output == "json":
        _print_json(verdicts, coverage)
    else:
        _print_text(verdicts, coverage, perf_counter() - begun)
    sys.exit(0 if all(verdict.result == "passed" for verdict in verdicts) else 1)


def _run(
    files: list[Path], word: str, seeds: int, coverage: Coverage, library: tuple[Path, ...]
) -> Iterator[CaseVerdict]:
    for file in files:
        for case in cases_of(file, word, library):
            yield case if isinstance(case, CaseVerdict) else judge(case, coverage, seeds=seeds)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _print_json(verdicts: list[CaseVerdict], coverage: Coverage) -> None:
    results = [verdict.result for verdict in verdicts]
    cases = [
        {
            "file": verdict.file,
            "case": verdict.case,
            "result": verdict.result,
            "message": verdict.message,
        }
        for verdict in verdicts
    ]
    print_json(
        {
            "cases": cases,
            "passed": results.count("passed"),
            "failed": results.count("failed"),
            "errors": results.count("error"),
            "coverage": coverage.as_data(),
        }
    )


# Text


def _line(verdict: CaseVerdict) -> None:
    word = click.style(verdict.result.upper(), fg=_COLOURS[verdict.result])
    name, room = " ".join(verdict.name.split()), width() - len(f" … {verdict.result}")
    if sys.stdout.isatty() and len(name) > room:
        name = name[:room]
    tell(f"{name} … {word}")


def _print_text(verdicts: list[CaseVerdict], coverage: Coverage, time_s: float) -> None:
    bad = [verdict for verdict in verdicts if verdict.result != "passed"]
    if bad:
        tell()
        tell(_rule("FAILURES", "="))
    for verdict in bad:
        _print_block(verdict)
    covered = list(coverage)
    if covered:
        tell()
        tell(_rule("arcs", "="))
    for book in covered:
        _print_coverage(book)
    _print_summary(verdicts, time_s)


def _print_coverage(coverage: PlaybookCoverage) -> None:
    never = coverage.never
    if len(never) <= 1:
        tell(click.style(str(coverage), fg="yellow") if never else str(coverage))
        return
    tell(click.style(f"{coverage.head}; never:", fg="yellow"))
    for arc in never[:_ARCS_MAX]:
        tell(f"    {arc}")
    if len(never) > _ARCS_MAX:
        tell(f"    and {len(never) - _ARCS_MAX} more; '-o json' lists all")


def _print_block(verdict: CaseVerdict) -> None:
    tell(_rule(" ".join((verdict.case or verdict.file).split()), "_"))
    tell(click.style(f"{verdict.file}:{verdict.line}", bold=True))
    faults, separator, story = verdict.message.partition(f"\n{STORY}\n")
    for line in faults.splitlines():
        for part in _wrapped(f"  {line}"):
            tell(click.style(part, fg="red"))
    for line in f"{STORY}\n{story}".splitlines() if separator else ():
        for part in _wrapped(line):
            tell(part)


def _wrapped(line: str) -> list[str]:
    """Fold a line, its rest further in than its beginning."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return fold(line, _columns(), indent).split("\n")


def _print_summary(verdicts: list[CaseVerdict], time_s: float) -> None:
    numbers = {
        result: sum(verdict.result == result for verdict in verdicts)
        for result in ("failed", "error", "passed")
    }
    words = [f"{numbers['failed']} failed"] if numbers["failed"] else []
    words += [count(numbers["error"], "error")] if numbers["error"] else []
    words += [f"{numbers['passed']} passed"] if numbers["passed"] else []
    green = numbers["passed"] == len(verdicts)
    text = _rule(f"{', '.join(words)} in {time_s:.2f} s", "=")
    tell()
    tell(click.style(text, fg="green" if green else "red"))


def _rule(text: str, sign: str) -> str:
    """Put a title in the middle of a line."""
    columns = _columns()
    return f" {text[: columns - 6]} ".center(columns, sign)


def _columns() -> int:
    return min(width(), _COLUMNS_MAX)
