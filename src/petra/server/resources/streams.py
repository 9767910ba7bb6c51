"""Streams: what happens, as it happens, by server-sent events.

Rule 1: the id of an event is the number of a record. ``Last-Event-ID`` goes on behind it: none is lost, none comes twice.
Rule 2: nothing is sent before it is durable.
Rule 3: a reader that lags is told so; it loses hints and rows of lists, never records, and holds nobody up.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Final, Literal

import msgspec
from litestar import Router, get
from litestar.params import FromPath, HeaderParameter, QueryParameter
from litestar.response import Stream

from petra.accounts.shown import moment
from petra.desk.now import doing_by_row
from petra.desk.principal import May, Principal
from petra.engine.news import (
    Appended,
    Ended,
    Gone,
    Head,
    Hint,
    Lagged,
    News,
    Printed,
    Reset,
)
from petra.server.answers.streams import ExecutionMessage
from petra.server.identity import Presented
from petra.server.needs import needs
from petra.server.openapi import tells
from petra.server.outflow import Outflow
from petra.server.parameters import LARGEST, MaybeNumber, Number, presented_by, whole_number
from petra.server.resources.stories import run_of
from petra.server.service import AnyHttpRequest, TheService, Who
from petra.store.rows import ExecutionRow
from petra.story import RunHistory, frames_of
from petra.wire.frames import LogLine, Retrying

As = Annotated[Literal["frames", "records"], QueryParameter(name="as", required=False)]
LastEventId = Annotated[str | None, HeaderParameter(name="Last-Event-ID", required=False)]
DELAY_MAX_S: Final = 100 * 365 * 24 * 3600.0
"""What a worker says of a pause beyond that is no moment of any calendar."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def stream_event(event: str, data: Any, cursor: str = "") -> bytes:
    """Write an event of a stream."""
    head = f"id: {cursor}\n" if cursor else ""
    return f"{head}event: {event}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"


@get(
    "/executions/{execution:str}/stream",
    media_type="text/event-stream",
    opt=needs(May.SEE) | tells(ExecutionMessage),
)
async def followed(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    after: Number = 0,
    form: As = "frames",
    last: LastEventId = None,
    logs: MaybeNumber = None,
) -> Stream:
    """Stream what happens in an execution behind a record; it ends when the execution is over.

    With ``logs`` only what one run printed is told, by its number; else what all of them do.

    It comes as ``frames``, what records moved, in columns; with ``as=records`` as whole records, an event each.
    """
    if last is not None:
        after = _number(last)
    version = (await service.desk.get(who, execution)).version
    hello = {
        "execution": execution, "after": after, "resumed": after <= version, "server": service.version,
        "at": moment(service.clock.now()),
    }  # fmt: skip
    opening = [stream_event("hello", hello)]
    if after > version:  # of a log that is not this one: whoever reads begins anew
        after = 0
        opening.append(stream_event("reset", {"version": version}))
    run = (await run_of(service, execution, logs))[1] if logs is not None else None
    parts = _records(service, who, execution, after, opening, form=form, run=run)
    return Stream(
        kept_alive(parts, service, presented_by(request), who),
        media_type="text/event-stream",
        headers=HEADERS,
    )


def _number(cursor: str) -> int:
    """Return the record that a cursor names; what is no cursor of ours is one that no log has, and so unknown."""
    number = whole_number(cursor)
    return LARGEST if number is None else number


async def _records(
    service: TheService,
    who: Who,
    execution: str,
    after: int,
    opening: list[bytes],
    *,
    form: str,
    run: RunHistory | None,
) -> AsyncIterator[bytes]:
    for part in opening:
        yield part
    messages = service.desk.follow(who, execution, after)
    async with aclosing(messages):
        async for message in messages:
            if run is not None and isinstance(message, Printed):
                lines = [line for line in message.lines if _is_of(run, line)]
                if lines:
                    yield _printed(lines, run.number)
                continue
            if part := await _bytes_of(service, execution, message, form):
                yield part
            if isinstance(message, Ended):
                yield stream_event("bye", {"retry_ms": 1000})
            if isinstance(message, Ended | Gone) or _is_over(message):
                return


