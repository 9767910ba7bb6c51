"""Schedules: when playbooks are started by the clock (S24)."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import msgspec
from litestar import Response, Router, delete, get, post, put
from litestar.params import FromPath, FromQuery, JSONBody

from petra.desk.principal import May
from petra.desk.schedules import Schedules
from petra.desk.timetables import PREVIEWED_MAX, previewed
from petra.playbook.documents import read_document
from petra.playbook.schedule import Schedule
from petra.server.answers.schedules import (
    AppliedSchedule,
    BackfillCount,
    ScheduleItem,
    SchedulePage,
    ScheduleRemoved,
    ScheduleRun,
    ScheduleSteered,
    TimesAhead,
)
from petra.server.conditions import IfMatch, IfNoneMatch, replaced_by
from petra.server.documents import (
    PauseReason,
    applied_document,
    document_of,
    must_be_seen,
    shown_document,
    takes_document,
    with_text_of,
)
from petra.server.needs import needs
from petra.server.openapi import answers, takes
from petra.server.paging import MOST, Cursor, page_data
from petra.server.parameters import Limit
from petra.server.repeats import Key, asked_under, command_id, once
from petra.server.service import AnyHttpRequest, Here, TheService, Who


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The times to fill in, by the clocks of the schedule where they have no offset."""

    since: str = msgspec.field(name="from")
    until: str = msgspec.field(name="to")


class Previewed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A schedule to look ahead with: its text, or the name of one that is kept."""

    text: str = ""
    name: str = ""
    since: str = msgspec.field(name="from", default="")
    number: Annotated[int, msgspec.Meta(ge=1, le=PREVIEWED_MAX)] = msgspec.field(
        name="n", default=10
    )


@get("/schedules", opt=needs(May.SEE) | answers(SchedulePage))
async def listed(
    service: TheService, here: Here, limit: Limit = MOST, cursor: Cursor = None
) -> dict[str, Any]:
    """List the schedules that are kept, by name: what comes next, and what came of the last ones."""
    return page_data(await Schedules(service.engine).listed(here), ("name",), cursor, limit)


@get("/schedules/{name:str}", opt=needs(May.SEE) | answers(ScheduleItem))
async def one(service: TheService, here: Here, name: FromPath[str]) -> Response[dict[str, Any]]:
    """Return a schedule: its text, what comes next, what runs, what was passed, and what came of the last ones."""
    return shown_document(await Schedules(service.engine).get(here, name))


@put("/schedules/{name:str}", status_code=200, opt=takes_document(AppliedSchedule, May.APPLY))
async def replaced(
    service: TheService,
    here: Here,
    request: AnyHttpRequest,
    name: FromPath[str],
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response[dict[str, Any]]:
    """Apply a schedule under its name: 201 for a new text, 200 where nothing changed; it is kept from then on.

    With ``If-Match`` only if that is the text it replaces, with ``If-None-Match: *`` only if there is no such schedule.
    """
    schedule = await document_of(request, name, Schedule)
    seen = replaced_by(if_match, if_none_match)
    return applied_document(await Schedules(service.engine).apply(here, schedule, replaces=seen))


@delete("/schedules/{name:str}", status_code=200, opt=needs(May.APPLY) | answers(ScheduleRemoved))
async def removed(
    service: TheService, here: Here, name: FromPath[str], if_match: IfMatch = None
) -> dict[str, Any]:
    """Have a schedule kept no more; what it started goes on. With ``If-Match`` only if that is its text."""
    schedules = Schedules(service.engine)
    if if_match is not None:
        must_be_seen(await schedules.get(here, name), if_match)
    return await schedules.remove(here, name)


@post(
    "/schedules/preview",
    status_code=200,
    opt=needs(May.SEE) | answers(TimesAhead) | takes(Previewed, yaml=True),
)
async def preview(service: TheService, here: Here, request: AnyHttpRequest) -> dict[str, Any]:
    """Return when a schedule is due, given by its text or its name: in words, and the next times, with notes where clocks change."""
    data = await with_text_of(request, Previewed, "JSON of the form {text} or {name}")
    if data.text:
        schedule = read_document(data.text, "the schedule").checked_as(Schedule)
        return previewed(schedule, service.clock.now(), data.since, data.number)
    return await Schedules(service.engine).preview(here, data.name, data.since, data.number)


@post(
    "/schedules/{name:str}/pause",
    status_code=200,
    opt=needs(May.STEER) | answers(ScheduleSteered),
)
async def pause(
    service: TheService, here: Here, name: FromPath[str], data: JSONBody[PauseReason | None] = None
) -> dict[str, Any]:
    """Have nothing started any more."""
    return await Schedules(service.engine).pause(here, name, data.reason if data else "")


@post(
    "/schedules/{name:str}/resume",
    status_code=200,
    opt=needs(May.STEER) | answers(ScheduleSteered),
)
async def resume(
    service: TheService, here: Here, name: FromPath[str], data: JSONBody[PauseReason | None] = None
) -> dict[str, Any]:
    """Let it go on; the times of the pause are not made up for."""
    del data  # a reason may be given, as for a pause; nothing keeps it
    return await Schedules(service.engine).resume(here, name)


@post("/schedules/{name:str}/run", status_code=201, opt=needs(May.START) | answers(ScheduleRun))
async def run(
    service: TheService, here: Here, who: Who, name: FromPath[str], key: Key = None
) -> Response[dict[str, Any]]:
    """Start its playbook now; the same Idempotency-Key again starts nothing."""
    command = command_id(who, key, f"schedule {name}") if key else ""
    started = await Schedules(service.engine).run(here, name, command=command)
    return Response(
        started, headers={"Location": f"{service.base}/executions/{started['execution']}"}
    )


@post(
    "/schedules/{name:str}/backfill",
    status_code=200,
    opt=needs(May.STEER) | answers(BackfillCount),
)
async def backfill(
    service: TheService,
    here: Here,
    who: Who,
    request: AnyHttpRequest,
    name: FromPath[str],
    data: JSONBody[Range],
    key: Key = None,
    *,
    dry_run: FromQuery[bool] = False,
) -> dict[str, Any]:
    """Start its playbook for every time of a range in the past; with ``dry_run`` only count them."""
    schedules = Schedules(service.engine)

    async def fill(command: str = "") -> dict[str, Any]:
        return await schedules.backfill(
            here, name, data.since, data.until, dry_run=dry_run, command=command
        )

    if dry_run:
        return await fill()
    asked = await asked_under(service, request, who, key, f"backfill {name}")
    return await once(service, asked, partial(fill, asked.command and f"{asked.command}/fill"))


def router(base: str) -> Router:
    """Return the routes of schedules."""
    handlers = [listed, one, replaced, removed, preview, pause, resume, run, backfill]
    return Router(path=base, route_handlers=handlers, tags=["schedules"])
