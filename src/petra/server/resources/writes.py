"""The writes of an execution: what became of each key of ctx, and who wrote it."""

from __future__ import annotations

from typing import Any

from litestar import Router, get
from litestar.params import FromPath

from petra.accounts.shown import moment
from petra.desk.principal import May
from petra.desk.writes import Writes
from petra.server.answers.stories import CtxWrite
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.parameters import Limit, Number, page_size
from petra.server.problems import ProblemError
from petra.server.resources.stories import records_at, step_of
from petra.server.service import TheService
from petra.server.shapes import Page


@get(
    "/executions/{execution:str}/ctx/{key:str}/history",
    opt=needs(May.SEE) | answers(Page[CtxWrite]),
)
async def history(
    service: TheService,
    execution: FromPath[str],
    key: FromPath[str],
    limit: Limit = 100,
    cursor: Number = 0,
) -> Page[dict[str, Any]]:
    """List the writes to a key of ctx, oldest first, with what it was after each."""
    most = page_size(limit)
    story = await service.stories.of(execution)
    seqs = story.written.get(key, [])
    if not seqs:
        raise ProblemError("not-found", f"nothing has written ctx.{key[:100]}")
    start = sum(seq <= cursor for seq in seqs)
    chosen = seqs[start : start + most]
    records = await records_at(service, execution, seqs[: start + len(chosen)])
    first = await records_at(service, execution, [1])
    values = Writes(key, first[0].event)
    items = []
    for record in records:
        values.take(record.event)
        n = record.seq - 1
        if record.seq in chosen:
            items.append(
                {
                    "seq": record.seq, "at": moment(record.at), "type": list(story.types)[story.type[n]],
                    "step": step_of(story, n), "run": story.run[n] or None,
                    "actor": getattr(record.event, "actor", None) or None, "value": values.value,
                }
            )  # fmt: skip
    more = start + most < len(seqs)
    return Page(items=items, next=str(chosen[-1]) if more else None)


def router(base: str) -> Router:
    """Return the routes of writes."""
    return Router(path=base, route_handlers=[history], tags=["stories"])
