"""What lists show, as it happens: rows of executions and work items, operations, workers; by server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from litestar import Router, get
from litestar.params import FromQuery
from litestar.response import Stream

from petra.accounts.shown import moment
from petra.desk.principal import May, Principal
from petra.engine.news import Topic
from petra.server.answers.streams import ListMessage
from petra.server.journal import Reader
from petra.server.needs import needs
from petra.server.openapi import tells
from petra.server.parameters import presented_by
from petra.server.problems import ProblemError
from petra.server.resources.filters import Which
from petra.server.resources.list_messages import ListReader
from petra.server.resources.streams import HEADERS, LastEventId, kept_alive, stream_event
from petra.server.service import AnyHttpRequest, Here, TheService
from petra.store.errors import StoreError
from petra.store.rows import ExecutionFilter

_TOPICS: dict[str, Topic | None] = {
    "executions": Topic.EXECUTIONS, "work-items": Topic.WORK_ITEMS, "workers": Topic.WORKERS,
    "playbooks": Topic.PLAYBOOKS, "operations": None,
}  # fmt: skip
"""What one may listen to; operations are no news of the engine."""


@get(
    "/stream",
    media_type="text/event-stream",
    opt=needs(May.SEE, May.DECIDE) | tells(ListMessage),
)
async def listened(
    service: TheService,
    here: Here,
    which: Which,
    request: AnyHttpRequest,
    topics: FromQuery[str | None] = None,
    after: FromQuery[str | None] = None,
    last: LastEventId = None,
) -> Stream:
    """Stream what lists show: executions, work-items, workers, playbooks, operations; several with commas between.

    It begins with a snapshot of the first rows. Behind a cursor, which is the id of a message (``Last-Event-ID``, or ``after``), what
    followed is told instead; where the cursor is not known, ``reset``, and lists are to be read anew.

    Of executions those are told that a filter finds, in the parameters of their list, and how many there are of each status. One
    that it finds no more, because of its status or of what is said of it, is gone; so is a work item that is somebody else's now.
    """
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
    narrowed = msgspec.structs.replace(which, namespace=here.namespace)
    named = frozenset(topic for topic in wanted if topic is not None)
    listener = ListReader(service, here, named, narrowed)
    rows = _rows(listener, operations=None in wanted, cursor=last if last is not None else after)
    parts = kept_alive(rows, service, presented_by(request), here)
    return Stream(parts, media_type="text/event-stream", headers=HEADERS)


async def _rows(
    listener: ListReader, *, operations: bool, cursor: str | None = None
) -> AsyncIterator[bytes]:
    heard: asyncio.Queue[bytes | None] = asyncio.Queue(1)
    moved = asyncio.Event()
    service = listener.service
    with service.journal.reading() as reader:
        resumed = cursor is not None and listener.may_resume and reader.goes_on(cursor)
        listener.resumed = resumed
        server = {"server": service.version, "at": moment(service.clock.now())}
        yield stream_event("hello", {"resumed": resumed, **server})
        if not resumed:
            yield await listener.opening(reader.cursor, anew=cursor is not None)
        # no group of tasks: whoever reads may leave at any of these yields, and a group would call that an error
        tasks = [asyncio.create_task(_hear(listener, reader, moved, heard))]
        if Topic.EXECUTIONS in listener.topics:
            tasks.append(asyncio.create_task(_counts(service, listener.which, moved, heard)))
        if operations:
            tasks.append(asyncio.create_task(_operations(service, listener.who, heard)))
        try:
            while (part := await _next_of(heard, tasks)) is not None:
                yield part
            yield stream_event("bye", {"retry_ms": 1000})
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def _hear(
    listener: ListReader,
    reader: Reader,
    moved: asyncio.Event,
    heard: asyncio.Queue[bytes | None],
) -> None:
    """Tell what the journal has, of what is listened to."""
    while (news := await reader.next()) is not None:
        topic, message = news
        if topic in (Topic.EXECUTIONS, None):
            moved.set()
        if topic is None or topic in listener.topics:
            for part in await listener.events_of(message, topic, reader.cursor):
                await heard.put(part)
    await heard.put(None)


async def _next_of(
    heard: asyncio.Queue[bytes | None], tasks: list[asyncio.Task[None]]
) -> bytes | None:
    """Return what is heard next; what goes wrong with a task that listens goes wrong here."""
    coming = asyncio.ensure_future(heard.get())
    try:
        await asyncio.wait({coming, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done() and task.exception() is not None:
                task.result()
        return await coming
    finally:
        coming.cancel()


async def _operations(
    service: TheService, who: Principal, heard: asyncio.Queue[bytes | None]
) -> None:
    """Tell of operations: of each as it is, and again whenever it has moved on."""
    told: dict[str, bytes] = {}
    while True:
        with contextlib.suppress(StoreError):
            for operation in await service.operations.all(who):
                part = stream_event("operation", operation.shown())
                if told.get(operation.id) != part:
                    told[operation.id] = part
                    await heard.put(part)
        await service.operations.changed()


async def _counts(
    service: TheService,
    which: ExecutionFilter,
    moved: asyncio.Event,
    heard: asyncio.Queue[bytes | None],
) -> None:
    """Tell how many executions there are by status: at first, and a while after something has changed."""
    told = b""
    while True:
        moved.clear()
        with contextlib.suppress(StoreError):
            part = stream_event("counts", await service.counted.of(which))
            if part != told:
                told = part
                await heard.put(part)
        await moved.wait()
        await asyncio.sleep(service.counted.pause_s)


def router(base: str) -> Router:
    """Return the routes of listening."""
    return Router(path=base, route_handlers=[listened], tags=["streams"])