def _is_of(run: RunHistory, line: LogLine) -> bool:
    """Tell whether a run printed a line; workers of the version before say its step only."""
    return line.run == run.id if line.run else line.step == run.step


async def _bytes_of(service: TheService, execution: str, message: News, form: str) -> bytes:
    """Return what a message comes to; that of records is made once, for all who read them."""
    if not isinstance(message, Appended) or not message.records:
        return b"".join(_events_of(service, execution, message, whole=False))
    first, last = message.records[0].seq, message.records[-1]
    leads = message.head.version if message.head is not None else 0
    key = execution, form, first, last.hash, leads
    if (known := service.told.known(key)) is not None:
        return known
    if form == "records":
        events = _events_of(service, execution, message, whole=True)
        return service.told.keep(key, b"".join(events))

    async def made() -> bytes:
        frames = frames_of(await service.stories.of(execution), after=first - 1, until=last.seq)
        events = _events_of(service, execution, message, whole=False)
        return b"".join((stream_event("frames", frames, str(last.seq)), *events))

    return await service.told.made(key, made)


def _is_over(message: News) -> bool:
    return isinstance(message, Appended) and message.head is not None and message.head.over


def _events_of(service: TheService, execution: str, message: News, *, whole: bool) -> list[bytes]:
    match message:
        case Appended(records=records, head=head):
            shown = records if whole else ()
            parts = [
                stream_event("record", msgspec.to_builtins(record), str(record.seq))
                for record in shown
            ]
            return parts + (
                [stream_event("head", _head(service, execution, head))] if head is not None else []
            )
        case Hint(notice=notice):
            return [stream_event("live", _live(notice, service.clock.now()))]
        case Printed(lines=lines):
            return [_printed(lines)]
        case Lagged(lost=lost):
            return [stream_event("lagged", {"lost": lost})]
        case Reset(version=version):
            return [stream_event("reset", {"version": version})]
        case Gone():
            return [stream_event("execution.gone", {"id": message.execution})]
        case _:
            return []


def _printed(lines: Sequence[LogLine], run: int | None = None) -> bytes:
    """Tell of lines; of one run by its number, where only that one is listened to."""
    return stream_event("log", {"run": run, "lines": msgspec.to_builtins(lines)})


def _live(notice: Retrying, now: float) -> dict[str, Any]:
    """Tell of a try that failed: when the next one comes, and why, in words."""
    attempt, said = notice.attempt, notice.attempt.error
    delay_s = attempt.delay_s or 0.0
    return {
        **msgspec.to_builtins(notice),
        "next_at": moment(now + delay_s) if 0 <= delay_s <= DELAY_MAX_S else None,
        "note": f"{said.kind}: {said.message}" if said is not None else attempt.status,
    }


def _head(service: TheService, execution: str, head: Head) -> dict[str, Any]:
    """Tell where an execution stands, and what it does."""
    row = ExecutionRow(
        id=execution, playbook="", digest="", status=head.status, reason=head.reason, started=0.0,
        updated=0.0, ended=0.0 if head.over else None,
    )  # fmt: skip
    doing = service.doings.at_hand(row, head.version) or doing_by_row(row)
    return {
        "version": head.version, "status": head.status, "reason": head.reason, "now": doing.now,
        "progress": doing.progress,
    }  # fmt: skip


async def kept_alive(
    parts: AsyncIterator[bytes], service: TheService, presented: Presented, who: Principal
) -> AsyncIterator[bytes]:
    """Give on what comes, a comment whenever nothing came for a while, and goodbye when it is over."""
    outflow = Outflow(parts)
    service.outflows.add(outflow)
    try:
        with service.staying.guest(presented, who) as over:
            over.add_done_callback(outflow.end)
            if service.closing.is_set():
                outflow.end()
            while piece := await outflow.next():
                yield piece
            if outflow.is_over:
                yield stream_event("bye", {"retry_ms": 1000})
    finally:
        service.outflows.discard(outflow)
        await outflow.close()


def router(base: str) -> Router:
    """Return the routes of streams."""
    return Router(path=base, route_handlers=[followed], tags=["streams"])
