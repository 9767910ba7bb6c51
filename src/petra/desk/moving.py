"""New executions with an old past (S13), and live ones that move to another definition (S23): proved here, decided by the engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar

import msgspec

from petra.desk.requests import Branch, Move
from petra.desk.result import records_of
from petra.engine import Answered, Engine
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.kernel.fork import fork, rerun
from petra.kernel.migration import MovedOnError, UnfitError, examined, forked
from petra.playbook import read

TRIES = 20
"""So often a move is proved anew because the execution has moved on meanwhile."""


async def move(engine: Engine, request: Move) -> Answered:
    """Move an execution; the answer says why not, if it cannot.

    Raises:
        UsageError: it moves on faster than a move can be proved.
    """
    target = engine.entries.compiled(read(request.playbook, "the playbook").checked())
    for _ in range(TRIES):
        entry = await engine.view(request.execution)
        command = c.Migrate(
            now=0.0, digest=target.digest, renamed=request.renamed, at=entry.state.seq,
            actor=request.actor, reason=request.reason,
        )  # fmt: skip
        known = request.id and await engine.store.answer(request.id)
        plan = examined(entry.program, target, entry.state, request.renamed)
        if plan.faults and not known:
            return Answered(request.execution, "; ".join(plan.faults))
        with contextlib.suppress(MovedOnError):
            return await engine.migrate(
                request.execution, _timed(command), target, command=request.id,
                request=[request.renamed, request.actor, request.reason],
            )  # fmt: skip
    raise UsageError(
        f"execution {request.execution} moves on faster than a move can be proved; 'petra pause' it first"
    )


async def branch(engine: Engine, request: Branch) -> Answered:
    """Begin an execution with the past of another one, and perhaps with another playbook or workload.

    Raises:
        UsageError: there is no such past, or it does not fit what it is to go on with.
    """
    made = await _past(engine, request)
    state = forked(made)
    program = await engine.entries.definition(state)
    target = None
    if request.playbook:
        target = engine.entries.compiled(read(request.playbook, "the playbook").checked())
        faults = examined(program, target, state, request.renamed).faults
        if faults:
            raise _unfit(request, "; ".join(faults))
        made = msgspec.structs.replace(made, digest=target.digest, renamed=request.renamed)
    if request.playbook or request.workload is not None:
        made = msgspec.structs.replace(made, workload=request.workload or {})
    asked = [request.at, request.step, request.playbook, request.workload, request.renamed]
    try:
        return await engine.fork(
            request.origin, _timed(made), execution=request.execution, program=program,
            target=target, command=request.id, request=asked if any(asked[2:]) else asked[:2],
        )  # fmt: skip
    except UnfitError as error:
        raise _unfit(request, str(error)) from None


def _unfit(request: Branch, why: str) -> UsageError:
    return UsageError(f"the past of {request.origin} does not fit what it is to go on with: {why}")


async def _past(engine: Engine, request: Branch) -> c.Fork:
    records = await records_of(engine.store, request.origin)
    try:
        if request.step is not None:
            return rerun(request.origin, records, request.step, now=0.0, reason=request.reason)
        until = len(records) if request.at is None else request.at
        return fork(request.origin, records, until, now=0.0, reason=request.reason)
    except ValueError as error:
        raise UsageError(f"execution {request.origin}: {error}") from None


C = TypeVar("C", c.Migrate, c.Fork)


def _timed(command: C) -> Callable[[float], C]:
    return lambda now: msgspec.structs.replace(command, now=now)
