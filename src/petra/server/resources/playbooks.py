"""Playbooks: apply them, list them, read them, see them drawn."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from litestar import Request, Response, Router, delete, get, post, put
from litestar.params import FromPath, FromQuery, HeaderParameter

from petra.desk.principal import May
from petra.playbook import Playbook
from petra.server.answers.authoring import AppliedPlaybook, PlaybookWithText
from petra.server.describing import answers, takes
from petra.server.needs import needs
from petra.server.parameters import Limit, bounded
from petra.server.problems import ProblemError
from petra.server.resources.authoring import PlaybookSource, text_of
from petra.server.resources.definitions import heat_of, versions_of, with_text
from petra.server.service import Here, TheService
from petra.server.shapes import Page, PlaybookItem, playbook_item
from petra.store.trail import noted

IfMatch = Annotated[str | None, HeaderParameter(name="If-Match", required=False)]
AnyHttpRequest = Request[Any, Any, Any]


@get("/playbooks", opt=needs(May.SEE))
async def listed(
    service: TheService, here: Here, limit: Limit = 100, cursor: FromQuery[str] = ""
) -> Page[PlaybookItem]:
    """List the playbooks that were applied, by path."""
    rows = await service.engine.store.playbooks(
        after=cursor, limit=bounded(limit), namespace=here.namespace
    )
    more = rows[-1].path if len(rows) == limit else None
    return Page(items=[playbook_item(row) for row in rows], next=more)


@get("/playbooks/{path:path}", opt=needs(May.SEE) | answers(PlaybookWithText))
async def one(
    service: TheService,
    here: Here,
    path: FromPath[str],
    version: FromQuery[str | None] = None,
    last: Limit = 100,
    limit: Limit = 100,
) -> Response[Any]:
    """Return a playbook with the text of its author; ``…/versions`` and ``…/heat`` of a path with slashes, too."""
    name = path.lstrip("/")
    row = await service.engine.store.find_playbook(name, version, here.namespace)
    if row is None and name.endswith("/versions"):
        return Response(await versions_of(service, here, name.removesuffix("/versions"), limit))
    if row is None and name.endswith("/heat"):
        return Response(await heat_of(service, here, name.removesuffix("/heat"), last))
    if row is None:
        raise ProblemError("not-found", f"no playbook '{name}' was applied")
    shown = {**await with_text(service, row), "text": row.written.decode()}
    return Response(shown, headers={"ETag": f'"{row.digest}"'})


@put(
    "/playbooks/{path:path}",
    status_code=200,
    opt=needs(May.APPLY) | answers(AppliedPlaybook, 201) | takes(PlaybookSource, yaml=True),
)
async def replaced(
    service: TheService,
    here: Here,
    request: AnyHttpRequest,
    path: FromPath[str],
    *,
    allow_unsound: FromQuery[bool] = False,
    if_match: IfMatch = None,
) -> Response[dict[str, Any]]:
    """Apply a playbook under its path: 201 for a new version, 200 where nothing changed but comments and order.

    One whose net is sure to get stuck or to pile up is refused, unless ``allow_unsound``; with ``If-Match`` it is applied
    only if that is the version it replaces.
    """
    name = path.lstrip("/")
    text = await text_of(request)
    playbook = await service.texts.read(text, name)
    own = playbook.metadata.path or playbook.metadata.name
    if own != name:
        raise ProblemError("invalid-input", f"the text says it is '{own}', the address '{name}'")
    return await _applied(service, here, playbook, text, if_match, allow_unsound=allow_unsound)


@delete("/playbooks/{path:path}", status_code=204, opt=needs(May.APPLY))
async def archived(
    service: TheService, here: Here, path: FromPath[str], if_match: IfMatch = None
) -> None:
    """Archive a playbook: nobody finds it by its path any more; executions of it go on, and it may be applied again."""
    name = path.lstrip("/")
    store = service.engine.store
    known = await store.playbook_versions(name, limit=1, namespace=here.namespace)
    if not known:
        raise ProblemError("not-found", f"no playbook '{name[:200]}' was applied")
    seen = (if_match or "*").strip().strip('"')
    if seen not in ("*", known[0].digest):
        raise ProblemError("stale", f"'{name}' is at {known[0].digest[:12]} now")
    await noted(partial(store.archive, name, here.namespace))


@post(
    "/playbooks",
    status_code=201,
    opt=needs(May.APPLY) | answers(AppliedPlaybook, 200) | takes(PlaybookSource, yaml=True),
)
async def applied(
    service: TheService,
    here: Here,
    request: AnyHttpRequest,
    *,
    allow_unsound: FromQuery[bool] = False,
) -> Response[dict[str, Any]]:
    """Apply a playbook under the path that its text names; ``allow_unsound`` as for the other."""
    text = await text_of(request)
    playbook = await service.texts.read(text, "the playbook")
    return await _applied(service, here, playbook, text, None, allow_unsound=allow_unsound)


async def _applied(
    service: TheService,
    here: Here,
    playbook: Playbook,
    text: str,
    if_match: str | None,
    *,
    allow_unsound: bool,
) -> Response[dict[str, Any]]:
    seen = if_match.strip().strip('"') if if_match is not None else None
    (made,) = await service.desk.apply(
        here, [playbook], texts=[text], allow_unsound=allow_unsound, replaces=seen
    )
    status = 200 if made["unchanged"] else 201
    return Response(made, status_code=status, headers={"ETag": f'"{made["digest"]}"'})


def router(base: str) -> Router:
    """Return the routes of playbooks."""
    handlers = [listed, one, replaced, archived, applied]
    return Router(path=base, route_handlers=handlers, tags=["playbooks"])
