"""The server itself: is it alive, is it ready, who am I, what can it do; beginning and ending a session."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request, Response, Router, delete, get, post
from litestar.datastructures import Cookie
from litestar.params import FromQuery, JSONBody
from litestar.response import Redirect

from petra.desk.principal import May
from petra.engine.plight import troubles
from petra.server.gate import BODY_MAX
from petra.server.identity import COOKIE, SESSION_S
from petra.server.parameters import LIMIT_MAX, WAIT_MAX_S
from petra.server.problems import ProblemError
from petra.server.service import API, TheService, Who
from petra.store.errors import StoreError

AnyHttpRequest = Request[Any, Any, Any]


class Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The code that 'petra serve' printed."""

    code: str


@get("/livez", tags=["server"], security=[])
async def livez() -> dict[str, str]:
    """Say that this process is alive."""
    return {"status": "alive"}


@get("/readyz", tags=["server"], security=[])
async def readyz(service: TheService) -> dict[str, str]:
    """Say whether requests will be carried out: not while it drains, nor while its store is away."""
    service.engine.check()
    if service.closing.is_set():
        raise ProblemError("unavailable", "it is shutting down")
    try:
        await service.engine.store.now()
    except StoreError as error:
        raise ProblemError("unavailable", f"the store is away: {error}") from None
    return {"status": "ready"}


@get("/version", tags=["server"], security=[])
async def version(service: TheService) -> dict[str, str]:
    """Say which version this is."""
    return {"version": service.version}


@get("/login", tags=["server"], security=[], include_in_schema=False)
async def login(service: TheService, code: FromQuery[str]) -> Redirect:
    """Begin a session with the code that 'petra serve' printed, and go to the first page."""
    cookie = _cookie(service, service.identity.begin(code))
    return Redirect(f"{service.prefix}/", cookies=[cookie], status_code=303)


@get("/", tags=["server"], security=[], include_in_schema=False)
async def front(service: TheService) -> Redirect:
    """Lead whoever comes without knowing where to."""
    return Redirect(f"{service.prefix}/api/docs", status_code=303)


def _cookie(service: TheService, value: str, seconds: int = SESSION_S) -> Cookie:
    return Cookie(
        key=COOKIE, value=value, path=service.prefix or "/", httponly=True, samesite="lax", max_age=seconds
    )  # fmt: skip


@get("/me", tags=["server"])
async def me(who: Who, service: TheService, request: AnyHttpRequest) -> dict[str, Any]:
    """Say who you are here and what you may; with a session, also what its acts must send along."""
    session = request.state.session
    return {
        "name": who.name,
        "kind": who.kind.value,
        "roles": list(who.roles),
        "may": sorted(power.name.lower() for power in who.may),
        "namespace": who.namespace,
        "csrf": service.identity.csrf(session) if session else None,
    }


@get("/meta", tags=["server"])
async def meta(who: Who, service: TheService) -> dict[str, Any]:
    """Say what this server is and what its limits are."""
    who.must(May.SEE)
    return {
        "version": service.version,
        "base": service.base,
        "limits": {"body_bytes": BODY_MAX, "page": LIMIT_MAX, "wait_s": WAIT_MAX_S},
        "troubles": troubles(service.engine.dispatcher),
    }


@get("/stats", tags=["server"])
async def stats(who: Who, service: TheService) -> dict[str, Any]:
    """Count what is in the store."""
    who.must(May.SEE)
    return dict(msgspec.to_builtins(await service.engine.store.stats()))


@post("/session", tags=["server"], security=[], status_code=201)
async def begin(service: TheService, data: JSONBody[Code]) -> Response[dict[str, str]]:
    """Begin a session with a one-time code."""
    session = service.identity.begin(data.code)
    body = {"csrf": service.identity.csrf(session)}
    return Response(body, status_code=201, cookies=[_cookie(service, session)])


@delete("/session", tags=["server"], status_code=204)
async def end(who: Who, service: TheService) -> Response[None]:
    """End the session."""
    who.must(May.SEE)
    return Response(None, status_code=204, cookies=[_cookie(service, "", 0)])


def routes(prefix: str) -> list[Router]:
    """Return the routes of the server itself."""
    return [
        Router(path=prefix or "/", route_handlers=[front, livez, readyz, version, login]),
        Router(path=f"{prefix}{API}", route_handlers=[me, meta, stats, begin, end]),
    ]
