"""Branches: executions that begin with the past of another one (S13); and those that go on by another definition (S23).

With ``If-Match`` only if nothing happened since the version in that tag in the execution whose past it is, or that is moved.
"""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Response, Router, post
from litestar.params import FromPath, JSONBody

from petra.desk import ForkRequest, Move
from petra.desk.branching import branch
from petra.desk.ids import chosen_id
from petra.desk.moving import move
from petra.desk.principal import May
from petra.desk.trying import DryRun, tried_branch, tried_move
from petra.server.act_bodies import Body
from petra.server.conditions import IfMatch, entity_tag, version_seen
from petra.server.needs import needs
from petra.server.openapi import tries
from petra.server.parameters import wait_of
from petra.server.problems import ProblemError
from petra.server.repeats import Key, Keyed, asked_under
from petra.server.resources.acts import Trial, refusal
from petra.server.resources.executions import (
    Prefer,
    Text,
    answer_of,
    definition_text,
    shown_execution,
)
from petra.server.service import AnyHttpRequest, TheService, Who
from petra.server.shapes import Execution
from petra.server.waiting import status_of, wait_for_rest


class BranchBody(Body, frozen=True, kw_only=True):
    """What a branch may go on with: another playbook, by its path or as text, and other values."""

    playbook: str | Text = ""
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
    request: AnyHttpRequest,
    execution: FromPath[str],
    data: JSONBody[Rerun],
    if_match: IfMatch = None,
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Start an execution with the past of this one up to before a step was last started."""
    asked = await asked_under(service, request, who, key, f"rerun {execution}")
    seen = version_seen(if_match)
    return await _begin(
        service, who, execution, data, asked, prefer, dry_run=dry_run, seen=seen, step=data.step
    )


@post(
    "/executions/{execution:str}/fork",
    status_code=201,
    opt=needs(May.START) | tries(Execution, DryRun, 202),
)
async def fork(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    data: JSONBody[ForkBody],
    if_match: IfMatch = None,
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Start an execution with the past of this one up to a record."""
    asked = await asked_under(service, request, who, key, f"fork {execution}")
    seen = version_seen(if_match)
    return await _begin(
        service, who, execution, data, asked, prefer, dry_run=dry_run, seen=seen, at=data.at
    )


async def _going_on(service: TheService, who: Who, data: BranchBody, asked: Keyed) -> str:
    """Return the text that a branch goes on with, if it is another one than that of its past.

    A bare text is taken for one where it cannot be a path.
    """
    given = data.playbook
    if asked.known is not None or given == "":
        return ""
    if isinstance(given, str) and ("\n" in given or given.startswith("{")):
        return given
    return await definition_text(service, who, given, None)


async def _begin(
    service: TheService,
    who: Who,
    origin: str,
    data: BranchBody,
    asked: Keyed,
    prefer: str | None,
    *,
    dry_run: bool,
    seen: int | None,
    step: str | None = None,
    at: int | None = None,
) -> Response[Execution | DryRun]:
    text = await _going_on(service, who, data, asked)
    wanted = ForkRequest(
        id=asked.command, execution=chosen_id(who.namespace, data.id) if data.id else service.desk.new_id(),
        origin=origin, step=step, at=at,
        playbook=text, workload=data.set, reason=data.reason, rest=False, seen=seen,
    )  # fmt: skip
    wait = wait_of(prefer)
    if dry_run:
        return Response(
            await tried_branch(service.engine, who, wanted, service.long_work.aside),
            status_code=200,
        )
    answered = asked.known or await branch(service.engine, who, wanted, asked.sent)
    if answered.refused:
        raise ProblemError("refused", answered.refused)
    in_time = await wait_for_rest(service, who, answered.execution, wait)
    shown = await shown_execution(service, who, answered.execution)
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
    request: AnyHttpRequest,
    execution: FromPath[str],
    data: JSONBody[MigrateBody],
    if_match: IfMatch = None,
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Move a live execution to another definition, if that is proved to fit; steps are called otherwise as ``renamed`` says."""
    wait = wait_of(prefer)
    asked = await asked_under(service, request, who, key, f"migrate {execution}")
    answered = asked.known
    if answered is None or dry_run:
        text = await definition_text(service, who, data.playbook, data.version)
        wanted = Move(
            id=asked.command, execution=execution, playbook=text, renamed=data.renamed, reason=data.reason, rest=False,
            seen=version_seen(if_match),
        )  # fmt: skip
        if dry_run:
            return Response(await tried_move(service.engine, wanted))
        answered = await move(service.engine, who, wanted, asked.sent)
    if answered.refused:
        raise refusal(answered.refused)
    await wait_for_rest(service, who, execution, wait)
    shown = await shown_execution(service, who, execution)
    return Response(shown, headers=entity_tag(shown.version))


def router(base: str) -> Router:
    """Return the routes of branches and moves."""
    return Router(path=base, route_handlers=[rerun, fork, migrate], tags=["acts"])
