"""Moving a live execution to another definition: proved here, decided by the engine (S23)."""

from __future__ import annotations

import contextlib
from functools import partial

from petra.desk.principal import Principal
from petra.desk.requests import Move
from petra.desk.starting import gathered
from petra.engine import Answered, Engine
from petra.engine.answers import AsSent
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.kernel.migration import MovedOnError, examined

TRIES = 20
"""So often a move is proved anew because the execution has moved on meanwhile."""


async def move(
    engine: Engine, who: Principal, request: Move, sent: AsSent | None = None
) -> Answered:
    """Move an execution; the answer says why not, if it cannot. ``sent`` is as for ``branch``.

    Raises:
        UsageError: it moves on faster than a move can be proved.
    """
    target = engine.cache.compiled(await engine.catalogue.sent(request.playbook))
    company = await engine.catalogue.keep(await gathered(request.beside, engine.catalogue.read))
    for _ in range(TRIES):
        entry = await engine.view(request.execution)
        command = who.signed(
            c.Migrate(
                now=0.0, digest=target.digest, renamed=request.renamed, at=entry.state.seq,
                actor=request.actor, reason=request.reason, company=company,
            )
        )  # fmt: skip
        known = request.id and await engine.store.answer(request.id)
        if request.seen not in (None, entry.state.seq) and not known:
            return Answered(request.execution, c.moved_on(entry.state.seq, request.seen))
        plan = examined(entry.program, target, entry.state, request.renamed)
        if plan.faults and not known:
            return Answered(request.execution, "; ".join(plan.faults))
        with contextlib.suppress(MovedOnError):
            return await engine.migrate(
                request.execution, partial(c.at, command), target, command=request.id,
                request=sent or [request.renamed, request.actor, request.reason],
            )  # fmt: skip
    raise UsageError(
        f"execution {request.execution} moves on faster than a move can be proved; 'petra pause' it first"
    )
