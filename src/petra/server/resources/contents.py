"""What an execution holds: its records, its children, what its steps printed, and its large values, in ranges."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from litestar import Router, get
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream

from petra.desk.principal import May
from petra.engine.codec import from_row
from petra.engine.logs import file_of
from petra.server.answers.stories import RangeOfValue, WholeRecord
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.parameters import Limit, MaybeLimit, MaybeNumber, Number, page_size
from petra.server.problems import ProblemError
from petra.server.ranges import RangeReader, range_of
from petra.server.resources.executions import execution_items
from petra.server.resources.stories import run_of
from petra.server.service import TheService, Who
from petra.server.shapes import ExecutionItem, Page
from petra.store.rows import ExecutionFilter, RecordRow
from petra.story import RunHistory

PART_BYTES: Final = 1 << 16
SCANNED_MAX: Final = 5_000
"""So many records are looked at for a page of some type or step; where there are more, the page may be shorter."""
RANGE_MAX: Final = 10_000
LOGS: Final = "logs"
"""Where the logs of runs are, in the home."""
RecordType = Annotated[str | None, QueryParameter(name="type", required=False)]


@get("/executions/{execution:str}/records", opt=needs(May.SEE) | answers(Page[WholeRecord]))
async def records(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    after: Number = 0,
    limit: Limit = 100,
    step: FromQuery[str | None] = None,
    record_type: RecordType = None,
    cursor: MaybeNumber = None,
) -> Page[dict[str, Any]]:
    """Return records of an execution, whole, behind one of them: all, or those of a type or about a step."""
    most, behind = page_size(limit), max(0, cursor if cursor is not None else after)
    await service.desk.get(who, execution)
    about = await _about(service, execution, step)
    fitting: list[RecordRow] = []
    while len(fitting) < most:
        rows = await service.engine.store.read(execution, after=behind, limit=SCANNED_MAX)
        fit = [row for row in rows if record_type in (None, row.type) and about(row.seq)]
        fitting += fit
        behind = rows[-1].seq if rows else behind
        if len(rows) < SCANNED_MAX:
            break
    page = fitting[:most]
    more = len(fitting) > most
    items = [msgspec.to_builtins(from_row(row)) for row in page]
    return Page(items=items, next=str(page[-1].seq) if more else None)


async def _about(service: TheService, execution: str, step: str | None) -> Any:
    """Return what tells of a record by its number whether it is about a step."""
    if step is None:
        return lambda _: True
    story = await service.stories.of(execution)
    number = story.steps.get(step, -2)
    return lambda seq: seq <= len(story) and story.step[seq - 1] == number


@get("/executions/{execution:str}/children", opt=needs(May.SEE))
async def children(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    limit: Limit = 100,
    cursor: FromQuery[str | None] = None,
) -> Page[ExecutionItem]:
    """List the executions that this one started."""
    await service.desk.get(who, execution)
    wanted = ExecutionFilter(parent=execution)
    page = await service.desk.executions(who, wanted, cursor=cursor, limit=page_size(limit))
    return Page(items=await execution_items(service, page.rows), next=page.cursor)


# What steps printed


@get("/executions/{execution:str}/logs", media_type="application/x-ndjson", opt=needs(May.SEE))
async def logs(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    run: MaybeNumber = None,
    step: FromQuery[str | None] = None,
    after: FromQuery[float | None] = None,
    text: FromQuery[str] = "",
    limit: MaybeLimit = None,
) -> Stream:
    """Return what the steps of an execution printed, a JSON document per line, oldest first.

    Of one ``step``, or of one ``run`` by its number; what was printed ``after`` a
    moment in seconds since 1970; lines with a ``text``. With ``limit`` the last ones of these.
    """
    await service.desk.get(who, execution)
    wanted = _Lines(step, after, text)
    if run is not None:
        _, history = await run_of(service, execution, run)
        if step not in (None, history.step):
            raise ProblemError("bad-request", f"run {run} is one of '{history.step}'")
        wanted = _Lines(history.step, after, text, history)
    await service.engine.logs.written()
    path = file_of(service.home / LOGS, execution)
    if limit is not None:
        last = await service.long_work.aside(lambda: wanted.last(path, page_size(limit)))
        return Stream(iter([last]), media_type="application/x-ndjson")
    return Stream(_lines(path, wanted), media_type="application/x-ndjson")


class _Lines:
    """Which lines are wanted."""

    def __init__(
        self, step: str | None, after: float | None, text: str, run: RunHistory | None = None
    ) -> None:
        self._step = step
        self._after = after
        self._run = run
        self._text = text.casefold()

    @property
    def is_all(self) -> bool:
        """Whether nothing is left out."""
        return self._step is None and self._after is None and self._run is None and not self._text

    def has(self, raw: bytes) -> bool:
        """Tell whether a line is among them."""
        try:
            line = msgspec.json.decode(raw)
        except msgspec.DecodeError:  # half a line: it is being written
            return False
        return (
            self._step in (None, line["step"])
            and (self._after is None or line["at"] > self._after or not line["at"])
            and (self._run is None or _is_of(self._run, line))
            and self._text in line["text"].casefold()
        )

    def among(self, part: list[bytes]) -> bytes:
        """Return those of some lines that are wanted."""
        return b"".join(line for line in part if line.endswith(b"\n") and self.has(line))

    def last(self, path: Path, most: int) -> bytes:
        """Return the last lines of a file that are wanted, read from its end."""
        lines: list[bytes] = []
        for line in _backwards(path):
            if len(lines) == most:
                break
            if line and (self.is_all or self.has(line)):
                lines.append(line + b"\n")
        return b"".join(reversed(lines))


def _is_of(run: RunHistory, line: dict[str, Any]) -> bool:
    """Tell whether a run printed a line; of lines that do not say, those are taken that its step printed while it ran."""
    if named := line.get("run"):
        return bool(named == run.id)
    at: float = line["at"]
    return not at or (run.started < at and (run.ended is None or at <= run.ended))


def _backwards(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, the last one first; one that is not finished is left out."""
    if not path.exists():
        return
    with path.open("rb") as file:
        left, tail = file.seek(0, 2), b""
        is_end = True
        while left:
            size = min(PART_BYTES, left)
            left -= size
            file.seek(left)
            first, *lines = (file.read(size) + tail).split(b"\n")
            if is_end and lines:
                lines.pop()
                is_end = False
            tail = first
            yield from reversed(lines)
        if tail and not is_end:
            yield tail


