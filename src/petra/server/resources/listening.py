"""What lists show, as it happens: rows of executions and work items, operations, workers; by server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from litestar import Router, get
from litestar.params import FromQuery
from litestar.response import Stream

from petra.desk.letting_in import concerns
from petra.desk.now import told as told_by
from petra.desk.principal import EVERYWHERE, May, Principal
from petra.engine.news import Ended, Gone, Lagged, Listed, News, Notice, Published, Topic
from petra.server.answers.streams import ListMessage
from petra.server.needs import needs
from petra.server.openapi import tells
from petra.server.parameters import presented_by
from petra.server.problems import ProblemError
from petra.server.resources.filters import Which
from petra.server.resources.streams import HEADERS, kept_alive, stream_event
from petra.server.service import AnyHttpRequest, Here, TheService
from petra.server.shapes import playbook_item, row_data, work_item
from petra.store.errors import StoreError
from petra.store.judge import fits
from petra.store.rows import ExecutionFilter, ExecutionRow, WorkItemRow

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
) -> Stream:
    """Stream what lists show: executions, work-items, workers, playbooks, operations; several with commas between.

    Of executions those are told that a filter finds, in the parameters of their list, and how many there are of each status. One
    that it finds no more, because of its status or of what is said of it, is gone.
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
    named = [topic for topic in wanted if topic is not None]
    rows = _rows(service, here, named, narrowed, operations=None in wanted)
    parts = kept_alive(rows, service, presented_by(request))
    return Stream(parts, media_type="text/event-stream", headers=HEADERS)


async def _rows(
    service: TheService,
    who: Principal,
    topics: list[Topic],
    which: ExecutionFilter,
    *,
    operations: bool,
) -> AsyncIterator[bytes]:
    heard: asyncio.Queue[bytes | None] = asyncio.Queue(1)
    moved = asyncio.Event()

    # no group of tasks: whoever reads may leave at any of these yields, and a group would call that an error
    tasks = [
        asyncio.create_task(_hear(service, who, topic, which, moved, heard)) for topic in topics
    ]
    if Topic.EXECUTIONS in topics:
        tasks.append(asyncio.create_task(_counts(service, which, moved, heard)))
    if operations:
        tasks.append(asyncio.create_task(_operations(service, who, heard)))
    try:
        yield stream_event("hello", {"resumed": False})
        while (part := await _next_of(heard, tasks)) is not None:
            yield part
        yield stream_event("bye", {"retry_ms": 1000})
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _hear(
    service: TheService,
    who: Principal,
    topic: Topic,
    which: ExecutionFilter,
    moved: asyncio.Event,
    heard: asyncio.Queue[bytes | None],
) -> None:
    """Tell what is heard of a topic, to who may see it."""
    with service.desk.watch(who, topic) as subscription:
        while True:
            message = await subscription.next()
            if isinstance(message, Ended):
                await heard.put(None)
                return
            if topic is Topic.EXECUTIONS:
                moved.set()
            if not _is_for(who, message):
                continue
            if isinstance(message, Gone) and not await _may_know(service, who):
                message = Lagged(lost=1)
            for part in _row(service, message, which):
                await heard.put(part)


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


def _is_for(who: Principal, message: News) -> bool:
    """Tell whether somebody may see what is told of."""
    match message:
        case Listed(row=WorkItemRow() as row):
            return concerns(who, row)
        case Listed(row=ExecutionRow() as row) | Published(playbook=row):
            return row.namespace == who.namespace
        case _:
            return True


async def _may_know(service: TheService, who: Principal) -> bool:
    """Tell whether somebody may know of whatever is deleted: of what namespace it was, nobody knows any more."""
    return May.SEE in who.within(EVERYWHERE).may or not await service.register.is_divided()


def _row(service: TheService, message: News, which: ExecutionFilter) -> list[bytes]:
    match message:
        case Listed(row=ExecutionRow() as row) if not fits(row, which):
            might = msgspec.structs.replace(which, statuses=(), text="")
            return [stream_event("execution.gone", {"id": row.id})] if fits(row, might) else []
        case Published(playbook=applied):
            return [stream_event("playbook.applied", playbook_item(applied))]
        case Listed(row=ExecutionRow() as row):
            doing = service.doings.at_hand(row) or told_by(row)
            return [stream_event("execution.row", row_data(row, doing))]
        case Listed(row=WorkItemRow() as row):
            return [stream_event("item.row", msgspec.to_builtins(work_item(row)))]
        case Gone():
            return [stream_event("execution.gone", {"id": message.execution})]
        case Notice():
            return [stream_event("worker.row", {"about": message.about, "text": message.text})]
        case Lagged(lost=lost):
            return [stream_event("reset", {"lost": lost})]
        case _:
            return []


def router(base: str) -> Router:
    """Return the routes of listening."""
    return Router(path=base, route_handlers=[listened], tags=["streams"])
