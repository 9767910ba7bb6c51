"""Stored credentials: set, listed by name, forgotten, sealed anew. A value comes in here, and is never answered."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Response, Router, delete, get, post, put
from litestar.params import FromPath, JSONBody

from petra.accounts.safe import Safe, StoredSecret
from petra.desk.principal import May
from petra.keychain import KeychainError
from petra.server.conditions import IfMatch, IfNoneMatch, entity_tag, replaced_by
from petra.server.needs import Where, needs
from petra.server.openapi import ALSO
from petra.server.paging import MOST, Cursor, paged
from petra.server.parameters import Limit
from petra.server.problems import ProblemError
from petra.server.service import Here, Service, TheService
from petra.server.shapes import Page, Shape, shape_of

_ADMIN = needs(May.ADMINISTER)
_CHIEF = needs(May.ADMINISTER, where=Where.EVERYWHERE)


class Rotated(Shape, frozen=True):
    """What became of it: which key seals now, and how many versions are sealed with it."""

    key: str
    versions: int


class NewSecret(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value, and the pools whose workers may have it; without any, all may."""

    value: Any
    pools: list[str] = []


class NamedSecret(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same, with the name it is to have."""

    name: str
    value: Any
    pools: list[str] = []


class SecretItem(Shape, frozen=True):
    """A credential as it is shown: never its value."""

    name: str
    namespace: str
    version: int
    pools: list[str]
    key: str


def _item(secret: StoredSecret) -> SecretItem:
    return shape_of(SecretItem, secret)


@get("/secrets", opt=_ADMIN)
async def listed(
    service: TheService, here: Here, limit: Limit = MOST, cursor: Cursor = None
) -> Page[SecretItem]:
    """List the credentials of a namespace, by name."""
    known = await _safe(service).list(here.namespace)
    page, behind = paged(known, lambda secret: (secret.name,), cursor, limit)
    return Page(items=[_item(secret) for secret in page], next=behind)


@get("/secrets/{name:str}", opt=_ADMIN)
async def one(service: TheService, here: Here, name: FromPath[str]) -> Response[SecretItem]:
    """Show a credential, without its value; a change may name the tag of this answer in ``If-Match``."""
    try:
        return _answer(await _safe(service).shown(here.namespace, name))
    except KeychainError as error:
        raise ProblemError("not-found", str(error)) from None


def _answer(secret: StoredSecret, status: int = 200) -> Response[SecretItem]:
    return Response(_item(secret), status_code=status, headers=entity_tag(secret.version))


@post("/secrets", status_code=201, opt=_ADMIN)
async def add(service: TheService, here: Here, data: JSONBody[NamedSecret]) -> Response[SecretItem]:
    """Store a credential, or a further version of it."""
    stored = await _safe(service).set(here.namespace, data.name, data.value, data.pools)
    return _answer(stored, 201)


@put("/secrets/{name:str}", status_code=200, opt=_ADMIN | {ALSO: (201,)})
async def store(
    service: TheService,
    here: Here,
    name: FromPath[str],
    data: JSONBody[NewSecret],
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response[SecretItem]:
    """Store a credential, or a further version of it: 201 where it is the first.

    With ``If-Match`` only if that is the version it follows, with ``If-None-Match: *`` only if there is none.
    """
    seen = replaced_by(if_match, if_none_match)
    stored = await _safe(service).set(here.namespace, name, data.value, data.pools, seen)
    return _answer(stored, 201 if stored.version == 1 else 200)


@delete("/secrets/{name:str}", status_code=204, opt=_ADMIN)
async def forget(
    service: TheService, here: Here, name: FromPath[str], if_match: IfMatch = None
) -> None:
    """Forget a credential, all versions of it; with ``If-Match`` only if that is its last one."""
    try:
        await _safe(service).remove(here.namespace, name, replaced_by(if_match))
    except KeychainError as error:
        raise ProblemError("not-found", str(error)) from None


@post("/secrets/rotate", status_code=200, opt=_CHIEF)
async def rotate(service: TheService) -> Rotated:
    """Seal all credentials with a fresh key, of all namespaces; no value changes."""
    key, count = await _safe(service).rotate()
    return Rotated(key=key, versions=count)


def _safe(service: Service) -> Safe:
    if service.safe is None:
        raise ProblemError("not-found", "this server keeps no credentials")
    return service.safe


def router(base: str) -> Router:
    """Return the routes of credentials."""
    return Router(
        path=base, route_handlers=[listed, one, add, store, forget, rotate], tags=["credentials"]
    )
