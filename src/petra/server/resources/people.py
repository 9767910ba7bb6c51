"""Work items: what people are asked to do, and what they do about it (S14)."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import msgspec
from litestar import Response, Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from petra.desk.letting_in import concerns
from petra.desk.principal import May, Principal
from petra.desk.trying import DryRun, tried
from petra.kernel import commands as c
from petra.server.conditions import entity_tag
from petra.server.needs import needs
from petra.server.openapi import tries
from petra.server.parameters import Limit, page_size, wait_of
from petra.server.problems import ProblemError
from petra.server.resources.acts import Trial
from petra.server.resources.executions import Key, Prefer, command_id, shown_execution
from petra.server.service import Here, TheService, Who
from petra.server.shapes import Execution, Page, WorkItem, work_item
from petra.server.waiting import status_of, wait_for_rest
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
    data: JSONBody[Any] = None
    to: str | None = None
    reason: str = ""
    text: str = ""
    on_behalf_of: str | None = None


@get("/work-items", opt=needs(May.SEE, May.DECIDE))
async def listed(
    service: TheService,
    here: Here,
    box: FromQuery[Literal["mine", "open", "done", "all"]] = "open",
    execution: FromQuery[str | None] = None,
    step: FromQuery[str | None] = None,
    user: FromQuery[str | None] = None,
    role: FromQuery[list[str] | None] = None,
    limit: Limit = 100,
    cursor: FromQuery[str | None] = None,
) -> Page[WorkItem]:
    """List work items by priority, then age: mine, those that are open, those that are done, or all.

    With ``user`` those that one may act on, in the ``role``s that are named; of somebody else, for who sees all of them.
    """
    states = {"mine": OPEN, "open": OPEN, "done": DONE, "all": ()}[box]
    if box == "mine":
        user, role = here.name, list(here.roles)
    wanted = WorkItemFilter(
        **_whose(here, user, role), states=states, execution=execution, step=step,
    )  # fmt: skip
    page = await service.desk.work_items(here, wanted, cursor=cursor, limit=page_size(limit))
    return Page(items=[work_item(row) for row in page.rows], next=page.cursor)


@get("/work-items/counts", opt=needs(May.SEE, May.DECIDE))
async def counts(
    service: TheService,
    here: Here,
    user: FromQuery[str | None] = None,
    role: FromQuery[list[str] | None] = None,
) -> dict[str, int]:
    """Count work items by state: of all, or of those that a ``user`` may act on."""
    wanted = WorkItemFilter(**_whose(here, user, role))
    return await service.desk.count_work_items(here, wanted)


class _Whose(TypedDict):
    user: str | None
    roles: tuple[str, ...]


def _whose(here: Principal, user: str | None, role: list[str] | None) -> _Whose:
    """Return for whom work items are looked for; what is offered to others is only for who sees all."""
    if user is None and not role:
        return {"user": None, "roles": ()}
    if user != here.name or not set(role or ()) <= set(here.roles):
        here.must(May.SEE)
    return {"user": user, "roles": tuple(role or ())}


@get("/work-items/{execution:str}/{item:str}", opt=needs(May.SEE, May.DECIDE))
async def one(
    service: TheService, who: Who, execution: FromPath[str], item: FromPath[str]
) -> Response[WorkItem]:
    """Show a work item, with its form and what was proposed."""
    row = await service.engine.store.work_item(execution, item)
    if row is None or not concerns(who, row):
        raise ProblemError("not-found", f"there is no work item '{item}' in '{execution}'")
    stored = await service.engine.store.execution(execution)
    version = stored.version if stored is not None else 0
    return Response(work_item(row), headers=entity_tag(version))


@post(
    "/work-items/{execution:str}/{item:str}/{act:str}",
    status_code=200,
    opt=needs(May.DECIDE) | tries(Execution, DryRun, 202),
)
async def act(
    service: TheService,
    who: Who,
    execution: FromPath[str],
    item: FromPath[str],
    act: FromPath[ItemAct],
    data: JSONBody[ActBody | None] = None,
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Act on a work item under your own name. With ``Prefer: wait=N`` 202 says that its execution goes on still."""
    body, wait = data or ActBody(), wait_of(prefer)
    said = (body.text or body.reason) if act == "comment" else body.data
    command = c.Act(
        now=0.0, item=item, act=act, action=body.action, data=said, to=body.to, reason=body.reason,
        on_behalf_of=body.on_behalf_of,
    )  # fmt: skip
    if dry_run:
        return Response(
            await tried(service.engine, who, execution, command, service.long_work.aside)
        )
    answered = await service.desk.ask(
        who, execution, command, request=command_id(who, key, f"{act} {execution}/{item}")
    )
    if answered.refused:
        raise ProblemError("refused", answered.refused)
    in_time = await wait_for_rest(service, who, execution, wait)
    shown = await shown_execution(service, who, execution)
    return Response(shown, status_code=status_of(200, in_time=in_time))


def router(base: str) -> Router:
    """Return the routes of work items."""
    return Router(path=base, route_handlers=[listed, counts, one, act], tags=["work items"])
