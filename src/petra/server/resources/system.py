"""The server itself: is it alive, is it ready, who am I, what can it do; beginning and ending a session."""

from __future__ import annotations

import asyncio
import contextlib
from importlib.util import find_spec
from typing import Any, Final

import msgspec
from litestar import Response, Router, delete, get, post
from litestar.datastructures import Cookie
from litestar.params import FromQuery, JSONBody
from litestar.response import Redirect

from petra.accounts.register import SESSION_S
from petra.desk.principal import May, Principal, login_name
from petra.engine.plight import troubles
from petra.server.answers.overview import Alive, Me, Meta, ServerVersion, SessionBegun, StoreStats
from petra.server.gate import BODY_MAX, BODY_S, OBJECT_MAX
from petra.server.identity import COOKIE, csrf
from petra.server.needs import KNOWN, OPEN, PAGE, Where, needs
from petra.server.openapi import answers
from petra.server.parameters import LIMIT_MAX, WAIT_MAX_S, presented_by
from petra.server.problems import ProblemError
from petra.server.resources.operations import IDS_MAX
from petra.server.resources.pages import is_built, ui_page
from petra.server.service import API, AnyHttpRequest, Here, Service, TheService, Who
from petra.server.shapes import shape_of
from petra.store.errors import StoreError
from petra.story import FRAMES_MAX

STORE_S: Final = 3.0
"""So long the store may take to say that it is there."""


class LogIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name and the password of a user, or the code that 'petra serve' printed."""

    code: str = ""
    name: str = ""
    password: str = ""


@get("/livez", tags=["server"], security=[], opt=OPEN | answers(Alive))
async def livez() -> dict[str, str]:
    """Say that this process is alive."""
    return {"status": "alive"}


@get("/readyz", tags=["server"], security=[], opt=OPEN | answers(Alive))
async def readyz(service: TheService) -> dict[str, str]:
    """Say whether requests will be carried out: not before it has recovered, while it drains, nor while its store is away."""
    service.engine.check()
    if service.closing.is_set():
        raise ProblemError("unavailable", "it is shutting down")
    if (left := service.engine.to_come_back) is not None:
        raise ProblemError("unavailable", f"it recovers: {left:,} runs are to be decided about")
    try:
        async with asyncio.timeout(STORE_S):
            await service.engine.store.now()
    except TimeoutError:
        raise ProblemError(
            "unavailable", f"the store has not answered for {STORE_S:.0f} s"
        ) from None
    except StoreError as error:
        raise ProblemError("unavailable", f"the store is away: {error}") from None
    return {"status": "ready"}


@get("/version", tags=["server"], security=[], opt=OPEN | answers(ServerVersion))
async def version(service: TheService) -> dict[str, str]:
    """Say which version this is."""
    return {"version": service.version}


@get("/login", tags=["server"], security=[], include_in_schema=False, opt=PAGE)
async def login(
    service: TheService, request: AnyHttpRequest, code: FromQuery[str | None] = None
) -> Response[Any] | Redirect:
    """Begin a session with the code that 'petra serve' printed, and go to the first page; without one, ask who it is."""
    if code is None:
        return await ui_page(service)
    request.state.tried = login_name()  # a code is the owner's
    try:
        secret = await service.identity.begin(code, presented_by(request), address_of(request))
    except ProblemError as problem:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        request.state.code = problem.code
        return Redirect(f"{service.prefix}/login?used=1", status_code=303)
    cookie = session_cookie(service, request, secret)
    return Redirect(f"{service.prefix}/", cookies=[cookie], status_code=303)


def address_of(request: AnyHttpRequest) -> str:
    """Return where a request comes from."""
    return request.client.host if request.client is not None else ""


def session_cookie(
    service: TheService, request: AnyHttpRequest, value: str, seconds: int = int(SESSION_S)
) -> Cookie:
    """Return the cookie of a session."""
    return hidden_cookie(request, COOKIE, value, path=service.prefix or "/", seconds=seconds)


def hidden_cookie(
    request: AnyHttpRequest, name: str, value: str, *, path: str, seconds: int
) -> Cookie:
    """Return a cookie that scripts cannot read."""
    return Cookie(
        key=name, value=value, path=path, httponly=True, samesite="lax", max_age=seconds,
        secure=request.scope["scheme"] == "https",
    )  # fmt: skip


@get("/me", tags=["server"], opt=KNOWN | answers(Me))
async def me(here: Here, request: AnyHttpRequest) -> dict[str, Any]:
    """Say who you are here and what you may; with a session, also what its acts must send along."""
    session = request.state.session
    return {
        "name": here.name,
        "kind": here.kind.value,
        "roles": list(here.roles),
        "may": sorted(power.name.lower() for power in here.may),
        "namespace": here.namespace,
        "grants": [str(grant) for grant in here.grants],
        "csrf": csrf(session) if session else None,
    }


@get("/meta", tags=["server"], security=[], opt=OPEN | answers(Meta))
async def meta(service: TheService, request: AnyHttpRequest) -> dict[str, Any]:
    """Say what this server is, what it has and what its limits are, and how to log in; to whoever may see it also what is wrong."""
    presented, who = presented_by(request), None
    with contextlib.suppress(*(() if presented.authorization else (ProblemError,))):
        who, _ = await service.identity.who(presented)
    return {
        "version": service.version,
        "base": service.base,
        "limits": {
            "body_bytes": BODY_MAX,
            "body_s": BODY_S,
            "object_bytes": OBJECT_MAX,
            "page": LIMIT_MAX,
            "wait_s": WAIT_MAX_S,
            "frames": FRAMES_MAX,
            "operation_ids": IDS_MAX,
        },
        "features": _features(service),
        "log_in": {
            "password": await service.register.has_users(),
            "oidc": f"{service.prefix}/login/oidc" if service.oidc is not None else None,
        },
        "pools": _pools(service, who) if who and May.SEE in who.may else [],
        "troubles": troubles(service.engine.custody) if who and May.SEE in who.may else [],
    }


def _pools(service: Service, who: Principal) -> list[str]:
    """Return the pools that have workers for whoever asks."""
    seen = service.engine.roster.seen()
    fitting = (
        worker for worker in seen if worker.namespaces is None or who.namespace in worker.namespaces
    )
    return sorted({worker.pool for worker in fitting})


def _features(service: Service) -> dict[str, bool]:
    return {
        "ui": is_built(),
        "secrets": service.safe is not None,
        "oidc": service.oidc is not None,
        "large_values": service.engine.objects is not None,
        "shared": service.engine.shards.epochs is not None,
        "traces": service.traces is not None,
        "agents": find_spec("mcp") is not None,
    }


@get("/stats", tags=["server"], opt=needs(May.SEE, where=Where.EVERYWHERE))
async def stats(service: TheService) -> StoreStats:
    """Count what is in the store, of all namespaces."""
    return shape_of(StoreStats, await service.engine.store.stats())


@post("/session", tags=["server"], security=[], status_code=201, opt=OPEN | answers(SessionBegun))
async def begin(
    service: TheService, request: AnyHttpRequest, data: JSONBody[LogIn]
) -> Response[dict[str, str]]:
    """Begin a session with a name and a password, or with a one-time code."""
    asked, address = presented_by(request), address_of(request)
    request.state.tried = data.name or login_name()
    if bool(data.code) == bool(data.name):
        raise ProblemError("bad-request", "give 'name' and 'password', or 'code'")
    if data.code:
        secret = await service.identity.begin(data.code, asked, address)
    else:
        secret = await service.identity.log_in(data.name, data.password, asked, address)
    cookie = session_cookie(service, request, secret)
    return Response({"csrf": csrf(secret)}, status_code=201, cookies=[cookie])


@delete("/session", tags=["server"], status_code=204, opt=KNOWN)
async def end(who: Who, service: TheService, request: AnyHttpRequest) -> Response[None]:
    """End the session: what its cookie carries lets nobody in any more."""
    del who  # anybody may leave
    if request.state.session:
        await service.register.end_session(request.state.session)
    return Response(None, status_code=204, cookies=[session_cookie(service, request, "", 0)])


def routes(prefix: str) -> list[Router]:
    """Return the routes of the server itself."""
    return [
        Router(path=prefix or "/", route_handlers=[livez, readyz, version, login]),
        Router(path=f"{prefix}{API}", route_handlers=[me, meta, stats, begin, end]),
    ]
