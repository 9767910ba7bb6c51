"""Iterations that failed, in words and by their indices (S9)."""

from __future__ import annotations

from typing import Any

import msgspec

from petra.wire import Error, Report

_ERRORS_NAMED = 3


def words(counts: dict[str, int], first: list[tuple[tuple[int, ...], Error]]) -> str:
    """Say how many iterations failed, and of the first ones which and why."""
    words = f"{counts['failed']} of {counts['total']} iterations failed"
    named = [f"[{shown(path)}] {error.message}" for path, error in first[:_ERRORS_NAMED]]
    more = ["…"] if counts["failed"] > len(named) > 0 else []
    return "; ".join([words, *named, *more])


def index(path: tuple[int, ...]) -> int | list[int]:
    """Return the index of an iteration, of a nested loop one for each level."""
    return path[0] if len(path) == 1 else list(path)


def as_map(details: Any) -> dict[str, Any]:
    """Return the details of an error as a map that can be added to."""
    return details if isinstance(details, dict) else {} if details is None else {"details": details}


def brief(report: Report) -> Report:
    """Leave the details of a failure out: the first of a loop have them, and there may be a million."""
    without = msgspec.structs.replace
    return without(
        report,
        error=without(report.error, details=None) if report.error is not None else None,
        attempts=[
            without(attempt, error=without(attempt.error, details=None))
            if attempt.error is not None
            else attempt
            for attempt in report.attempts
        ],
    )


def shown(path: tuple[int, ...]) -> str:
    """Write the path of an iteration."""
    return ".".join(map(str, path))
