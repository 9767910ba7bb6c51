"""A new execution with the past of another one: a fork, or a rerun from a step (S13).

It may go on with another playbook or workload, when the past fits that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from petra.desk.long_logs import beside_the_loop
from petra.desk.principal import May, Principal
from petra.desk.requests import ForkRequest
from petra.desk.result import records_of
from petra.desk.starting import gathered
from petra.engine import Answered, Engine
from petra.engine.answers import AsSent
from petra.engine.catalogue import StaleError
from petra.errors import MalformedError, UsageError
from petra.kernel import Program, Record, State
from petra.kernel.commands import Fork, at, moved_on
from petra.kernel.fork import fork, rerun
from petra.kernel.migration import UnfitError, examined, forked


class Past(NamedTuple):
    """The past that a branch would have: where it stands then, by which definition, and what it goes on with."""

    fork: Fork
    state: State
    program: Program
    target: Program | None


async def past_of(engine: Engine, who: Principal, request: ForkRequest) -> Past:
    """Return the past that a branch would have.

    Raises:
        StaleError: it has gone on since somebody looked.
        UsageError: there is no such past, or it does not fit what it is to go on with.
    """
    who.must(May.SEE)
    records = await records_of(engine.store, request.origin)
    if request.seen not in (None, len(records)):
        raise StaleError(moved_on(len(records), request.seen))
    past, state = await beside_the_loop(len(records), lambda: _past(records, request))
    program = await engine.cache.definition(state)
    if not request.playbook:
        return Past(past, state, program, None)
    target = engine.cache.compiled(await engine.catalogue.sent(request.playbook))
    faults = examined(program, target, state, request.renamed).faults
    if faults:
        raise _unfit(request, "; ".join(faults))
    return Past(past, state, program, target)


async def branch(
    engine: Engine, who: Principal, request: ForkRequest, sent: AsSent | None = None
) -> Answered:
    """Begin an execution with the past of another one; ``sent`` is the question under its id, if that is not the request.

    Raises:
        UsageError: that one has no such past, or it does not fit what it is to go on with.
    """
    past, _, program, target = await past_of(engine, who, request)
    if target is not None:
        past = msgspec.structs.replace(
            past, digest=target.digest, renamed=request.renamed,
            company=await engine.catalogue.keep(await gathered(request.beside, engine.catalogue.read)),
        )  # fmt: skip
    if request.playbook or request.workload is not None:
        past = msgspec.structs.replace(past, workload=request.workload or {})
    signed = who.signed(past)
    changed = [request.playbook, request.workload, request.renamed]
    try:
        return await engine.fork(
            request.origin, lambda now: at(signed, now), execution=request.execution,
            program=program, target=target, command=request.id,
            request=sent or [request.at, request.step, *(changed if any(changed) else [])],
        )  # fmt: skip
    except UnfitError as error:
        raise _unfit(request, str(error)) from None


def _unfit(request: ForkRequest, why: str) -> UsageError:
    return UsageError(f"the past of {request.origin} does not fit what it is to go on with: {why}")


def _past(records: Sequence[Record], request: ForkRequest) -> tuple[Fork, State]:
    """Return what a branch takes over, and where that stands."""
    past = _taken(records, request)
    return past, forked(past)


def _taken(records: Sequence[Record], request: ForkRequest) -> Fork:
    try:
        if request.step is not None:
            return rerun(request.origin, records, request.step, now=0.0, reason=request.reason)
        until = len(records) if request.at is None else request.at
        return fork(request.origin, records, until, now=0.0, reason=request.reason)
    except ValueError as error:
        raise MalformedError(f"execution {request.origin}: {error}") from None
