"""What the command line asks, in the words that it also uses with a folder (``petra.desk.requests``).

Rule 1: whoever asks may no more than by any other call: the desk says who may what, in the namespace of the execution.
Rule 2: the same id of the same caller again is the same request: it happens once.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from litestar import Router, get, post
from litestar.params import FromPath
from litestar.response import Stream

from petra.desk import (
    Apply,
    Ask,
    Begin,
    ForkRequest,
    Look,
    Move,
    OnResources,
    OnSchedules,
    OnTriggers,
    Remove,
)  # fmt: skip
from petra.desk.carrying import carry_out
from petra.desk.ids import must_be_own
from petra.desk.principal import May, Principal
from petra.desk.requests import AnyRequest
from petra.engine.authority import may_read
from petra.errors import ObjectError
from petra.kernel import commands as c
from petra.server.answers.overview import CommandReply
from petra.server.needs import Where, needs
from petra.server.openapi import answers, takes
from petra.server.parameters import WAIT_MAX_S
from petra.server.problems import ProblemError
from petra.server.repeats import command_id
from petra.server.service import AnyHttpRequest, Here, TheService, Who
from petra.server.stored_objects import object_stream

_ACTS = (May.SEE, May.START, May.STEER, May.APPLY, May.DECIDE, May.ADMINISTER)


@post(
    "/requests",
    status_code=200,
    opt=needs(*_ACTS, where=Where.SOMEWHERE) | answers(CommandReply) | takes(AnyRequest),
)
async def carried_out(service: TheService, here: Here, request: AnyHttpRequest) -> dict[str, Any]:
    """Carry out what the command line asks for; the answer comes when the execution ends or rests, or after a minute."""
    try:
        sent = msgspec.json.decode(await request.body(), type=AnyRequest)
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise ProblemError("bad-request", str(error)) from None
    who = await _admitted(service, here, sent)
    request.state.namespace = who.namespace
    asked = msgspec.structs.replace(sent, id=command_id(who, sent.id, "request"))
    try:
        async with asyncio.timeout(WAIT_MAX_S):
            reply = await carry_out(service.desk, who, asked)
    except TimeoutError:  # it was carried out, and goes on
        reply = await carry_out(service.desk, who, msgspec.structs.replace(asked, rest=False))
    answer: dict[str, Any] = msgspec.to_builtins(reply, builtin_types=())
    return answer


async def _admitted(service: TheService, here: Principal, sent: AnyRequest) -> Principal:
    """Return who asks, as they stand where it happens."""
    desk = service.desk
    match sent:
        case Begin():
            here.must(May.START)
            must_be_own(here.namespace, sent.execution)
        case Apply():
            here.must(May.APPLY)
        case OnSchedules() | OnTriggers() | OnResources():
            pass  # the desk says who may do which of its acts
        case ForkRequest():
            there = await desk.admitted(here, frozenset({May.START}), sent.origin)
            must_be_own(there.namespace, sent.execution)
            return there
        case Ask():
            power = May.DECIDE if isinstance(sent.command, c.Act) else May.STEER
            return await desk.admitted(here, frozenset({power}), sent.execution)
        case Move():
            return await desk.admitted(here, frozenset({May.STEER}), sent.execution)
        case Remove():
            for execution in sent.executions:
                here = await desk.admitted(here, frozenset({May.ADMINISTER}), execution)
        case Look() if sent.execution:
            return await desk.admitted(here, frozenset({May.SEE}), sent.execution)
        case _:
            here.must(May.SEE)
    return here


@get("/executions/{execution:str}/objects/{owner:str}/{name:str}", opt=needs(May.SEE))
async def value(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    owner: FromPath[str],
    name: FromPath[str],
) -> Stream:
    """Return a large value that an execution has, by its key."""
    entry, objects = await service.engine.view(execution), service.engine.objects
    del who  # they were let in to the execution
    key = f"{owner}/{name}"
    if objects is None or not await may_read(service.engine.store, entry.state, owner):
        raise ProblemError("not-found", f"it has no value '{key[:200]}'")
    try:
        return await object_stream(objects, key)
    except ObjectError as error:
        raise ProblemError("not-found", str(error)) from None


def router(base: str) -> Router:
    """Return the routes of requests."""
    return Router(path=base, route_handlers=[carried_out, value], tags=["command line"])
