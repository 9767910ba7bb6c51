"""Resources: how much there is of what executions share, who holds it, who waits (S15)."""

from __future__ import annotations

from typing import Any

from litestar import Response, Router, delete, get, put
from litestar.params import FromPath, FromQuery

from petra.accounts.shown import moment
from petra.desk.principal import May
from petra.desk.resources import Lines, Resources
from petra.playbook.shared import SharedResource
from petra.server.answers.limits import (
    AppliedResource,
    LimitList,
    PlacesInLine,
    ResourceLines,
    ResourceRemoved,
    WholeLine,
)
from petra.server.conditions import IfMatch, IfNoneMatch, replaced_by
from petra.server.documents import (
    applied_document,
    document_of,
    must_be_seen,
    shown_document,
    takes_document,
)
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.paging import MOST, Cursor, page_data
from petra.server.parameters import Limit
from petra.server.problems import ProblemError
from petra.server.service import AnyHttpRequest, Here, TheService
from petra.store.rows import LineName

PLACES_MAX = 100
_CHANGES = frozenset({May.APPLY, May.ADMINISTER})


@get("/limits", opt=needs(May.SEE) | answers(LimitList))
async def listed(
    service: TheService, here: Here, limit: Limit = MOST, cursor: Cursor = None
) -> dict[str, Any]:
    """List what executions share: the resources that are configured, and the lines of all limits."""
    limits = await Resources(service.engine).listed(here)
    page = page_data(limits["resources"], ("name",), cursor, limit)
    return {**page, "lines": limits["lines"]}


@get("/limits/line", opt=needs(May.SEE) | answers(WholeLine))
async def line(
    service: TheService, here: Here, limit: FromQuery[str], key: FromQuery[str] = ""
) -> dict[str, Any]:
    """Return a line of a limit under a key: who is in, and who waits, in order."""
    name = LineName(namespace=here.namespace, limit=limit, key=key)
    return _dated(await Lines(service.engine.store).line(name))


@get("/limits/places", opt=needs(May.SEE) | answers(PlacesInLine))
async def places(
    service: TheService, here: Here, of: FromQuery[list[str] | None] = None
) -> dict[str, Any]:
    """Return how many stand in front of some executions, 100 at most; those that wait for no limit are left out."""
    asked = of or []
    if len(asked) > PLACES_MAX:
        raise ProblemError("invalid-input", f"so many can be asked for at once: {PLACES_MAX}")
    return {"items": await Lines(service.engine.store).places(here.namespace, asked)}


@get("/limits/resources/{name:str}", opt=needs(May.SEE) | answers(ResourceLines))
async def one(service: TheService, here: Here, name: FromPath[str]) -> Response[dict[str, Any]]:
    """Return a resource: how much there is, who holds some of it and who waits, in order."""
    resource = await Resources(service.engine).get(here, name)
    return shown_document({**resource, "lines": [_dated(line) for line in resource["lines"]]})


@put(
    "/limits/resources/{name:str}", status_code=200, opt=takes_document(AppliedResource, *_CHANGES)
)
async def replaced(
    service: TheService,
    here: Here,
    request: AnyHttpRequest,
    name: FromPath[str],
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response[dict[str, Any]]:
    """Say how much there is of something: 201 for a new text, 200 where nothing changed. It counts at once.

    With ``If-Match`` only if that is the text it replaces, with ``If-None-Match: *`` only if there is no such resource.
    """
    resource = await document_of(request, name, SharedResource)
    seen = replaced_by(if_match, if_none_match)
    return applied_document(await Resources(service.engine).apply(here, resource, replaces=seen))


@delete(
    "/limits/resources/{name:str}", status_code=200, opt=needs(*_CHANGES) | answers(ResourceRemoved)
)
async def removed(
    service: TheService, here: Here, name: FromPath[str], if_match: IfMatch = None
) -> dict[str, Any]:
    """Let a resource be known no more; who holds some of it goes on, and nobody else gets any.

    With ``If-Match`` only if that is its text.
    """
    shared = Resources(service.engine)
    if if_match is not None:
        must_be_seen(await shared.get(here, name), if_match)
    return await shared.remove(here, name)


def _dated(line: dict[str, Any]) -> dict[str, Any]:
    """Write the times of a line as the API does."""
    shown = {
        part: [{**permit, "asked": moment(permit["asked"])} for permit in line[part]]
        for part in ("holders", "queue")
    }
    return {**line, **shown}


def router(base: str) -> Router:
    """Return the routes of limits."""
    return Router(
        path=base, route_handlers=[listed, line, places, one, replaced, removed], tags=["limits"]
    )
