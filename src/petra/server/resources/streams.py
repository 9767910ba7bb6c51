"""Streams: what happens, as it happens, by server-sent events.

Rule 1: the id of an event is the number of a record. ``Last-Event-ID`` goes on behind it: none is lost, none comes twice.
Rule 2: nothing is sent before it is durable.
Rule 3: a reader that lags is told so; it loses hints and rows of lists, never records, and holds nobody up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Router, get
from litestar.params import FromPath, FromQuery, HeaderParameter, JSONBody, QueryParameter
from litestar.response import Stream

from petra.accounts.told import moment
from petra.desk.letting_in import concerns
from petra.desk.now import told as told_by
from petra.desk.principal import EVERYWHERE, May, Principal
from petra.engine.news import (
    Appended,
    Ended,
    Gone,
    Head,
    Hint,
    Lagged,
    Listed,
    News,
    Notice,
    Printed,
    Reset,
    Topic,
)
from petra.server.identity import AGAIN_S, Presented
from petra.server.needs import needs
from petra.server.parameters import presented_by
from petra.server.problems import ProblemError
from petra.server.service import Here, TheService, Who
from petra.server.shapes import row_data, work_item
from petra.store.rows import ExecutionRow, WorkItemRow
from petra.story import frames_of

AnyHttpRequest = Request[Any, Any, Any]
QUIET_S = 15.0
"""So often a comment is sent when nothing happens, so that nobody in between hangs up."""
_TOPICS = {topic.value: topic for topic in (Topic.EXECUTIONS, Topic.WORK_ITEMS, Topic.WORKERS)}
As = Annotated[Literal["frames", "records"], QueryParameter(name="as", required=False)]
LastEventId = Annotated[str | None, HeaderParameter(name="Last-Event-ID", required=False)]
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def _sent(event: str, data: JSONBody[Any], cursor: str = "") -> bytes:
    head = f"id: {cursor}\n" if cursor else ""
    return f"{head}event: {event}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"


@get("/executions/{execution:str}/stream", media_type="text/event-stream", opt=needs(May.SEE))
async def followed(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    after: FromQuery[int] = 0,
    form: As = "frames",
    last: LastEventId = None,
) -> Stream:
    """Stream what happens in an execution behind a record; it ends when the execution is over.

    It comes as ``frames``, what records moved, in columns; with ``as=records`` as whole records, an event each.
    """
    if last is not None:
        after = _number(last)
    version = (await service.desk.get(who, execution)).version
    hello = {
        "execution": execution, "after": after, "resumed": after <= version, "server": service.version,
        "at": moment(service.clock.now()),
    }  # fmt: skip
    begun = [_sent("hello", hello)]
    if after > version:  # of a log that is not this one: whoever reads begins anew
        after = 0
        begun.append(_sent("reset", {"version": version}))
    parts = _records(service, who, execution, after, begun, form=form)
    return Stream(
        _quietly(parts, service, presented_by(request)),
        media_type="text/event-stream",
        headers=_HEADERS,
    )


def _number(given: str) -> int:
    if not given.isdigit():
        raise ProblemError("bad-request", f"'Last-Event-ID: {given[:40]}' is no number of a record")
    return int(given)


async def _records(
    service: TheService, who: Who, execution: str, after: int, begun: list[bytes], *, form: str
) -> AsyncIterator[bytes]:
    for part in begun:
        yield part
    messages = service.desk.follow(who, execution, after)
    async with aclosing(messages):
        async for message in messages:
            if isinstance(message, Appended) and message.records and form == "frames":
                yield await _moved(service, execution, message)
            for part in _told(service, execution, message, whole=form == "records"):
                yield part
            if isinstance(message, Ended):
                yield _sent("bye", {"retry_ms": 1000})
            if isinstance(message, Ended | Gone) or _is_over(message):
                return


async def _moved(service: TheService, execution: str, message: Appended) -> bytes:
    """Tell what records moved, under the number of the last of them."""
    first, last = message.records[0].seq, message.records[-1].seq
    frames = frames_of(await service.stories.of(execution), after=first - 1, until=last)
    return _sent("frames", frames, str(last))


def _is_over(message: News) -> bool:
    return isinstance(message, Appended) and message.head is not None and message.head.over


def _told(service: TheService, execution: str, message: News, *, whole: bool) -> list[bytes]:
    match message:
        case Appended(records=records, head=head):
            told = records if whole else ()
            parts = [_sent("record", msgspec.to_builtins(one), str(one.seq)) for one in told]
            return parts + (
                [_sent("head", _head(service, execution, head))] if head is not None else []
            )
        case Hint(notice=notice):
            return [_sent("live", msgspec.to_builtins(notice))]
        case Printed(lines=lines):
            return [_sent("log", {"lines": [msgspec.to_builtins(line) for line in lines]})]
        case Lagged(lost=lost):
            return [_sent("lagged", {"lost": lost})]
        case Reset(version=version):
            return [_sent("reset", {"version": version})]
        case Gone():
            return [_sent("execution.gone", {"id": message.execution})]
        case _:
            return []


def _head(service: TheService, execution: str, head: Head) -> dict[str, Any]:
    """Tell where an execution stands, and what it does."""
    row = ExecutionRow(
        id=execution, playbook="", digest="", status=head.status, reason=head.reason, started=0.0,
        updated=0.0, ended=0.0 if head.over else None,
    )  # fmt: skip
    doing = service.doings.at_hand(row, head.version) or told_by(row)
    return {
        "version": head.version, "status": head.status, "reason": head.reason, "now": doing.now,
        "progress": doing.progress,
    }  # fmt: skip


@get("/stream", media_type="text/event-stream", opt=needs(May.SEE, May.DECIDE))
async def listened(
    service: TheService,
    here: Here,
    request: AnyHttpRequest,
    topics: FromQuery[str | None] = None,
) -> Stream:
    """Stream what lists show: executions, work-items, workers."""
    wanted = []
    usual = "executions" if May.SEE in here.may else "work-items"
    for name in (topics or usual).split(","):
        if name not in _TOPICS:
            raise ProblemError(
                "bad-request", f"there is no topic '{name[:40]}'; there are {', '.join(_TOPICS)}"
            )
        if name != Topic.WORK_ITEMS.value:
            here.must(May.SEE)
        wanted.append(_TOPICS[name])
    rows = _rows(service, here, wanted)
    parts = _quietly(rows, service, presented_by(request))
    return Stream(parts, media_type="text/event-stream", headers=_HEADERS)


async def _rows(service: TheService, who: Who, topics: list[Topic]) -> AsyncIterator[bytes]:
    heard: asyncio.Queue[bytes | None] = asyncio.Queue(1)

    async def hear(topic: Topic) -> None:
        with service.desk.watch(who, topic) as subscription:
            while True:
                message = await subscription.next()
                if isinstance(message, Ended):
                    await heard.put(None)
                    return
                if isinstance(message, Listed) and not _is_for(who, message.row):
                    continue
                if isinstance(message, Gone) and not await _may_know(service, who):
                    message = Lagged(lost=1)
                for part in _row(service, message):
                    await heard.put(part)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(hear(topic)) for topic in topics]
        try:
            yield _sent("hello", {"resumed": False})
            while (part := await heard.get()) is not None:
                yield part
            yield _sent("bye", {"retry_ms": 1000})
        finally:
            for task in tasks:
                task.cancel()


def _is_for(who: Principal, row: ExecutionRow | WorkItemRow) -> bool:
    return concerns(who, row) if isinstance(row, WorkItemRow) else row.namespace == who.namespace


async def _may_know(service: TheService, who: Principal) -> bool:
    """Tell whether somebody may know of whatever is deleted: of what namespace it was, nobody knows any more."""
    return May.SEE in who.within(EVERYWHERE).may or not await service.register.is_divided()


def _row(service: TheService, message: News) -> list[bytes]:
    match message:
        case Listed(row=ExecutionRow() as row):
            doing = service.doings.at_hand(row) or told_by(row)
            return [_sent("execution.row", row_data(row, doing))]
        case Listed(row=WorkItemRow() as row):
            return [_sent("item.row", msgspec.to_builtins(work_item(row)))]
        case Gone():
            return [_sent("execution.gone", {"id": message.execution})]
        case Notice():
            return [_sent("worker.row", {"about": message.about, "text": message.text})]
        case Lagged(lost=lost):
            return [_sent("reset", {"lost": lost})]
        case _:
            return []


async def _watch(service: TheService, presented: Presented) -> None:
    """Wait until the server closes, or whoever reads may no longer."""
    closing = asyncio.ensure_future(service.closing.wait())
    try:
        while not closing.done() and await service.identity.is_in(presented):
            await asyncio.wait({closing}, timeout=AGAIN_S)
    finally:
        closing.cancel()


async def _quietly(
    parts: AsyncIterator[bytes], service: TheService, presented: Presented
) -> AsyncIterator[bytes]:
    """Give on what comes, a comment whenever nothing came for a while, and goodbye when it is over."""
    coming: asyncio.Task[bytes] | None = None
    closes = asyncio.ensure_future(_watch(service, presented))
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next(parts))
            done, _ = await asyncio.wait(
                {coming, closes}, timeout=QUIET_S, return_when=asyncio.FIRST_COMPLETED
            )
            if closes in done:
                yield _sent("bye", {"retry_ms": 1000})
                return
            if not done:
                yield b": still here\n\n"
                continue
            try:
                part = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield part
    finally:
        closes.cancel()
        if coming is not None:
            coming.cancel()
            await asyncio.wait({coming})
        await parts.aclose()  # type: ignore[attr-defined]


async def _next(parts: AsyncIterator[bytes]) -> bytes:
    return await anext(parts)


def router(base: str) -> Router:
    """Return the routes of streams."""
    return Router(path=base, route_handlers=[followed, listened], tags=["streams"])
