"""Pages: results of iterations that are too large for their share of the room, stored together (S18).

An object for each of a million results of a kilobyte would be a million files. So the results of one part that are
beyond the room share an object, a list, and each is reported as a reference into it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from petra.errors import UnreadableError
from petra.references import is_reference, part_of
from petra.wire import RETRYABLE, Error, IterationReport, Report
from petra.wire.frames import RunReport

PAGE_BYTES: Final = 1024 * 1024
"""Bytes of results that one page has, about."""


class Pages:
    """Stores the larger results of a part as one object; ``room`` is what a result may have without it."""

    def __init__(self, store: Callable[[Any], Awaitable[dict[str, Any]]], room: int) -> None:
        self._store = store
        self._room = room

    def takes(self, report: Report, size: int) -> bool:
        """Tell whether the result of a report of this size belongs on a page."""
        return (
            size > self._room
            and report.status == "ok"
            and report.result is not None
            and not is_reference(report.result)
        )

    async def seal(self, part: RunReport, large: set[tuple[int, ...]]) -> RunReport:
        """Return a part with the results of these iterations on a page; one that cannot be stored fails them."""
        paged = [iteration for iteration in part.iterations if iteration.path in large]
        try:
            page = await self._store([iteration.report.result for iteration in paged])
        except UnreadableError as error:
            retryable = error.kind in RETRYABLE
            fault = Error(kind=error.kind, message=error.message, retryable=retryable)
            reports = {iteration.path: _failed(iteration.report, fault) for iteration in paged}
        else:
            reports = {
                iteration.path: msgspec.structs.replace(
                    iteration.report, result=part_of(page, index)
                )
                for index, iteration in enumerate(paged)
            }
        ended = [
            IterationReport(
                path=iteration.path, report=reports.get(iteration.path, iteration.report)
            )
            for iteration in part.iterations
        ]
        return msgspec.structs.replace(part, iterations=ended)


def _failed(report: Report, error: Error) -> Report:
    return Report(status="error", error=error, attempts=report.attempts, left_out=report.left_out)
