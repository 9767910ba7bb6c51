"""What leaves a worker: reports that are data, hold no secret, and fit (S18, S20).

Rule 1: a report that cannot be encoded, because a tool gave back what is no data, becomes an error.
Rule 2: a result beyond the inline limit is written to the object store first; the report then holds its reference.
The iterations of a loop share ``LOOP_ROOM``, so that the results of a long one are references early; but one of up to
``TINY`` bytes stays: its reference would be no smaller.
Rule 3: a ctx value or a branch output beyond the limit is stored too, and so are the largest of many that are too large
together. Of the writes to a key without a reducer only the last counts, so only that is kept. What is a reference already
is only named again.
Rule 4: of attempts beyond ``ATTEMPTS_BYTES`` the first and the last stay; the whole list is stored, and what the report
leaves out is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from petra.errors import ObjectError, UnreadableError
from petra.keychain import Scrubber
from petra.tools.base import Objects
from petra.wire import RETRYABLE, Attempt, Error, LeftOut, Report, Write
from petra.worker.parts import REFERENCE_BYTES
from petra.worker.playbooks import Ready

REPORT_BYTES: Final = 192 * 1024
"""No report is larger, so that its event, with what routing adds, stays below 256 KiB."""
LOOP_ROOM: Final = 4 * 1024 * 1024
"""Bytes of inline results that the iterations of one loop share."""
TINY: Final = 512
"""Bytes of a result that is never stored for want of room."""
ATTEMPTS_BYTES: Final = 48 * 1024
WRITES_BYTES: Final = 128 * 1024
"""Bytes that all the writes of a run may have together."""
DETAILS_BYTES: Final = 8 * 1024
"""Bytes of the details of an error that stay when there is little room."""

_BLOCK: Final = 1024 * 1024
_OVERLAP: Final = 64 * 1024
"""Bytes of a file that are looked at twice, so that no secret falls between two blocks."""
_JSON_GROWTH: Final = 6  # one byte of a frame is at most so many of an event: \u0001

_encode = msgspec.msgpack.Encoder().encode
_json = msgspec.json.Encoder().encode


class CleanObjects:
    """An object store that never gets a secret."""

    def __init__(self, objects: Objects, scrubber: Scrubber) -> None:
        self._objects = objects
        self._scrubber = scrubber

    async def put(self, value: Any, *, schema_hint: str | None = None) -> dict[str, Any]:
        """Store a value without its secrets; return its reference once it is durable."""
        return await self._objects.put(self._scrubber.clean(value), schema_hint=schema_hint)

    async def put_file(self, file: Path, *, schema_hint: str | None = None) -> dict[str, Any]:
        """Store the bytes of a file; one with a secret in it is refused, since bytes cannot be mended."""
        if not self._scrubber.is_empty and await asyncio.to_thread(self._tells, file):
            raise ObjectError("denied", "the file holds a secret of the keychain, and is not kept")
        return await self._objects.put_file(file, schema_hint=schema_hint)

    def _tells(self, file: Path) -> bool:
        before = b""
        with file.open("rb") as opened:
            while block := opened.read(_BLOCK):
                window = before + block
                if self._scrubber.suspects(window):
                    text = window.decode("utf-8", "replace")
                    if self._scrubber.scrub(text) != text:
                        return True
                before = window[-_OVERLAP:]
        return False

    async def get(self, reference: Any) -> Any:
        """Return what a reference leads to, verified."""
        return await self._objects.get(reference)

    def blocks(self, reference: Any) -> AsyncIterator[bytes]:
        """Read what a reference leads to, block by block, verified."""
        return self._objects.blocks(reference)


async def finish(  # noqa: PLR0913 - what a report is measured by
    report: Report,
    ready: Ready,
    objects: Objects | None,
    scrubber: Scrubber,
    *,
    total: int = 0,
    limit: int | None = None,
) -> tuple[Report, int]:
    """Return the report that may leave and its size, about.

    ``total`` iterations share the room of their loop; ``limit`` is that of the result, if it is a special one.
    """
    try:
        raw = _encode(report)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        message = scrubber.scrub(f"the result of the run is no data: {error}")
        return _refused(report, Error(kind="schema", message=message, retryable=False))
    if scrubber.suspects(raw):
        report = msgspec.convert(scrubber.clean(msgspec.to_builtins(report)), Report)
        raw = _encode(report)
    if limit is None:
        limit = room_of(ready, total)
    if _is_small(report, ready, len(raw), limit):
        return report, len(raw)
    report = await _fit_attempts(report, objects)
    try:
        report = await _fit_writes(report, ready, objects)
        return await _by_reference(report, ready, objects, limit)
    except UnreadableError as error:
        retryable = error.kind in RETRYABLE
        fault = Error(kind=error.kind, message=scrubber.scrub(error.message), retryable=retryable)
        return _refused(report, fault)


def measure(report: Report, ready: Ready, scrubber: Scrubber, *, total: int = 0) -> int | None:
    """Return the size of a report that may leave as it is; None: ``finish`` has something to do."""
    try:
        raw = _encode(report)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    if scrubber.suspects(raw) or not _is_small(report, ready, len(raw), room_of(ready, total)):
        return None
    return len(raw)


def room_of(ready: Ready, total: int) -> int:
    """Return how many bytes the result of an iteration may have without a page, or that of a run without an object."""
    return min(ready.inline_max, max(TINY, LOOP_ROOM // total)) if total else ready.inline_max


def _is_small(report: Report, ready: Ready, size: int, limit: int) -> bool:
    """Tell whether a report is so small that every limit is kept, at a glance: of ``limit`` its result has to."""
    has_result = report.status == "ok" and report.result is not None
    if (ready.reference_first and has_result) or size * _JSON_GROWTH > ATTEMPTS_BYTES:
        return False
    if size * _JSON_GROWTH <= limit:
        return True
    if report.writes or report.branch is not UNSET:
        return False
    return not has_result or len(_json(report.result)) <= limit


async def _by_reference(
    report: Report, ready: Ready, objects: Objects | None, limit: int
) -> tuple[Report, int]:
    """Store the result if it is too large to travel inline, or the report is with it."""
    whole = len(_json(report))
    if report.status != "ok" or report.result is None:
        return report, whole
    size = len(_json(report.result))
    fits = size <= limit and (whole <= REPORT_BYTES or size <= TINY)
    if fits and not ready.reference_first:
        return report, whole
    reference = await stored(f"the result of {size:,} bytes", report.result, objects)
    return msgspec.structs.replace(report, result=reference), whole - size


async def stored(what: str, value: Any, objects: Objects | None) -> dict[str, Any]:
    """Store a value that is too large to travel; return its reference.

    Raises:
        UnreadableError: it cannot be stored.
    """
    if objects is None:
        raise UnreadableError("limit", f"{what}: this worker has no object store")
    try:
        return await objects.put(value)
    except ObjectError as error:
        message = f"{what}: cannot be stored: {error.message}"
        raise UnreadableError(error.kind, message) from error
    except Exception as error:
        message = f"{what}: cannot be stored: {type(error).__name__}"
        raise UnreadableError("connection", message) from error


async def _fit_writes(report: Report, ready: Ready, objects: Objects | None) -> Report:
    """Store what the run sets where it is too large to travel: one value, or the largest of many together.

    Raises:
        UnreadableError: something cannot be stored, or there is too much of it all the same.
    """
    writes = _needed(report.writes, ready) if len(report.writes) > 1 else report.writes
    sizes = [len(_json(write.value)) for write in writes]
    most = ready.inline_max
    while most > TINY and sum(n if n <= most else REFERENCE_BYTES for n in sizes) > WRITES_BYTES:
        most //= 2  # the largest go first
    writes = [
        write
        if size <= most
        else Write(
            key=write.key,
            value=await stored(f"ctx.{write.key} of {size:,} bytes", write.value, objects),
        )
        for write, size in zip(writes, sizes, strict=True)
    ]
    if (size := len(_json(writes))) > WRITES_BYTES:
        raise UnreadableError(
            "limit", f"the run sets {size:,} bytes of ctx; at most {WRITES_BYTES:,} are kept"
        )
    branch = report.branch
    if branch is not UNSET and (size := len(_json(branch))) > ready.inline_max:
        branch = await stored(f"the output of the branch, {size:,} bytes", branch, objects)
    return msgspec.structs.replace(report, writes=writes, branch=branch)


def _needed(writes: list[Write], ready: Ready) -> list[Write]:
    """Leave out writes that a later one of the same run replaces."""
    last = {write.key: index for index, write in enumerate(writes)}
    reduced = ready.settings.reducers
    return [
        write
        for index, write in enumerate(writes)
        if write.key in reduced or last[write.key] == index
    ]


async def _fit_attempts(report: Report, objects: Objects | None) -> Report:
    """Keep the first and the last attempts where there are too many, and store the whole list."""
    if report.error is not None:
        report = msgspec.structs.replace(report, error=_modest(report.error))
    if len(_json(report.attempts)) <= ATTEMPTS_BYTES:
        return report
    modest = [modest_attempt(attempt) for attempt in report.attempts]
    first = _fitting(modest, ATTEMPTS_BYTES // 3)
    last = _fitting(modest[first:][::-1], ATTEMPTS_BYTES - ATTEMPTS_BYTES // 3)
    count = len(modest) - first - last
    if report.left_out is not None:
        count += report.left_out.count
    left_out = LeftOut(count=count, reference=await _store(report.attempts, objects))
    kept = modest[:first] + modest[len(modest) - last :]
    return msgspec.structs.replace(report, attempts=kept, left_out=left_out)


async def _store(attempts: list[Attempt], objects: Objects | None) -> dict[str, Any] | None:
    if objects is None:
        return None
    try:
        return await objects.put(msgspec.to_builtins(attempts), schema_hint="attempts")
    except Exception:  # noqa: BLE001 - the run has its outcome; the count says what is missing
        return None


def _fitting(attempts: list[Attempt], room: int) -> int:
    """Return how many attempts, from the first, fit."""
    for number, attempt in enumerate(attempts):
        room -= len(_json(attempt)) + 1
        if room < 0:
            return number
    return len(attempts)


def modest_attempt(attempt: Attempt) -> Attempt:
    """Leave the details of its error out if they are large."""
    if attempt.error is None:
        return attempt
    return msgspec.structs.replace(attempt, error=_modest(attempt.error))


def _modest(error: Error) -> Error:
    """Leave the details of an error out if they are large."""
    if error.details is None or (size := len(_json(error.details))) <= DETAILS_BYTES:
        return error
    return msgspec.structs.replace(error, details={"left_out_bytes": size})


def _refused(report: Report, error: Error) -> tuple[Report, int]:
    """Return a failed report: what was tried stays, what it would have set does not."""
    refused = Report(
        status="error", error=error, attempts=report.attempts, left_out=report.left_out
    )
    return refused, len(_json(refused))