async def _lines(path: Path, wanted: _Lines) -> AsyncIterator[bytes]:
    try:
        opened = await asyncio.to_thread(path.open, "rb")
    except FileNotFoundError:
        return
    with opened as file:
        while lines := await asyncio.to_thread(file.readlines, PART_BYTES):
            yield (
                await asyncio.to_thread(wanted.among, lines)
                if not wanted.is_all
                else b"".join(lines)
            )


# Large values


@get("/executions/{execution:str}/values/{ref:path}", opt=needs(May.SEE) | answers(RangeOfValue))
async def value(
    service: TheService,
    execution: FromPath[str],
    ref: FromPath[str],
    path: FromQuery[str] = "",
    offset: Annotated[int, QueryParameter(schema_extra={"minimum": 0})] = 0,
    limit: Annotated[int, QueryParameter(schema_extra={"minimum": 1, "maximum": RANGE_MAX})] = 100,
) -> dict[str, Any]:
    """Return part of a value: so many items of a list, keys of an object, characters of a text, or bytes.

    ``ref`` is ``output``, ``workload``, ``ctx.NAME``, or the ``key`` of a reference; ``path`` a JSON pointer into it, such
    as ``/rows/3``. What is too large to stand in the answer comes as a preview, with where it is.
    """
    if not 1 <= limit <= RANGE_MAX or offset < 0:
        raise ProblemError("bad-request", f"'limit' is from 1 to {RANGE_MAX:,}, 'offset' from 0")
    entry, engine = await service.engine.view(execution), service.engine
    reader = RangeReader(engine.store, engine.objects, entry.state, service.long_work.aside)
    return await range_of(reader, ref.lstrip("/"), path, offset, limit)


def router(base: str) -> Router:
    """Return the routes of what executions hold."""
    handlers = [records, children, logs, value]
    return Router(path=base, route_handlers=handlers, tags=["executions"])
