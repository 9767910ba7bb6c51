"""Logging in at a provider (OpenID Connect): there, and back with a session."""

from __future__ import annotations

from typing import Final

from litestar import Router, get
from litestar.datastructures import Cookie
from litestar.response import Redirect

from petra.accounts.oidc import STATE_S, Oidc
from petra.server.identity import cookie_in
from petra.server.needs import OPEN
from petra.server.parameters import presented_by
from petra.server.problems import ProblemError
from petra.server.resources.system import address_of, hidden_cookie, session_cookie
from petra.server.service import AnyHttpRequest, Service, TheService

COOKIE: Final = "petra_log_in"
PATH: Final = "/login/oidc"


@get(PATH, include_in_schema=False, opt=OPEN)
async def begin(service: TheService, request: AnyHttpRequest) -> Redirect:
    """Send a browser to the provider."""
    oidc = _oidc(service)
    service.identity.count_log_in(address_of(request))
    begun = await oidc.begin(_callback(service, request))
    cookie = _cookie(service, request, begun.cookie, int(STATE_S))
    return Redirect(begun.location, cookies=[cookie], status_code=303)


@get(f"{PATH}/callback", include_in_schema=False, opt=OPEN | {"any-parameter": True})
async def finish(service: TheService, request: AnyHttpRequest) -> Redirect:
    """Begin a session for whom the provider vouches, and go to the first page; providers may send more along than we read."""
    oidc, said = _oidc(service), request.query_params
    state, code, error = (str(said.get(name, "")) for name in ("state", "code", "error"))
    if said.get("iss", oidc.settings.issuer) != oidc.settings.issuer:
        raise ProblemError("no-credentials", "another provider answers; begin the log-in again")
    if error or not (state and code):
        words = f"the provider says '{error[:100]}'" if error else "'state' or 'code' is missing"
        raise ProblemError("no-credentials", f"{words}; begin the log-in again")
    carried = cookie_in(request.headers.get("cookie", ""), COOKIE)
    user = await oidc.finish(state, code, carried, _callback(service, request))
    request.state.tried = user.name
    secret = await service.identity.vouched_for(user, presented_by(request), address_of(request))
    cookies = [session_cookie(service, request, secret), _cookie(service, request, "", 0)]
    return Redirect(f"{service.prefix}/", cookies=cookies, status_code=303)


def _oidc(service: Service) -> Oidc:
    if service.oidc is None:
        raise ProblemError("not-found", "this server knows no provider to log in at")
    return service.oidc


def _callback(service: Service, request: AnyHttpRequest) -> str:
    """Return where the provider sends browsers back to: the name under which this server was asked, which the gate knows."""
    host = request.headers.get("host", "")
    return f"{request.scope['scheme']}://{host}{service.prefix}{PATH}/callback"


def _cookie(service: Service, request: AnyHttpRequest, value: str, seconds: int) -> Cookie:
    return hidden_cookie(request, COOKIE, value, path=f"{service.prefix}{PATH}", seconds=seconds)


def routes(prefix: str) -> Router:
    """Return the routes of logging in at a provider."""
    return Router(path=prefix or "/", route_handlers=[begin, finish], tags=["server"])
