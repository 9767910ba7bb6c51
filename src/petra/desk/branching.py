"""A new execution with the past of another one: a fork, or a rerun from a step (S13)."""

from __future__ import annotations

from petra.desk.principal import May, Principal
from petra.desk.requests import Branch
from petra.desk.result import records_of
from petra.engine import Answered, Engine
from petra.errors import UsageError
from petra.kernel.commands import at
from petra.kernel.fork import fork, rerun


async def branch(engine: Engine, who: Principal, request: Branch) -> Answered:
    """Begin an execution with the past of another one.

    Raises:
        UsageError: that one has no such past.
    """
    who.must(May.SEE)
    records = await records_of(engine.store, request.origin)
    try:
        if request.step is not None:
            made = rerun(request.origin, records, request.step, now=0.0, reason=request.reason)
        else:
            until = len(records) if request.at is None else request.at
            made = fork(request.origin, records, until, now=0.0, reason=request.reason)
    except ValueError as error:
        raise UsageError(f"execution {request.origin}: {error}") from None
    signed = who.signed(made)
    return await engine.fork(
        request.origin, lambda now: at(signed, now), execution=request.execution,
        command=request.id, request=[request.at, request.step],
    )  # fmt: skip
