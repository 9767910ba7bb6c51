"""What leaves a worker: reports that are data, hold no secret, and fit (S18, S20).

Rule 1: a report that cannot be encoded, because a tool gave back what is no data, becomes an error.
Rule 2: a result beyond the inline limit, or beyond what is left of the room of its chunk, is written to the
object store first; the report then holds its reference.
Rule 3: a ctx value or a branch output beyond the limit is an error of kind limit.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET

from petra.keychain import Scrubber
from petra.tools.base import Objects
from petra.wire import Error, Report
from petra.worker.playbooks import Ready

ROOM: Final = 192 * 1024
"""Bytes of results that travel inline in one chunk, so that its event stays within its limit."""

_encode = msgspec.msgpack.Encoder().encode


class Room:
    """What is left of the inline bytes of one assignment."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = ROOM


class CleanObjects:
    """An object store that never gets a secret."""

    def __init__(self, objects: Objects, scrubber: Scrubber) -> None:
        self._objects = objects
        self._scrubber = scrubber

    async def put(self, value: Any, *, schema_hint: str | None = None) -> dict[str, Any]:
        """Store a value without its secrets; return its reference once it is durable."""
        return await self._objects.put(self._scrubber.clean(value), schema_hint=schema_hint)

    async def get(self, reference: Any) -> Any:
        """Return what a reference leads to, verified."""
        return await self._objects.get(reference)


async def finish(
    report: Report, ready: Ready, objects: Objects | None, scrubber: Scrubber, room: Room
) -> Report:
    """Return the report that may leave."""
    try:
        raw = _encode(report)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        message = scrubber.scrub(f"the result of the run is no data: {error}")
        return _refused(report, Error(kind="schema", message=message, retryable=False))
    if scrubber.suspects(raw):
        report = msgspec.convert(scrubber.clean(msgspec.to_builtins(report)), Report)
        raw = _encode(report)
    has_result = report.status == "ok" and report.result is not None
    if len(raw) <= min(ready.inline_max, room.left) and not (ready.reference_first and has_result):
        room.left -= len(raw)
        return report
    return await _by_reference(report, ready, objects, room)


async def _by_reference(
    report: Report, ready: Ready, objects: Objects | None, room: Room
) -> Report:
    most = ready.inline_max
    values = [(f"ctx.{write.key}", write.value) for write in report.writes]
    if report.branch is not UNSET:
        values.append(("the output of the branch", report.branch))
    for what, value in values:
        if (size := len(msgspec.json.encode(value))) > most:
            message = f"{what} has {size:,} bytes; at most {most:,} are kept, use a reference"
            return _refused(report, Error(kind="limit", message=message, retryable=False))
    size = len(msgspec.json.encode(report.result))
    small = size <= min(most, room.left) and not ready.reference_first
    if report.status != "ok" or report.result is None or small:
        room.left -= size
        return report
    if objects is None:
        message = f"the result has {size:,} bytes, and this worker has no object store"
        return _refused(report, Error(kind="limit", message=message, retryable=False))
    try:
        reference = await objects.put(report.result)
    except Exception as error:  # noqa: BLE001 - whatever a store does, the run has an outcome
        message = f"the result of {size:,} bytes cannot be stored: {type(error).__name__}"
        return _refused(report, Error(kind="connection", message=message, retryable=True))
    return msgspec.structs.replace(report, result=reference)


def _refused(report: Report, error: Error) -> Report:
    """Return a failed report: what was tried stays, what it would have set does not."""
    return Report(status="error", error=error, attempts=report.attempts)
