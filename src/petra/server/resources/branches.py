"""Branches: executions that begin with the past of another one (S13); and those that go on by another definition (S23)."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Response, Router, post
from litestar.params import FromPath, JSONBody

from petra.desk import ForkRequest, Move
from petra.desk.carrying import carry_out
from petra.desk.ids import chosen_id
from petra.desk.principal import May
from petra.desk.trying import DryRun, tried_branch, tried_move
from petra.server.needs import needs
from petra.server.openapi import tries
from petra.server.parameters import wait_of
from petra.server.problems import ProblemError
from petra.server.resources.acts import Body, Trial
from petra.server.resources.executions import (
    Key,
    Prefer,
    Text,
    answer_of,
    command_id,
    definition_text,
    shown_execution,
)
from petra.server.service import TheService, Who
from petra.server.shapes import Execution
from petra.server.waiting import status_of, wait_for_rest


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


@post(
    "/executions/{execution:str}/rerun",
    status_code=201,
    opt=needs(May.START) | tries(Execution, DryRun, 202),
)
async def rerun(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    data: JSONBody[Rerun],
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Start an execution with the past of this one up to before a step was last started."""
    command = command_id(who, key, f"rerun {execution}")
    request = _request(service, execution, data, command, who.namespace, step=data.step)
    return await _begin(service, who, request, prefer, dry_run=dry_run)


@post(
    "/executions/{execution:str}/fork",
    status_code=201,
    opt=needs(May.START) | tries(Execution, DryRun, 202),
)
async def fork(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    data: JSONBody[ForkBody],
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Start an execution with the past of this one up to a record."""
    command = command_id(who, key, f"fork {execution}")
    request = _request(service, execution, data, command, who.namespace, at=data.at)
    return await _begin(service, who, request, prefer, dry_run=dry_run)


def _request(
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


async def _begin(
    service: TheService, who: Who, request: ForkRequest, prefer: str | None, *, dry_run: bool
) -> Response[Execution | DryRun]:
    wait = wait_of(prefer)
    if dry_run:
        return Response(await tried_branch(service.engine, who, request), status_code=200)
    known = await service.engine.store.answer(request.id) if request.id else None
    if known is not None:  # the id of what was begun then
        request = msgspec.structs.replace(
            request, execution=msgspec.json.decode(known.body)["execution"]
        )
    reply = await carry_out(service.desk, who, request)
    if reply.refused:
        raise ProblemError("refused", reply.refused)
    in_time = await wait_for_rest(service, who, request.execution, wait)
    shown = await shown_execution(service, who, request.execution)
    return answer_of(service, shown, status_of(201, in_time=in_time))


class MigrateBody(Body, frozen=True, kw_only=True):
    """The definition that an execution is to go on by: a text, or what was applied under a path."""

    playbook: str | Text
    version: str | None = None
    renamed: dict[str, str] = msgspec.field(default_factory=dict)
    reason: str = ""


@post(
    "/executions/{execution:str}/migrate",
    status_code=200,
    opt=needs(May.STEER) | tries(Execution, DryRun),
)
async def migrate(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    data: JSONBody[MigrateBody],
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Execution | DryRun:
    """Move a live execution to another definition, if that is proved to fit; steps are called otherwise as ``renamed`` says."""
    wait = wait_of(prefer)
    text = await definition_text(service, who, data.playbook, data.version)
    move = Move(
        id=command_id(who, key, f"migrate {execution}"), execution=execution, playbook=text, renamed=data.renamed,
        reason=data.reason, rest=False,
    )  # fmt: skip
    if dry_run:
        return await tried_move(service.engine, move)
    reply = await carry_out(service.desk, who, move)
    if reply.refused:
        raise ProblemError("refused", reply.refused)
    await wait_for_rest(service, who, execution, wait)
    return await shown_execution(service, who, execution)


def router(base: str) -> Router:
    """Return the routes of branches and moves."""
    return Router(path=base, route_handlers=[rerun, fork, migrate], tags=["acts"])
