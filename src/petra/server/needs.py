"""What every call needs: it stands beside its handler, and is checked before anything of the request is read.

Rule 1: a handler that says nothing is for nobody.
Rule 2: the desk says who may what with an execution; here it is only asked, before the handler and its body.
"""

from __future__ import annotations

import enum
from typing import Any, Final, NamedTuple, assert_never

from litestar import Request, Response
from litestar.handlers import BaseRouteHandler

from petra.desk.principal import EVERYWHERE, ForbiddenError, May, Principal
from petra.namespaces import DEFAULT
from petra.server.identity import ACT_AS_HEADER
from petra.server.parameters import presented_by, refuse_unknown
from petra.server.problems import ProblemError
from petra.server.service import Service
from petra.server.strict_bodies import refuse_unread

NEED: Final = "need"
Opt = dict[str, Any]


class Where(enum.Enum):
    """Where somebody needs a power."""

    HERE = "in the namespace that the request is about"
    SOMEWHERE = "in any namespace"
    EVERYWHERE = "in all of them"


class Need(NamedTuple):
    """One of some powers, and where."""

    one_of: frozenset[May] = frozenset()
    where: Where = Where.HERE
    known: bool = True
    """Whether it must be known who asks at all."""


def needs(*powers: May, where: Where = Where.HERE) -> Opt:
    """Return what a handler says that needs one of some powers."""
    return {NEED: Need(frozenset(powers), where)}


KNOWN: Final[Opt] = {NEED: Need()}
"""What a handler says that is for everybody who is known."""
OPEN: Final[Opt] = {NEED: Need(known=False)}
"""What a handler says that is for strangers too."""
PAGE: Final[Opt] = {**OPEN, "any-parameter": True}
"""What a handler says that answers with the web UI: the parameters of its addresses are its own."""


def need_of(handler: BaseRouteHandler) -> Need | None:
    """Return what a handler needs; None where it says nothing."""
    need = handler.opt.get(NEED)
    return need if isinstance(need, Need) else None


async def admit(request: Request[Any, Any, Any]) -> Response[None] | None:
    """Find out who asks, and let in only who may; then look at the names of parameters, and of what nobody reads.

    Whoever asks for the methods of an address gets them, unless it has an answer of its own to that.

    Raises:
        ProblemError: nobody that is known asks.
        ForbiddenError: they may not.
        UnknownExecutionError: they may not even know of it.
    """
    need = need_of(request.route_handler)
    if need is None:
        if request.method == "OPTIONS":  # the framework's: ours say what they need
            return _methods(request)
        raise ForbiddenError("this call is for nobody")
    if need.known:
        service: Service = request.app.state.service
        state = request.scope["state"]  # the same that 'request.state' makes anew each time
        who, state["session"] = await service.identity.who(presented_by(request))
        if name := request.headers.get(ACT_AS_HEADER):
            state["who"] = who
            who = await service.identity.in_the_name_of(who, name)
        state["who"] = who  # for the audit, also where they are turned away
        state["who"] = who = await _admitted(service, who, need, request)
        state["namespace"] = who.namespace
    refuse_unknown(request)
    if need.known:
        await refuse_unread(request)
    return None


_OF_A_PATH: Final = ("/heat", "/standing", "/versions")
"""What is read of a playbook shares the address of playbooks, whose paths may have slashes."""


def _methods(request: Request[Any, Any, Any]) -> Response[None]:
    here = request.scope.get("path_template")
    if "/playbooks/" in str(here) and request.url.path.endswith(_OF_A_PATH):
        return Response(None, status_code=204, headers={"Allow": "GET, OPTIONS"})
    routes = [route for route in request.app.routes if route.path_format == here]
    # several may share an address
    methods = {method for route in routes for method in route.methods}
    return Response(None, status_code=204, headers={"Allow": ", ".join(sorted(methods))})


async def within(service: Service, who: Principal, namespace: str) -> Principal:
    """Return somebody as they stand in a namespace.

    Raises:
        ProblemError: there is none, or none that they may know of.
    """
    there = who.within(namespace)
    if namespace != DEFAULT and not (
        there.may - {May.ACT_AS} and await service.register.has_namespace(namespace)
    ):
        raise ProblemError("not-found", f"there is no namespace '{namespace[:100]}'")
    return there


async def _admitted(
    service: Service, who: Principal, need: Need, request: Request[Any, Any, Any]
) -> Principal:
    execution = request.path_params.get("execution")
    if isinstance(execution, str) and need.one_of and May.WORK not in need.one_of:
        return await service.desk.admitted(who, need.one_of, execution)
    there = await within(service, who, request.query_params.get("namespace") or DEFAULT)
    if not need.one_of:
        return there
    match need.where:
        case Where.HERE:
            there.must_one(need.one_of)
        case Where.SOMEWHERE:
            there.must_somewhere(need.one_of)
        case Where.EVERYWHERE:
            there.within(EVERYWHERE).must_one(need.one_of)
        case _:
            assert_never(need.where)
    return there
