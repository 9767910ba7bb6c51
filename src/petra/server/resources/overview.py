"""Overview: how many executions there are of what kind, what is found for a word, and the views that people keep."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Literal

import msgspec
from litestar import Response, Router, delete, get, put
from litestar.params import FromPath, FromQuery, JSONBody

from petra.accounts.seen import must_be
from petra.accounts.shown import moment
from petra.desk.letting_in import ITEMS
from petra.desk.principal import May
from petra.server.answers.overview import Counts, Hit, SavedView
from petra.server.conditions import IfMatch, IfNoneMatch, entity_tag, replaced_by
from petra.server.needs import KNOWN, needs
from petra.server.openapi import answers
from petra.server.paging import MOST, Cursor, paged
from petra.server.parameters import LOOKED_AT_MAX, Limit
from petra.server.problems import ProblemError
from petra.server.resources.executions import execution_items
from petra.server.resources.filters import Which
from petra.server.service import Here, TheService
from petra.server.shapes import Page, playbook_item, work_item
from petra.store.accounts import Account
from petra.store.rows import ExecutionFilter, WorkItemFilter
from petra.store.trail import noted

HITS_MAX = 20
LOOKED_MAX = 500
"""So many playbooks and work items are looked through for a word."""
VIEW = "view"
VIEW_BYTES = 10_000
NAME_MAX = 100


def _all(here: Here) -> str:
    """Return whose view it is that everybody in a namespace has; no user is called like that."""
    return f"*{here.namespace}"


@get("/executions/counts", opt=needs(May.SEE) | answers(Counts))
async def counts(
    service: TheService,
    here: Here,
    which: Which,
    by: FromQuery[Literal["status", "playbook", "hour"]] = "status",
    cursor: FromQuery[str | None] = None,
) -> dict[str, Any]:
    """Count executions by status, by playbook, or by the hour they started in, with the filter of the list.

    Where there is a ``next``, these are the counts of the latest that were looked at, and at least so many there are; with it
    as ``cursor`` the others are counted.
    """
    here.must(May.SEE)
    within = msgspec.structs.replace(which, namespace=here.namespace)
    counted = await service.engine.store.count_executions(
        within, by, cursor=cursor, look_at=LOOKED_AT_MAX
    )
    more = {"next": counted.cursor} if counted.cursor is not None else {}
    answer = {"by": by, "total": sum(row.count for row in counted.rows), **more}
    if by != "hour":
        return answer | {"counts": {row.key: row.count for row in counted.rows}}
    hours: dict[str, dict[str, int]] = {}
    for row in counted.rows:
        hours.setdefault(moment(float(row.key)) or "", {})[row.status] = row.count
    summed = {hour: sum(statuses.values()) for hour, statuses in hours.items()}
    return answer | {"counts": summed, "statuses": hours}


@get("/search", opt=needs(May.SEE, May.DECIDE) | answers(Page[Hit]))
async def search(service: TheService, here: Here, q: FromQuery[str]) -> dict[str, Any]:
    """Find executions, playbooks and work items by a word: at most 20, those whose id or name begins with it first."""
    word = q.strip().casefold()
    if not word:
        return {"items": [], "next": None}
    hits: list[dict[str, Any]] = []
    if May.SEE in here.may:
        hits += await _executions(service, here, q.strip(), word)
        playbooks = await service.engine.store.playbooks(limit=LOOKED_MAX, namespace=here.namespace)
        hits += [
            {"kind": "playbook", "id": row.path, "title": row.name, "row": playbook_item(row)}
            for row in playbooks
            if word in f"{row.path}\n{row.name}".casefold()
        ]
    if ITEMS & here.may:
        page = await service.desk.work_items(here, WorkItemFilter(), limit=LOOKED_MAX)
        hits += [
            {"kind": "work-item", "id": f"{row.execution}/{row.id}", "title": row.title, "row": work_item(row)}
            for row in page.rows
            if word in f"{row.title}\n{row.step}\n{row.id}".casefold()
        ]  # fmt: skip
    hits.sort(key=lambda hit: _rank(word, hit["id"], hit["title"]))
    return {"items": msgspec.to_builtins(hits[:HITS_MAX]), "next": None}


def _rank(word: str, identity: str, title: str) -> int:
    names = identity.casefold(), title.casefold()
    if word in names:
        return names.index(word)
    return 2 if any(name.startswith(word) for name in names) else 3


async def _executions(
    service: TheService, here: Here, name: str, word: str
) -> list[dict[str, Any]]:
    exact = await service.engine.store.execution(name)
    if exact is not None and exact.row.namespace != here.namespace:
        exact = None
    page = await service.desk.executions(
        here, ExecutionFilter(text=word), limit=HITS_MAX, look_at=LOOKED_AT_MAX
    )
    stored = {
        entry.row.id: entry for entry in [*([exact] if exact is not None else []), *page.rows]
    }
    return [
        {"kind": "execution", "id": item.id, "title": item.playbook, "row": item}
        for item in await execution_items(service, list(stored.values()))
    ]


# Views that people keep


class View(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A view: the query of a page, and whether everybody has it."""

    query: str
    page: str = "executions"
    shared: bool = False


