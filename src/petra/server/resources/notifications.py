"""Notifications: what people and systems were told, what waits to be sent, what was given up."""

from __future__ import annotations

from typing import Any, Literal

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery

from petra.desk.principal import May
from petra.notify.listing import again, found, notification_data
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.parameters import Limit, page_size
from petra.server.problems import ProblemError
from petra.server.service import Here, TheService
from petra.server.shapes import Page, Shape
from petra.store.rows import NotificationFilter, NotificationRow

SentState = Literal["waiting", "sent", "given_up", "needless"]


class NotificationItem(Shape, frozen=True):
    """Something that was told, or is to be."""

    id: str
    execution: str
    namespace: str
    channel: str
    about: str
    person: str
    state: str
    due: str
    created: str
    updated: str
    attempts: int
    sending: str
    """The id that it goes out under; several that go together have the same one."""
    error: str
    title: str
    text: str


@get("/notifications", opt=needs(May.SEE) | answers(Page[NotificationItem]))
async def listed(
    service: TheService,
    here: Here,
    status: FromQuery[SentState | None] = None,
    channel: FromQuery[str | None] = None,
    execution: FromQuery[str | None] = None,
    limit: Limit = 100,
    cursor: FromQuery[str | None] = None,
) -> dict[str, Any]:
    """List notifications, the latest first."""
    wanted = NotificationFilter(
        state=status, channel=channel, execution=execution, namespace=here.namespace
    )
    rows = service.engine.store.notifications
    page = await rows.notifications(wanted, cursor=cursor, limit=page_size(limit))
    return {"items": [notification_data(row) for row in page.rows], "next": page.cursor}


@get("/notifications/{notification:str}", opt=needs(May.SEE) | answers(NotificationItem))
async def one(service: TheService, here: Here, notification: FromPath[str]) -> dict[str, Any]:
    """Show a notification."""
    return notification_data(await _seen(service, here, notification))


@post(
    "/notifications/{notification:str}/retry",
    status_code=200,
    opt=needs(May.STEER) | answers(NotificationItem),
)
async def retry(service: TheService, here: Here, notification: FromPath[str]) -> dict[str, Any]:
    """Try to send a notification again, at once, with all its tries before it."""
    row = await _seen(service, here, notification)
    if row.state == "sent":
        raise ProblemError("refused", f"'{row.id}' was sent; nobody is told twice")
    waits = await again(service.engine.store, row.id, service.clock.now())
    service.engine.notifying.wake()
    return notification_data(waits)


async def _seen(service: TheService, here: Here, name: str) -> NotificationRow:
    row = await service.engine.store.notifications.notification(name)
    if row is None or row.namespace != here.namespace:
        raise ProblemError("not-found", f"there is no notification '{name[:100]}'")
    return await found(service.engine.store, name)


def router(base: str) -> Router:
    """Return the routes of notifications."""
    return Router(path=base, route_handlers=[listed, one, retry], tags=["notifications"])
