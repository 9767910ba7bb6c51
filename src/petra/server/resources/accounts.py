"""Tokens, sessions, namespaces, roles; and the audit. Who may do what with them is the register's to say."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Response, Router, delete, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from petra.accounts import Session
from petra.accounts.audit import NEWEST
from petra.accounts.secrets import digest
from petra.accounts.shown import moment, token_data
from petra.desk.principal import EVERYWHERE, POWERS, May
from petra.server.answers.overview import AuditEntry, AuditVerified, NamespaceItem
from petra.server.needs import KNOWN, Where, needs
from petra.server.openapi import answers
from petra.server.paging import MOST, Cursor, paged
from petra.server.parameters import Limit, MaybeNumber, page_size
from petra.server.problems import ProblemError
from petra.server.service import AnyHttpRequest, TheService, Who
from petra.server.shapes import Page, Shape

_CHIEF = needs(May.ADMINISTER, where=Where.EVERYWHERE)


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is given."""


class NewToken(Body, frozen=True, kw_only=True):
    """A token that acts as a user, or has a role of its own."""

    user: str = ""
    role: str = ""
    pool: str = ""
    name: str = ""
    expires_s: float | None = None


class NewNamespace(Body, frozen=True, kw_only=True):
    """A namespace."""

    name: str


class TokenItem(Shape, frozen=True):
    """A token as it is shown: never its secret."""

    id: str
    name: str
    user: str
    roles: list[str]
    pool: str
    created: str | None
    by: str
    expires: str | None
    used: str | None
    revoked: str | None


class MadeToken(TokenItem, frozen=True):
    """A token that was just made: its secret is shown this once."""

    token: str


class RoleItem(Shape, frozen=True):
    """A role, and what it lets somebody do."""

    role: str
    may: list[str]


class SessionItem(Shape, frozen=True):
    """A session as it is shown."""

    id: str
    created: str | None
    until: str | None
    address: str
    current: bool


def _session(session: Session, current: str) -> SessionItem:
    return SessionItem(
        id=session.id, created=moment(session.created), until=moment(session.until), address=session.address,
        current=bool(current) and digest(current).startswith(session.id),
    )  # fmt: skip


@get("/tokens", opt=KNOWN)
async def tokens(
    service: TheService, who: Who, limit: Limit = MOST, cursor: Cursor = None
) -> Page[TokenItem]:
    """List the tokens that you may revoke, the latest first."""
    issued = await service.register.tokens(who)
    page, behind = paged(issued, lambda row: (-row.created, row.id), cursor, limit)
    return Page(items=[TokenItem(**token_data(row)) for row in page], next=behind)


@post("/tokens", status_code=201, opt=KNOWN)
async def issue(
    service: TheService, who: Who, request: AnyHttpRequest, data: JSONBody[NewToken]
) -> MadeToken:
    """Make a token; its secret is in this answer and nowhere else."""
    issued, secret = await service.register.issue(
        who, user=data.user, roles=[data.role] if data.role else [], pool=data.pool, name=data.name,
        expires_s=data.expires_s, in_session=bool(request.state.session),
    )  # fmt: skip
    return MadeToken(**token_data(issued), token=secret)


@delete("/tokens/{token:str}", status_code=204, opt=KNOWN)
async def revoke(service: TheService, who: Who, token: FromPath[str]) -> None:
    """Revoke a token, by its id."""
    await service.register.revoke(who, token)


@get("/sessions", opt=KNOWN)
async def sessions(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    limit: Limit = MOST,
    cursor: Cursor = None,
) -> Page[SessionItem]:
    """List your sessions, the latest first."""
    begun = await service.register.sessions(who)
    page, behind = paged(begun, lambda session: (-session.created, session.id), cursor, limit)
    return Page(items=[_session(session, request.state.session) for session in page], next=behind)


@delete("/sessions/{session:str}", status_code=204, opt=KNOWN)
async def end_session(service: TheService, who: Who, session: FromPath[str]) -> None:
    """End one of your sessions, by its id."""
    await service.register.end_sessions(who, session)


@get("/roles", opt=KNOWN)
async def roles(who: Who, limit: Limit = MOST, cursor: Cursor = None) -> Page[RoleItem]:
    """List the roles and what each lets somebody do; every other role is a group that playbooks name, and may decide."""
    del who
    known = [
        RoleItem(role=role, may=sorted(power.name.lower() for power in may))
        for role, may in POWERS.items()
    ]
    page, behind = paged(known, lambda item: (item.role,), cursor, limit)
    return Page(items=page, next=behind)


@get("/namespaces", opt=KNOWN)
async def namespaces(
    service: TheService, who: Who, limit: Limit = MOST, cursor: Cursor = None
) -> Page[str]:
    """List the namespaces in which you have a role."""
    known = await service.register.namespaces(who)
    page, behind = paged(known, lambda namespace: (namespace,), cursor, limit)
    return Page(items=page, next=behind)


@post("/namespaces", status_code=201, opt=_CHIEF | answers(NamespaceItem))
async def add_namespace(
    service: TheService, who: Who, data: JSONBody[NewNamespace]
) -> dict[str, str]:
    """Make a namespace."""
    return {"name": (await service.register.add_namespace(who, data.name)).name}


@get("/audit", opt=needs(May.ADMINISTER) | answers(Page[AuditEntry]))
async def audit(
    service: TheService,
    who: Who,
    namespace: FromQuery[str | None] = None,
    actor: FromQuery[str | None] = None,
    after: MaybeNumber = None,
    limit: Limit = 100,
    cursor: MaybeNumber = None,
) -> Page[dict[str, Any]]:
    """Return the audit, newest first: of a namespace, or whole for whoever administers all of them.

    With ``after`` come those behind an entry, oldest first: whoever keeps a copy goes on from there.
    """
    if namespace is None and May.ADMINISTER not in who.within(EVERYWHERE).may:
        namespace = who.namespace
    if after is not None and cursor is not None:
        raise ProblemError("bad-request", "give 'after' or 'cursor', not both")
    before = None if after is not None else NEWEST if cursor is None else _entry(cursor)
    entries = await service.audit.entries(
        after=_entry(after or 0),
        before=before,
        limit=page_size(limit),
        namespace=namespace,
        actor=actor,
    )
    items = [{**entry, "at": moment(entry["at"])} for entry in entries]
    return Page(items=items, next=str(entries[-1]["number"]) if len(entries) == limit else None)


def _entry(number: int) -> int:
    """Return a number that entries may have, nearest to one that somebody gave."""
    return max(0, min(number, NEWEST))


@post("/audit/verify", status_code=200, opt=_CHIEF | answers(AuditVerified))
async def verify(service: TheService) -> Response[dict[str, Any]]:
    """Say whether the chain of the audit holds."""
    count, wrong = await service.audit.verify()
    return Response({"entries": count, "ok": not wrong, "problems": wrong[:100]})


def router(base: str) -> Router:
    """Return the routes of accounts."""
    handlers = [
        tokens, issue, revoke, sessions, end_session, roles, namespaces,
        add_namespace, audit, verify,
    ]  # fmt: skip
    return Router(path=base, route_handlers=handlers, tags=["accounts"])
