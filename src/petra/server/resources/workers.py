"""Workers: those elsewhere come in here; all that are there can be seen."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Router, WebSocket, get, websocket

from petra.desk.principal import ForbiddenError, May, Principal
from petra.engine.workers import Bounds
from petra.errors import PetraError
from petra.server.answers.overview import WorkerItem
from petra.server.identity import Presented
from petra.server.needs import needs
from petra.server.paging import MOST, Cursor, paged
from petra.server.parameters import Limit
from petra.server.problems import MEDIA_TYPE, problem
from petra.server.service import Here, TheService
from petra.server.shapes import Page
from petra.server.worker_items import worker_items
from petra.server.worker_socket import WorkerSocket, talk
from petra.wire.frames import SUBPROTOCOL

AnySocket = WebSocket[Any, Any, Any]


@get("/workers", tags=["workers"], opt=needs(May.SEE))
async def workers(
    service: TheService, here: Here, limit: Limit = MOST, cursor: Cursor = None
) -> Page[WorkerItem]:
    """List the workers that are connected and may do runs of the namespace, with what each does."""
    items = worker_items(service.engine.custody, here.namespace)
    # several may have one name and pool: those are told apart by when they came
    page, behind = paged(
        enumerate(items),
        lambda numbered: (numbered[1].name, numbered[1].pool, numbered[0]),
        cursor,
        limit,
    )
    return Page(items=[worker for _, worker in page], next=behind)


@websocket("/worker")
async def come_in(socket: AnySocket, service: TheService) -> None:
    """Let a worker in that has a token; it speaks frames until it leaves."""
    try:
        presented = Presented(
            method="GET", authorization=socket.headers.get("authorization", "none")
        )
        who = await _worker(presented, service, socket.query_params.get("pool", ""))
    except PetraError as error:
        await _refuse(socket, error, service.prefix)
        return
    await socket.accept(subprotocols=SUBPROTOCOL)
    worker = WorkerSocket(socket)
    service.workers[worker] = who
    try:
        with service.staying.guest(presented, who) as over:
            bounds = Bounds(who.pool, who.places(May.WORK), who.name)
            await talk(service.hears(worker), worker, bounds, over)
    finally:
        del service.workers[worker]


async def _worker(presented: Presented, service: TheService, pool: str) -> Principal:
    """Find out who a worker is; one that says for which pool it comes is told here that its token is for another."""
    who, _ = await service.identity.who(presented)  # a token only: no page of a browser is a worker
    who.must_somewhere(frozenset({May.WORK}))
    if pool and who.pool not in (None, pool):
        raise ForbiddenError(f"this token is for pool '{who.pool}', not for '{pool}'")
    return who


async def _refuse(socket: AnySocket, error: PetraError, prefix: str) -> None:
    status, headers, body = problem(socket.scope["path"], error, prefix)
    raw = msgspec.json.encode(body)
    told = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    told += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(raw)).encode())]
    await socket.send({"type": "websocket.http.response.start", "status": status, "headers": told})
    await socket.send({"type": "websocket.http.response.body", "body": raw, "more_body": False})


def router(base: str) -> Router:
    """Return the routes of workers."""
    return Router(path=base, route_handlers=[workers, come_in])
