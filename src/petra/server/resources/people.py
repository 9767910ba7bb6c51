"""Work items: what people are asked to do, and what they do about it (S14)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from litestar import Response, Router, get, post

from petra.desk import Principal
from petra.desk.principal import May
from petra.kernel import commands as c
from petra.server.parameters import bounded, wait_of
from petra.server.problems import ProblemError
from petra.server.resources.executions import Key, Prefer, command_id, found, waited
from petra.server.service import Service
from petra.server.shapes import Execution, Page, WorkItem, work_item
from petra.store.rows import WorkItemFilter

OPEN = ("offered", "allocated", "started", "suspended")
DONE = ("done", "failed", "cancelled", "expired")
ItemAct = Literal[
    "claim", "release", "start", "save", "complete", "fail", "cancel", "delegate", "reassign", "suspend",
    "resume", "comment",
]  # fmt: skip


class ActBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an act on a work item is given."""

    action: str | None = None
    data: Any = None
    to: str | None = None
    reason: str = ""
    on_behalf_of: str | None = None


@get("/work-items")
async def listed(
    service: Service,
    who: Principal,
    box: Literal["mine", "open", "done", "all"] = "open",
    execution: str | None = None,
    step: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Page[WorkItem]:
    """List work items by priority, then age: mine, those that are open, those that are done, or all."""
    states = {"mine": OPEN, "open": OPEN, "done": DONE, "all": ()}[box]
    mine = box == "mine"
    wanted = WorkItemFilter(
        user=who.name if mine else None, roles=who.roles if mine else (), states=states,
        execution=execution, step=step,
    )  # fmt: skip
    page = await service.desk.work_items(who, wanted, cursor=cursor, limit=bounded(limit))
    return Page(items=[work_item(row) for row in page.rows], next=page.cursor)


@get("/work-items/counts")
async def counts(service: Service, who: Principal) -> dict[str, int]:
    """Count work items by state."""
    who.must(May.DECIDE)
    return await service.engine.store.count_work_items(WorkItemFilter())


@get("/work-items/{execution:str}/{item:str}")
async def one(service: Service, who: Principal, execution: str, item: str) -> Response[WorkItem]:
    """Show a work item, with its form and what was proposed."""
    who.must(May.DECIDE)
    row = await service.engine.store.work_item(execution, item)
    if row is None:
        raise ProblemError("not-found", f"there is no work item '{item}' in '{execution}'")
    stored = await service.engine.store.execution(execution)
    version = stored.version if stored is not None else 0
    return Response(work_item(row), headers={"ETag": f'"{version}"'})


@post("/work-items/{execution:str}/{item:str}/{act:str}", status_code=200)
async def act(
    service: Service,
    who: Principal,
    execution: str,
    item: str,
    act: ItemAct,
    data: ActBody | None = None,
    key: Key = None,
    prefer: Prefer = None,
) -> Execution:
    """Act on a work item under your own name."""
    body, wait = data or ActBody(), wait_of(prefer)
    said = body.reason if act == "comment" else body.data
    command = c.Act(
        now=0.0, item=item, act=act, action=body.action, data=said, to=body.to, reason=body.reason,
        on_behalf_of=body.on_behalf_of,
    )  # fmt: skip
    answered = await service.desk.ask(
        who, execution, command, request=command_id(who, key, f"{act} {execution}/{item}")
    )
    if answered.refused:
        raise ProblemError("refused", answered.refused)
    await waited(service, who, execution, wait)
    return await found(service, who, execution)


def router(base: str) -> Router:
    """Return the routes of work items."""
    return Router(path=base, route_handlers=[listed, counts, one, act], tags=["work items"])