def _key(owner: str, name: str) -> str:
    return f"{owner}\t{name}"


def _shown(account: Account, owner: str) -> dict[str, Any]:
    view = msgspec.json.decode(account.body, type=View)
    return {
        "name": account.name.partition("\t")[2], "query": view.query, "page": view.page, "shared": view.shared,
        "mine": account.name.startswith(f"{owner}\t"), "version": account.version,
    }  # fmt: skip


async def _mine(service: TheService, here: Here, name: str) -> Account | None:
    accounts = service.engine.store.accounts
    return await accounts.account(VIEW, _key(here.name, name)) or await accounts.account(
        VIEW, _key(_all(here), name)
    )


def _must_be(known: Account | None, seen: str | None) -> None:
    must_be("the view", str(known.version) if known is not None else "", seen)


@get("/views", opt=KNOWN | answers(Page[SavedView]))
async def views(
    service: TheService, here: Here, limit: Limit = MOST, cursor: Cursor = None
) -> dict[str, Any]:
    """List the views that you keep, then those that everybody has, by name."""
    kept = [row for owner in (here.name, _all(here)) async for row in _kept_by(service, owner)]
    shown = [_shown(row, here.name) for row in kept]
    page, behind = paged(shown, lambda item: (int(not item["mine"]), item["name"]), cursor, limit)
    return {"items": page, "next": behind}


async def _kept_by(service: TheService, owner: str) -> AsyncIterator[Account]:
    """Yield the views of somebody, however many there are."""
    after = begin = f"{owner}\t"
    while page := await service.engine.store.accounts.accounts(VIEW, after=after):
        for row in page:
            if not row.name.startswith(begin):
                return
            yield row
        after = page[-1].name


@get("/views/{name:str}", opt=KNOWN | answers(SavedView))
async def view(service: TheService, here: Here, name: FromPath[str]) -> Response[dict[str, Any]]:
    """Return a view."""
    account = await _mine(service, here, name)
    if account is None:
        raise ProblemError("not-found", f"there is no view '{name[:NAME_MAX]}'")
    return Response(_shown(account, here.name), headers=entity_tag(account.version))


@put("/views/{name:str}", status_code=200, opt=KNOWN | answers(SavedView, 201))
async def keep_view(
    service: TheService,
    here: Here,
    name: FromPath[str],
    data: JSONBody[View],
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response[dict[str, Any]]:
    """Keep a view under a name; one for everybody needs an operator.

    With ``If-Match`` only if that is what it replaces, with ``If-None-Match: *`` only if there is none.
    """
    if not 1 <= len(name) <= NAME_MAX or not name.isprintable():
        raise ProblemError("invalid-input", f"a name has 1 to {NAME_MAX} characters that print")
    body = msgspec.json.encode(data)
    if len(body) > VIEW_BYTES:
        raise ProblemError("invalid-input", f"a view has at most {VIEW_BYTES:,} bytes")
    if data.shared:
        here.must(May.STEER)
    accounts = service.engine.store.accounts
    key = _key(_all(here) if data.shared else here.name, name)
    known = await accounts.account(VIEW, key)
    _must_be(known, replaced_by(if_match, if_none_match))
    version = known.version + 1 if known is not None else 1
    account = Account(kind=VIEW, name=key, version=version, body=body)
    if not await noted(partial(accounts.keep, account)):
        raise ProblemError("stale", "somebody changed it at the same time")
    status = 200 if known is not None else 201
    return Response(_shown(account, here.name), status_code=status, headers=entity_tag(version))


@delete("/views/{name:str}", status_code=204, opt=KNOWN)
async def drop_view(
    service: TheService, here: Here, name: FromPath[str], if_match: IfMatch = None
) -> None:
    """Keep a view no longer; one of everybody needs an operator. With ``If-Match`` only if it is as you saw it."""
    account = await _mine(service, here, name)
    if account is None:
        raise ProblemError("not-found", f"there is no view '{name[:NAME_MAX]}'")
    if account.name.startswith("*"):
        here.must(May.STEER)
    _must_be(account, replaced_by(if_match))
    accounts = service.engine.store.accounts
    await noted(partial(accounts.forget, VIEW, account.name))


def router(base: str) -> Router:
    """Return the routes of overviews."""
    handlers = [counts, search, views, view, keep_view, drop_view]
    return Router(path=base, route_handlers=handlers, tags=["overview"])
