"""Starting executions: by path, digest or text; under an id, or under a key of the caller's business."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from litestar import Response, Router, post
from litestar.params import JSONBody

from petra.desk.ids import chosen_id
from petra.desk.principal import May, Principal
from petra.desk.trying import DryRun
from petra.engine.answers import Answered
from petra.engine.conditions import LIMIT_REACHED
from petra.errors import UsageError
from petra.kernel.decide import workload_fault
from petra.playbook import Playbook
from petra.playbook.overlay import merge
from petra.server.business_keys import BusinessKey, BusinessKeys
from petra.server.needs import Where, needs, within
from petra.server.openapi import tries
from petra.server.parameters import wait_of
from petra.server.problems import ProblemError
from petra.server.repeats import Key, Keyed, asked_under
from petra.server.resources.acts import Trial
from petra.server.resources.executions import (
    Prefer,
    Text,
    answer_of,
    applied_playbook,
    listed,
    shown_execution,
)
from petra.server.service import AnyHttpRequest, Here, TheService
from petra.server.shapes import Execution
from petra.server.waiting import status_of, wait_for_rest

NO_IDS: Final = frozenset({"counts"})
"""What stands beside the executions under their address."""


class Start(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be started: a playbook by its path or digest, or as text.

    Of the executions of a playbook that have not ended, one at most has a ``business_key``; ``on_conflict`` says what
    comes of an id or a key that is taken.
    """

    playbook: str | Text
    version: str | None = None
    workload: dict[str, Any] = {}
    id: str | None = None
    business_key: str | None = None
    on_conflict: Literal["reject", "existing"] = "reject"
    labels: dict[str, str] = {}
    namespace: str | None = None
    allow_unsound: bool = False
    priority: int | None = None


