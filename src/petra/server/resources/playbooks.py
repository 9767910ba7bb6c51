"""Playbooks: apply them, list them, read them, see them drawn."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from litestar import Response, Router, delete, get, post, put
from litestar.params import FromPath, FromQuery

from petra.desk.principal import May
from petra.playbook import Playbook
from petra.server.answers.authoring import AppliedPlaybook, PlaybookWithText
from petra.server.conditions import IfMatch, IfNoneMatch, entity_tag, replaced_by
from petra.server.documents import (
    PlaybookSource,
    applied_document,
    refuse_misnamed,
    takes_document,
    text_of,
)
from petra.server.needs import needs
from petra.server.openapi import answers, takes
from petra.server.parameters import Limit, made_at, page_size
from petra.server.problems import ProblemError
from petra.server.resources.definitions import heat_of, standing_of, versions_of, with_text
from petra.server.service import AnyHttpRequest, Here, TheService
from petra.server.shapes import Page, PlaybookItem, playbook_item
from petra.store.named import version_of
from petra.store.trail import noted


@get("/playbooks", opt=needs(May.SEE))
async def listed(
    service: TheService, here: Here, limit: Limit = 100, cursor: FromQuery[str] = ""
) -> Page[PlaybookItem]:
    """List the playbooks that were applied, by path."""
    rows = await service.engine.store.playbooks(
        after=cursor, limit=page_size(limit), namespace=here.namespace
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
    cursor: FromQuery[str | None] = None,
) -> Response[Any]:
    """Return a playbook with the text of its author; ``…/versions``, ``…/heat``, ``…/standing`` of a path with slashes, too."""
    name = path.lstrip("/")
    page_size(limit), page_size(last, "last")  # wrong is wrong, also where nobody asks for a page
    row = await version_of(service.engine.store, name, version, here.namespace)
    if row is None and name.endswith("/versions"):
        path = name.removesuffix("/versions")
        return Response(await versions_of(service, here, path, limit, cursor))
    if row is None and name.endswith("/heat"):
        return Response(await heat_of(service, here, name.removesuffix("/heat"), last))
    if row is None and name.endswith("/standing"):
        return Response(await standing_of(service, here, name.removesuffix("/standing")))
    if row is None:
        raise ProblemError("not-found", f"no playbook '{name}' was applied")
    shown = {**await with_text(service, row), "text": row.written.decode()}
    return Response(shown, headers=entity_tag(row.digest))


@put("/playbooks/{path:path}", status_code=200, opt=takes_document(AppliedPlaybook, May.APPLY))
async def replaced(
    service: TheService,
    here: Here,
    request: AnyHttpRequest,
    path: FromPath[str],
    *,
    allow_unsound: FromQuery[bool] = False,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response[dict[str, Any]]:
    """Apply a playbook under its path: 201 for a new version, 200 where nothing changed but comments and order.

    One whose net is sure to get stuck or to pile up is refused, unless ``allow_unsound``; with ``If-Match`` it is applied
    only if that is the version it replaces, with ``If-None-Match: *`` only if there is none under that path.
    """
    name = path.lstrip("/")
    text = await text_of(request)
    playbook = await service.texts.read(text, name)
    refuse_misnamed(playbook.metadata.path or playbook.metadata.name, name)
    seen = replaced_by(if_match, if_none_match)
    return await _applied(service, here, playbook, text, seen, allow_unsound=allow_unsound)


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
    if replaced_by(if_match) not in (None, "*", known[0].digest):
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
    done = await _applied(service, here, playbook, text, None, allow_unsound=allow_unsound)
    path = playbook.metadata.path or playbook.metadata.name
    done.headers.update(made_at(f"{service.base}/playbooks/{quote(path)}", here.namespace))
    return done


async def _applied(
    service: TheService,
    here: Here,
    playbook: Playbook,
    text: str,
    seen: str | None,
    *,
    allow_unsound: bool,
) -> Response[dict[str, Any]]:
    (applied_version,) = await service.desk.apply(
        here, [playbook], texts=[text], allow_unsound=allow_unsound, replaces=seen
    )
    return applied_document(applied_version)


def router(base: str) -> Router:
    """Return the routes of playbooks."""
    handlers = [listed, one, replaced, archived, applied]
    return Router(path=base, route_handlers=handlers, tags=["playbooks"])
