"""Branches: executions that begin with the past of another one (S13)."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Response, Router, post
from litestar.params import FromPath, JSONBody

from petra.desk import ForkRequest
from petra.desk.carrying import carry_out
from petra.desk.ids import chosen_id
from petra.desk.principal import May
from petra.server.needs import needs
from petra.server.parameters import wait_of
from petra.server.problems import ProblemError
from petra.server.resources.acts import Body
from petra.server.resources.executions import Key, Prefer, command_id, found
from petra.server.service import TheService, Who
from petra.server.shapes import Execution
from petra.server.waiting import waited


class BranchBody(Body, frozen=True, kw_only=True):
    """What a branch may go on with: another playbook, other values."""

    playbook: str = ""
    set: dict[str, Any] | None = None
    reason: str = ""
    id: str = ""


class Rerun(BranchBody, frozen=True, kw_only=True):
    """From which step again."""

    step: str = msgspec.field(name="from")


class ForkBody(BranchBody, frozen=True, kw_only=True):
    """At which record."""

    at: int


@post("/executions/{execution:str}/rerun", status_code=201, opt=needs(May.START))
async def rerun(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    data: JSONBody[Rerun],
    key: Key = None,
    prefer: Prefer = None,
) -> Response[Execution]:
    """Start an execution with the past of this one up to before a step was last started."""
    command = command_id(who, key, f"rerun {execution}")
    made = _branch(service, execution, data, command, who.namespace, step=data.step)
    return await _branched(service, who, made, prefer)


@post("/executions/{execution:str}/fork", status_code=201, opt=needs(May.START))
async def fork(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    data: JSONBody[ForkBody],
    key: Key = None,
    prefer: Prefer = None,
) -> Response[Execution]:
    """Start an execution with the past of this one up to a record."""
    command = command_id(who, key, f"fork {execution}")
    made = _branch(service, execution, data, command, who.namespace, at=data.at)
    return await _branched(service, who, made, prefer)


def _branch(
    service: TheService,
    origin: str,
    data: BranchBody,
    command: str,
    namespace: str,
    *,
    step: str | None = None,
    at: int | None = None,
) -> ForkRequest:
    return ForkRequest(
        id=command, execution=chosen_id(namespace, data.id) if data.id else service.desk.new_id(), origin=origin,
        step=step, at=at,
        playbook=data.playbook, workload=data.set, reason=data.reason, rest=False,
    )  # fmt: skip


async def _branched(
    service: TheService, who: Who, made: ForkRequest, prefer: str | None
) -> Response[Execution]:
    wait = wait_of(prefer)
    known = await service.engine.store.answer(made.id) if made.id else None
    if known is not None:  # the id of what was begun then
        made = msgspec.structs.replace(made, execution=msgspec.json.decode(known.body)["execution"])
    reply = await carry_out(service.desk, who, made)
    if reply.refused:
        raise ProblemError("refused", reply.refused)
    await waited(service, who, made.execution, wait)
    shown = await found(service, who, made.execution)
    headers = {"Location": f"{service.base}/executions/{shown.id}", "ETag": f'"{shown.version}"'}
    return Response(shown, status_code=201, headers=headers)


def router(base: str) -> Router:
    """Return the routes of branches."""
    return Router(path=base, route_handlers=[rerun, fork], tags=["acts"])