@post(
    "/executions",
    status_code=201,
    opt=needs(May.START, where=Where.SOMEWHERE) | tries(Execution, DryRun, 200, 202),
)
async def start(
    service: TheService,
    here: Here,
    request: AnyHttpRequest,
    data: JSONBody[Start],
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Start an execution. With ``Prefer: wait=N`` the answer comes when it ends or rests, else 202 with what there is."""
    wait = wait_of(prefer)
    who = await _starter(service, here, request, data)
    asked = await asked_under(service, request, who, key, "start")
    if asked.known is not None and not dry_run:
        return await _shown(service, who, _accepted(asked.known), wait)
    playbook = await _playbook(service, who, data)
    taken = await _holder(service, who, data, playbook, asked.command)
    if dry_run:
        return Response(await _try(service, data, playbook, taken), status_code=200)
    if taken:
        if data.on_conflict == "reject":
            raise ProblemError("taken", f"execution '{taken}' has it, and has not ended")
        return answer_of(service, await shown_execution(service, who, taken), 200)
    return await _shown(service, who, await _begin(service, who, data, playbook, asked), wait)


async def _shown(
    service: TheService, who: Principal, execution: str, wait: float
) -> Response[Execution | DryRun]:
    """Answer with what was started, once it ends or rests."""
    in_time = await wait_for_rest(service, who, execution, wait)
    shown = await shown_execution(service, who, execution)
    return answer_of(service, shown, status_of(201, in_time=in_time))


async def _begin(
    service: TheService, who: Principal, data: Start, playbook: Playbook, asked: Keyed
) -> str:
    """Start it, under its key if it has one; return which execution that is.

    Raises:
        ProblemError: it was refused, or somebody else took the key.
    """
    execution, keys = _id(service, who, data), _keys(service)
    key = _key(who, playbook, data)
    if key.key:
        execution = await keys.claim(key, execution, asked.command)
    is_begun = False
    try:
        answered = await service.desk.begin(
            who, playbook, data.workload, execution=execution, command=asked.command, labels=data.labels,
            allow_unsound=data.allow_unsound, business_key=key.key, priority=data.priority, sent=asked.sent,
        )  # fmt: skip
        is_begun = not answered.refused
    except UsageError:
        raise
    except BaseException:
        is_begun = True  # perhaps it is: the claim stays until that is known
        raise
    finally:
        if key.key and not is_begun:
            await keys.release(key, execution)
    return _accepted(answered)


def _accepted(answered: Answered) -> str:
    """Return which execution was started.

    Raises:
        ProblemError: it was refused.
    """
    if answered.refused.startswith(LIMIT_REACHED):
        raise ProblemError("limit-reached", answered.refused)
    if answered.refused:
        raise ProblemError("refused", answered.refused)
    return answered.execution


def _id(service: TheService, who: Principal, data: Start) -> str:
    """Return the id that somebody chose, or a new one.

    Raises:
        ProblemError: what is at its address is something else.
    """
    if data.id in NO_IDS:
        raise ProblemError(
            "invalid-input", f"'{data.id}' is no id here: its address is that of a list"
        )
    return chosen_id(who.namespace, data.id) if data.id else service.desk.new_id()


def _keys(service: TheService) -> BusinessKeys:
    return BusinessKeys(service.engine.store, service.clock)


def _key(who: Principal, playbook: Playbook, data: Start) -> BusinessKey:
    return BusinessKey(who.namespace, playbook.metadata.name, data.business_key or "")


async def _holder(
    service: TheService, who: Principal, data: Start, playbook: Playbook, command: str
) -> str:
    """Return the execution that has the id or the key already; none where the same request is sent again."""
    store = service.engine.store
    if command and await store.answer(command) is not None:
        return ""
    if data.id and not command:
        name = _id(service, who, data)
        known = await store.execution(name)
        if known is not None and known.row.namespace != who.namespace:
            raise ProblemError("taken", f"there is an execution '{name}' already")
        if known is not None:
            return name
    if data.business_key:
        return await _keys(service).holder(_key(who, playbook, data))
    return ""


async def _try(service: TheService, data: Start, playbook: Playbook, taken: str) -> DryRun:
    """Say what a start would lead to."""
    name, entry = playbook.metadata.name, playbook.entry
    if taken:
        words = "rejected" if data.on_conflict == "reject" else "answered with that one"
        refused = f"execution '{taken}' has it, and has not ended; this one would be {words}"
        return DryRun(
            sentence=f"Nothing would start: {refused}.", refused=refused, status="", reason=""
        )
    program = service.engine.cache.compiled(playbook)
    faults = [] if data.allow_unsound else await service.engine.proofs.problems(program)
    fault = workload_fault(program, merge(playbook.workload, data.workload))
    refused = fault or "; ".join(problem.message for problem in faults)
    if refused:
        return DryRun(
            sentence=f"It would be refused: {refused}.", refused=refused, status="", reason=""
        )
    words = f"An execution of '{name}' ({program.digest[:12]}) would begin at step '{entry}'."
    return DryRun(sentence=words, status="running", reason="")


async def _starter(
    service: TheService, here: Principal, request: AnyHttpRequest, data: Start
) -> Principal:
    """Return who starts something, in the namespace that the body or the address names."""
    if data.namespace in (None, here.namespace):
        here.must(May.START)
        return here
    if "namespace" in request.query_params:
        raise ProblemError(
            "bad-request", f"'namespace' is '{here.namespace}' in the address, and not in the body"
        )
    there = await within(service, here, data.namespace or here.namespace)
    request.state.namespace = there.namespace
    there.must(May.START)
    return there


async def _playbook(service: TheService, who: Principal, data: Start) -> Playbook:
    if isinstance(data.playbook, Text):
        return await service.texts.read(data.playbook.text, "the playbook")
    return await service.texts.stored(
        await applied_playbook(service, who, data.playbook, data.version)
    )


def router(base: str) -> Router:
    """Return the routes of starting."""
    return Router(path=base, route_handlers=[start, listed], tags=["executions"])
