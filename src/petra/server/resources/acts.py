"""Acts on executions: signal, pause, resume, cancel, patch, override, retry, groups.

With ``If-Match`` each is done only to what was seen: nothing happened since the version in that tag.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec
from litestar import Response, Router, patch, post
from litestar.params import FromPath, JSONBody, QueryParameter

from petra.desk.principal import May
from petra.desk.trying import DryRun, tried
from petra.engine.codec import from_row
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.server.act_bodies import (
    Done,
    Group,
    Outcome,
    PatchBody,
    Reason,
    SignalBody,
)
from petra.server.conditions import IfMatch, entity_tag, version_seen
from petra.server.needs import needs
from petra.server.openapi import tries
from petra.server.parameters import wait_of
from petra.server.problems import ProblemError
from petra.server.repeats import Key, asked_under
from petra.server.resources.executions import Prefer, shown_execution
from petra.server.service import AnyHttpRequest, TheService, Who
from petra.server.shapes import Execution
from petra.server.waiting import status_of, wait_for_rest
from petra.wire import Error

LOOKED_BACK = 500
"""So many records before the answer the one of a signal is looked for; a batch holds fewer."""


Trial = Annotated[bool, QueryParameter(name="dry_run", required=False)]
"""With it, an act only says what would happen."""
_ACT = needs(May.STEER) | tries(Execution, DryRun)


class _Asked(NamedTuple):
    """How a command came: by which request, under which key, and for which version."""

    request: AnyHttpRequest
    key: str | None
    seen: int | None


async def _ask(
    service: TheService,
    who: Who,
    execution: str,
    command: c.CallerCommand,
    asked: _Asked,
    prefer: str | None = None,
    *,
    dry_run: bool,
) -> Response[Execution | DryRun]:
    wait, command = wait_of(prefer), msgspec.structs.replace(command, at=asked.seen)
    if dry_run:
        return Response(
            await tried(service.engine, who, execution, command, service.long_work.aside)
        )
    await _give_command(service, who, execution, command, asked)
    await wait_for_rest(service, who, execution, wait)
    shown = await shown_execution(service, who, execution)
    return Response(shown, headers=entity_tag(shown.version))


async def _give_command(
    service: TheService, who: Who, execution: str, command: c.CallerCommand, asked: _Asked
) -> int:
    """Give a command; return the version after it.

    Raises:
        ProblemError: it was refused.
    """
    act = f"{type(command).__name__} {execution}"
    keyed = await asked_under(service, asked.request, who, asked.key, act)
    answered = keyed.known or await service.desk.ask(
        who, execution, command, request=keyed.command, sent=keyed.sent
    )
    if answered.refused:
        raise refusal(answered.refused, asked.seen, answered.version)
    return answered.version


def refusal(words: str, seen: int | None = None, version: int = 0) -> ProblemError:
    """Return the problem of what an execution refused: it has moved on since somebody looked, or it cannot be done.

    What has ended refuses whatever comes; who had seen it before that is told so first.
    """
    is_stale = words.startswith(c.MOVED_ON) or (seen is not None and seen != version)
    return ProblemError("stale" if is_stale else "refused", words)


@post(
    "/executions/{execution:str}/signals/{name:path}",
    status_code=200,
    opt=needs(May.STEER) | tries(Done, DryRun, 202),
)
async def signal(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    name: FromPath[str],
    data: JSONBody[SignalBody | None] = None,
    if_match: IfMatch = None,
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Done | DryRun]:
    """Send a signal; ``waited`` says whether anybody waited for it. With ``Prefer: wait=N`` 202 says that it goes on still."""
    body, wait = data or SignalBody(), wait_of(prefer)
    asked = _Asked(request, key, version_seen(if_match))
    command = c.SendSignal(
        now=0.0, name=name.removeprefix("/"), key=body.key, payload=body.payload, at=asked.seen
    )
    if dry_run:
        return Response(
            await tried(service.engine, who, execution, command, service.long_work.aside)
        )
    version = await _give_command(service, who, execution, command, asked)
    was_awaited = await _was_awaited(service, execution, command.name, version)
    in_time = await wait_for_rest(service, who, execution, wait)
    done = Done(execution=await shown_execution(service, who, execution), waited=was_awaited)
    status, headers = status_of(200, in_time=in_time), entity_tag(done.execution.version)
    return Response(done, status_code=status, headers=headers)


async def _was_awaited(service: TheService, execution: str, name: str, version: int) -> bool:
    """Tell whether a signal that was decided up to a version found somebody who waited: its record says so."""
    rows = await service.engine.store.read(
        execution, after=max(0, version - LOOKED_BACK), limit=LOOKED_BACK
    )
    events = [from_row(row).event for row in rows if row.seq <= version]
    signals = [
        event for event in events if isinstance(event, e.SignalReceived) and event.name == name
    ]
    return bool(signals) and signals[-1].run is not None


@post("/executions/{execution:str}/pause", status_code=200, opt=_ACT)
async def pause(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    data: JSONBody[Reason | None] = None,
    if_match: IfMatch = None,
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Stop new firings."""
    command = c.Pause(now=0.0, reason=(data or Reason()).reason)
    asked = _Asked(request, key, version_seen(if_match))
    return await _ask(service, who, execution, command, asked, prefer, dry_run=dry_run)


