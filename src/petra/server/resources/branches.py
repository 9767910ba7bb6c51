"""Branches: executions that begin with the past of another one (S13)."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Response, Router, post

from petra.desk import Branch, Principal
from petra.desk.carrying import carry_out
from petra.server.parameters import wait_of
from petra.server.problems import ProblemError
from petra.server.resources.acts import Body
from petra.server.resources.executions import Key, Prefer, command_id, found, waited
from petra.server.service import Service
from petra.server.shapes import Execution


class Rerun(Body, frozen=True):
    """From which step again, perhaps with another playbook and other values."""

    step: str = msgspec.field(name="from")
    playbook: str = ""
    set: dict[str, Any] | None = None
    reason: str = ""
    id: str = ""


class ForkBody(Body, frozen=True):
    """At which record."""

    at: int
    playbook: str = ""
    set: dict[str, Any] | None = None
    reason: str = ""
    id: str = ""


@post("/executions/{execution:str}/rerun", status_code=201)
async def rerun(
    service: Service,
    who: Principal,
    execution: str,
    data: Rerun,
    key: Key = None,
    prefer: Prefer = None,
) -> Response[Execution]:
    """Start an execution with the past of this one up to before a step was last started."""
    made = Branch(
        id=command_id(who, key, f"rerun {execution}"), execution=data.id or service.desk.new_id(), origin=execution,
        step=data.step, playbook=data.playbook, workload=data.set, reason=data.reason, rest=False,
    )  # fmt: skip
    return await _branched(service, who, made, prefer)


@post("/executions/{execution:str}/fork", status_code=201)
async def fork(
    service: Service,
    who: Principal,
    execution: str,
    data: ForkBody,
    key: Key = None,
    prefer: Prefer = None,
) -> Response[Execution]:
    """Start an execution with the past of this one up to a record."""
    made = Branch(
        id=command_id(who, key, f"fork {execution}"), execution=data.id or service.desk.new_id(), origin=execution,
        at=data.at, playbook=data.playbook, workload=data.set, reason=data.reason, rest=False,
    )  # fmt: skip
    return await _branched(service, who, made, prefer)


async def _branched(
    service: Service, who: Principal, made: Branch, prefer: str | None
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
