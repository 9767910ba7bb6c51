"""One execution with what is around it: what it was given and came to, in short, and its family."""

from __future__ import annotations

from typing import Final

from litestar import Response, Router, get
from litestar.params import FromPath

from petra.desk import Principal
from petra.desk.principal import May
from petra.engine.codec import FORKED_FROM
from petra.server.conditions import entity_tag
from petra.server.json_answers import JsonAnswer
from petra.server.needs import needs
from petra.server.parameters import wait_of
from petra.server.resources.executions import Prefer, Seen, shown_execution
from petra.server.resources.stories import preview
from petra.server.service import TheService, Who
from petra.server.shapes import Execution, Shape
from petra.server.waiting import seen_of, wait_for_rest
from petra.store.rows import ExecutionFilter, ExecutionRow

RELATIVES_MAX: Final = 20


class Previews(Shape, frozen=True):
    """What an execution was given, and what it came to, as JSON that is cut after 200 bytes; what has not come is null."""

    workload: str
    output: str | None


class Relative(Shape, frozen=True):
    """An execution of the same family."""

    id: str
    playbook: str
    status: str


class WholeExecution(Execution, frozen=True):
    """An execution, as far as it has come, and what is around it."""

    previews: Previews
    forked_from: str | None
    """The execution whose past it has, if it is a branch."""
    forks: list[Relative]
    """The latest branches of it, 20 at most; ``/lineage`` has more."""
    children: list[Relative]
    """The latest executions that it started, 20 at most; ``/children`` has all."""


@get("/executions/{execution:str}", opt=needs(May.SEE))
async def one(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    prefer: Prefer = None,
    seen: Seen = None,
) -> Response[WholeExecution]:
    """Show an execution; with ``Prefer: wait=N`` once it ends or rests, and has moved on from the ETag in ``If-None-Match``."""
    await wait_for_rest(service, who, execution, wait_of(prefer), seen_of(seen))
    shown = await shown_execution(service, who, execution)
    entry = await service.engine.view(execution)
    whole = WholeExecution(
        **{name: getattr(shown, name) for name in shown.__struct_fields__},
        previews=Previews(
            workload=preview(entry.state.workload),
            output=preview(shown.output) if shown.ended is not None else None,
        ),
        forked_from=entry.state.origins[-1] if entry.state.origins else None,
        forks=await _relatives(service, who, ExecutionFilter(labels=((FORKED_FROM, execution),))),
        children=await _relatives(service, who, ExecutionFilter(parent=execution)),
    )
    return JsonAnswer(whole, headers=entity_tag(shown.version))


async def _relatives(
    service: TheService, who: Principal, wanted: ExecutionFilter
) -> list[Relative]:
    page = await service.desk.executions(who, wanted, limit=RELATIVES_MAX)
    return [_relative(entry.row) for entry in page.rows]


def _relative(row: ExecutionRow) -> Relative:
    return Relative(id=row.id, playbook=row.playbook, status=row.status)


def router(base: str) -> Router:
    """Return the route of one execution."""
    return Router(path=base, route_handlers=[one], tags=["executions"])
