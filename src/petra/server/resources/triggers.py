"""Triggers: which events start playbooks (S24). Where webhooks come in is ``petra.server.resources.hooks``."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Response, Router, delete, get, post, put
from litestar.params import FromPath, FromQuery, JSONBody

from petra.desk.principal import May
from petra.desk.triggers import DeskTriggers
from petra.playbook.trigger import Trigger
from petra.server.answers.triggers import (
    AppliedTrigger,
    DeadLetterPage,
    Replayed,
    TriggerExplained,
    TriggerItem,
    TriggerPage,
    TriggerRemoved,
    TriggerSteered,
    TriggerVerdict,
)
from petra.server.conditions import IfMatch, IfNoneMatch, replaced_by
from petra.server.documents import (
    PauseReason,
    applied_document,
    document_of,
    must_be_seen,
    shown_document,
    takes_document,
)
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.paging import MOST, Cursor, page_data
from petra.server.parameters import Limit, page_size
from petra.server.service import AnyHttpRequest, Here, TheService

LETTERS_MAX = 500


class TriedEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event to try, as ``event`` is in expressions."""

    event: dict[str, Any]


class Letters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which dead letters; all of them, where none is named."""

    ids: Annotated[list[str], msgspec.Meta(max_length=LETTERS_MAX)] = []


@get("/triggers", opt=needs(May.SEE) | answers(TriggerPage))
async def listed(
    service: TheService, here: Here, limit: Limit = MOST, cursor: Cursor = None
) -> dict[str, Any]:
    """List the triggers, by name: where their events come from, and what came of the last ones."""
    return page_data(await DeskTriggers(service.engine).listed(here), ("name",), cursor, limit)


@get("/triggers/{name:str}", opt=needs(May.SEE) | answers(TriggerItem))
async def one(service: TheService, here: Here, name: FromPath[str]) -> Response[dict[str, Any]]:
    """Return a trigger: its text, how many dead letters it has, and what it started last."""
    return shown_document(await DeskTriggers(service.engine).get(here, name))


@get("/triggers/{name:str}/explain", opt=needs(May.SEE) | answers(TriggerExplained))
async def explained(service: TheService, here: Here, name: FromPath[str]) -> dict[str, Any]:
    """Say what a trigger waits for, and what keeps events from starting something: a pause, a missing secret, dead letters."""
    return await DeskTriggers(service.engine).explain(here, name)


@put("/triggers/{name:str}", status_code=200, opt=takes_document(AppliedTrigger, May.APPLY))
async def replaced(
    service: TheService,
    here: Here,
    request: AnyHttpRequest,
    name: FromPath[str],
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response[dict[str, Any]]:
    """Apply a trigger under its name: 201 for a new text, 200 where nothing changed; it takes events from then on.

    With ``If-Match`` only if that is the text it replaces, with ``If-None-Match: *`` only if there is no such trigger.
    """
    trigger = await document_of(request, name, Trigger)
    seen = replaced_by(if_match, if_none_match)
    return applied_document(await DeskTriggers(service.engine).apply(here, trigger, replaces=seen))


@delete("/triggers/{name:str}", status_code=200, opt=needs(May.APPLY) | answers(TriggerRemoved))
async def removed(
    service: TheService, here: Here, name: FromPath[str], if_match: IfMatch = None
) -> dict[str, Any]:
    """Have a trigger take no more events; what it started goes on. With ``If-Match`` only if that is its text."""
    triggers = DeskTriggers(service.engine)
    if if_match is not None:
        must_be_seen(await triggers.get(here, name), if_match)
    return await triggers.remove(here, name)


@post("/triggers/{name:str}/pause", status_code=200, opt=needs(May.STEER) | answers(TriggerSteered))
async def pause(
    service: TheService, here: Here, name: FromPath[str], data: JSONBody[PauseReason | None] = None
) -> dict[str, Any]:
    """Have nothing started any more; webhooks are told to come again."""
    return await DeskTriggers(service.engine).pause(here, name, data.reason if data else "")


@post(
    "/triggers/{name:str}/resume", status_code=200, opt=needs(May.STEER) | answers(TriggerSteered)
)
async def resume(
    service: TheService, here: Here, name: FromPath[str], data: JSONBody[PauseReason | None] = None
) -> dict[str, Any]:
    """Let it go on; events of the pause are not made up for, files apart."""
    del data  # a reason may be given, as for a pause; nothing keeps it
    return await DeskTriggers(service.engine).resume(here, name)


@post("/triggers/{name:str}/test", status_code=200, opt=needs(May.SEE) | answers(TriggerVerdict))
async def test(
    service: TheService, here: Here, name: FromPath[str], data: JSONBody[TriedEvent]
) -> dict[str, Any]:
    """Say what would come of an event: whether it counts, its key, the workload. Nothing is started."""
    return await DeskTriggers(service.engine).test(here, name, data.event)


@get("/triggers/{name:str}/dead", opt=needs(May.SEE) | answers(DeadLetterPage))
async def dead(
    service: TheService,
    here: Here,
    name: FromPath[str],
    limit: Limit = 100,
    cursor: FromQuery[str | None] = None,
) -> dict[str, Any]:
    """List the dead letters of a trigger, the latest first: events that could start nothing, and why."""
    items, behind = await DeskTriggers(service.engine).dead(
        here, name, cursor=cursor, limit=page_size(limit)
    )
    return {"items": items, "next": behind}


@post("/triggers/{name:str}/replay", status_code=202, opt=needs(May.START) | answers(Replayed))
async def replay(
    service: TheService, here: Here, name: FromPath[str], data: JSONBody[Letters | None] = None
) -> dict[str, Any]:
    """Try dead letters again: those that are named, or all. The same event starts one execution at most."""
    return await DeskTriggers(service.engine).replay(here, name, data.ids if data else ())


def router(base: str) -> Router:
    """Return the routes of triggers."""
    handlers = [listed, one, explained, replaced, removed, pause, resume, test, dead, replay]
    return Router(path=base, route_handlers=handlers, tags=["triggers"])
