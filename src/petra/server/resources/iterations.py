"""The iterations of a loop: in pages, and all of them as columns of bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from litestar import Router, get
from litestar.params import FromPath, QueryParameter

from petra.desk.principal import May
from petra.kernel import events as e
from petra.server.answers.stories import IterationItem, IterationsMap
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.parameters import Limit, MaybeNumber, NumberInPath, page_size
from petra.server.problems import ProblemError
from petra.server.resources.stories import preview, records_at, run_of
from petra.server.service import TheService
from petra.server.shapes import Page
from petra.story.loops import STATES, IterationHistory, LoopHistory

TurnWord = Literal["to_go", "in_flight", "ok", "failed", "cancelled"]
TurnsIn = Annotated[TurnWord | None, QueryParameter(name="state", required=False)]
From = Annotated[int, QueryParameter(name="from", required=False)]


async def _loop(service: TheService, execution: str, number: int) -> LoopHistory:
    _, run = await run_of(service, execution, number)
    if run.loop is None:
        raise ProblemError("not-found", f"run {number} of '{run.step}' is no loop")
    return run.loop


@get(
    "/executions/{execution:str}/runs/{n:int}/iterations",
    opt=needs(May.SEE) | answers(Page[IterationItem]),
)
async def iterations(
    service: TheService,
    execution: FromPath[str],
    n: NumberInPath,
    wanted: TurnsIn = None,
    first: From = 0,
    limit: Limit = 100,
    cursor: MaybeNumber = None,
) -> Page[dict[str, Any]]:
    """List the iterations of a loop in the order of their indices, from one of them on."""
    loop, most = await _loop(service, execution, n), page_size(limit)
    begin = max(0, cursor if cursor is not None else first)

    def chosen() -> list[tuple[int, tuple[int, ...], IterationHistory]]:
        fit = (
            (number, path, turn)
            for number, (path, turn) in enumerate(loop.all())
            if number >= begin and wanted in (None, STATES[turn.state])
        )
        return [iteration for iteration, _ in zip(fit, range(most + 1), strict=False)]

    turns = await service.long_work.aside(chosen)
    shown = turns[:most]
    results = await _results(service, execution, {turn.last for _, _, turn in shown if turn.last})
    items = [
        {
            "n": number, "path": path, "state": STATES[turn.state], "ms": round(turn.ms, 3),
            "first": turn.first or None, "last": turn.last or None, "attempts": turn.tries,
            "error": turn.error or None, "result": results.get((turn.last, path)),
        }
        for number, path, turn in shown
    ]  # fmt: skip
    return Page(items=items, next=str(turns[most][0]) if len(turns) > most else None)


async def _results(
    service: TheService, execution: str, seqs: Iterable[int]
) -> dict[tuple[int, tuple[int, ...]], str]:
    """Return previews of the results of iterations, by the record in which they ended."""
    return {
        (record.seq, iterated.path): preview(iterated.result)
        for record in await records_at(service, execution, sorted(seqs))
        if isinstance(record.event, e.IterationsEnded)
        for iterated in record.event.ended
        if iterated.ok
    }


@get(
    "/executions/{execution:str}/runs/{n:int}/iterations/map",
    opt=needs(May.SEE) | answers(IterationsMap),
)
async def iterations_map(
    service: TheService, execution: FromPath[str], n: NumberInPath
) -> dict[str, Any]:
    """Return all iterations of a loop as columns, little-endian in base64.

    ``state`` is u8 (0 to go, 1 in flight, 2 ok, 3 failed, 4 cancelled), ``ms`` u16 (2048·log₂(1+ms)), ``first`` and ``last`` u32.
    """
    loop = await _loop(service, execution, n)
    return await service.long_work.aside(loop.map)


def router(base: str) -> Router:
    """Return the routes of iterations."""
    return Router(path=base, route_handlers=[iterations, iterations_map], tags=["stories"])