@post("/executions/{execution:str}/resume", status_code=200, opt=_ACT)
async def resume(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    data: JSONBody[Reason | None] = None,
    if_match: IfMatch = None,
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Go on. A ``reason`` may be given as with other acts; the log has no place for it."""
    del data
    asked = _Asked(request, key, version_seen(if_match))
    return await _ask(service, who, execution, c.Resume(now=0.0), asked, prefer, dry_run=dry_run)


@post("/executions/{execution:str}/cancel", status_code=200, opt=_ACT)
async def cancel(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    data: JSONBody[Reason | None] = None,
    if_match: IfMatch = None,
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Stop everything; the execution ends aborted."""
    command = c.Cancel(now=0.0, reason=(data or Reason()).reason or "cancelled")
    asked = _Asked(request, key, version_seen(if_match))
    return await _ask(service, who, execution, command, asked, prefer, dry_run=dry_run)


@patch("/executions/{execution:str}/ctx", status_code=200, opt=_ACT)
async def patch_ctx(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    data: JSONBody[PatchBody],
    if_match: IfMatch = None,
    key: Key = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Change values of ctx."""
    command = c.PatchCtx(now=0.0, values=data.values, reason=data.reason)
    asked = _Asked(request, key, version_seen(if_match))
    return await _ask(service, who, execution, command, asked, dry_run=dry_run)


@post("/executions/{execution:str}/steps/{step:str}/override", status_code=200, opt=_ACT)
async def override(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    step: FromPath[str],
    data: JSONBody[Outcome],
    if_match: IfMatch = None,
    key: Key = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Decide the outcome of a step that runs or waits."""
    if (data.ok is msgspec.UNSET) == (data.error is None):
        raise ProblemError("bad-request", "give exactly one of 'ok' and 'error'")
    error = Error(**msgspec.structs.asdict(data.error)) if data.error is not None else None
    result = None if data.ok is msgspec.UNSET else data.ok
    command = c.Override(
        now=0.0, step=step, ok=error is None, result=result, error=error, reason=data.reason
    )
    asked = _Asked(request, key, version_seen(if_match))
    return await _ask(service, who, execution, command, asked, dry_run=dry_run)


@post("/executions/{execution:str}/steps/{step:str}/retry", status_code=200, opt=_ACT)
async def retry(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    step: FromPath[str],
    data: JSONBody[Reason | None] = None,
    if_match: IfMatch = None,
    key: Key = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Hand a step that is an incident out once more."""
    command = c.Retry(now=0.0, step=step, reason=(data or Reason()).reason)
    asked = _Asked(request, key, version_seen(if_match))
    return await _ask(service, who, execution, command, asked, dry_run=dry_run)


@post("/executions/{execution:str}/groups/{group:str}", status_code=200, opt=_ACT)
async def change_group(
    service: TheService,
    who: Who,
    request: AnyHttpRequest,
    execution: FromPath[str],
    group: FromPath[str],
    data: JSONBody[Group],
    if_match: IfMatch = None,
    key: Key = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Change a live group: add, close, cancel, complete."""
    command = c.ChangeGroup(now=0.0, group=group, change=data.change, item=data.item)
    asked = _Asked(request, key, version_seen(if_match))
    return await _ask(service, who, execution, command, asked, dry_run=dry_run)


def router(base: str) -> Router:
    """Return the routes of acts."""
    handlers = [
        signal, pause, resume, cancel, patch_ctx, override, retry, change_group,
    ]  # fmt: skip
    return Router(path=base, route_handlers=handlers, tags=["acts"])
