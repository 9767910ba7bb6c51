"""Assignments that are made when they go out, from the state as it is: after a restart, and for rows that had no room.

Others are made by the decision that hands them out (``petra.engine.effects``).
"""

from __future__ import annotations

import contextlib
import itertools
from collections import deque

from petra.engine.cache import Cache
from petra.engine.workers import Queued
from petra.kernel import assignment
from petra.store.errors import UnavailableError


async def read_ahead(cache: Cache, waiting: deque[Queued], most: int) -> None:
    """Read the executions of the next offers at once, as after a restart, when none is in memory."""
    ahead = itertools.islice(waiting, most)
    executions = [offer.row.execution for offer in ahead if offer.given is None]
    with contextlib.suppress(UnavailableError):
        await cache.warm(executions)


async def make(cache: Cache, offer: Queued) -> bool:
    """Make the assignment of an offer from the state as it is; False where that cannot be done now.

    A state that is ahead of what is durable is not shown: then the offer waits for the commit.
    """
    if offer.gone:
        return True
    row, pending = offer.row, offer.row.pending
    try:
        entry = cache.get(row.execution) or await cache.load(row.execution)
    except UnavailableError:
        return False
    if entry.busy:
        return False
    run = entry.state.runs.get(pending.run)
    chunk = run.chunks.get(pending.chunk) if run is not None and pending.chunk else None
    holder = chunk if pending.chunk else run
    if holder is None or holder.incident or holder.delivery != pending.delivery:
        offer.gone = True  # it was withdrawn, or a later delivery is waiting too
    else:
        offer.program = entry.program
        offer.given = assignment(entry.program, entry.state, pending.run, pending.chunk)
    return True
