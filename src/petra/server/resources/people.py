"""Work items: what people are asked to do, and what they do about it (S14)."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import msgspec
from litestar import Response, Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from petra.desk.items import NoItemError, meant
from petra.desk.letting_in import concerns
from petra.desk.principal import May, Principal
from petra.desk.trying import DryRun, tried
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.server.conditions import IfMatch, entity_tag, version_seen
from petra.server.needs import needs
from petra.server.openapi import tries
from petra.server.parameters import Limit, page_size, wait_of
from petra.server.problems import ProblemError
from petra.server.repeats import Key, asked_under
from petra.server.resources.acts import Trial, refusal
from petra.server.resources.executions import Prefer, shown_execution
from petra.server.service import AnyHttpRequest, Here, Service, TheService, Who
from petra.server.shapes import Execution, Page, WorkItem, work_item
from petra.server.waiting import status_of, wait_for_rest
from petra.store.due import Due, due_of
from petra.store.named import named
from petra.store.rows import ItemSort, WorkItemFilter

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
    playbook: FromQuery[str | None] = None,
    due: FromQuery[str | None] = None,
    q: FromQuery[str] = "",
    sort: FromQuery[ItemSort] = "priority",
    limit: Limit = 100,
    cursor: FromQuery[str | None] = None,
) -> Page[WorkItem]:
    """List work items: mine, those that are open, those that are done, or all; by ``priority``, then age.

    With ``user`` those that one may act on, in the ``role``s that are named; of somebody else, for whoever sees all of them.
    ``playbook`` is a path or a name; ``due`` is ``overdue``, ``day`` or ``week`` (within one from now, with what is overdue),
    ``none``, or the time before which they are due; ``q`` is looked for, in any case, in title, step and execution. Sorted by ``due``, what
    has no due date comes last; by ``age`` the oldest comes first, by ``newest`` last.
    """
    states = {"mine": OPEN, "open": OPEN, "done": DONE, "all": ()}[box]
    if box == "mine":
        user, role = here.name, list(here.roles)
    wanted = WorkItemFilter(
        **_whose(here, user, role), **await _which(service, here, playbook, due, q), states=states,
        execution=execution, step=step, sort=sort,
    )  # fmt: skip
    page = await service.desk.work_items(here, wanted, cursor=cursor, limit=page_size(limit))
    return Page(items=[work_item(row) for row in page.rows], next=page.cursor)


@get("/work-items/counts", opt=needs(May.SEE, May.DECIDE))
async def counts(
    service: TheService,
    here: Here,
    user: FromQuery[str | None] = None,
    role: FromQuery[list[str] | None] = None,
    playbook: FromQuery[str | None] = None,
    due: FromQuery[str | None] = None,
    q: FromQuery[str] = "",
) -> dict[str, int]:
    """Count work items by state: of all, or of those that a ``user`` may act on; with the filter of the list."""
    which = await _which(service, here, playbook, due, q)
    wanted = WorkItemFilter(**_whose(here, user, role), **which)
    return await service.desk.count_work_items(here, wanted)


class _Which(Due):
    playbook: str | None
    digests: tuple[str, ...]
    text: str


async def _which(
    service: Service, here: Principal, playbook: str | None, due: str | None, q: str
) -> _Which:
    """Return which work items an address means, whoever they are for."""
    engine = service.engine
    which = _Which(**due_of(due, engine.clock.now()), playbook=None, digests=(), text=q.strip())
    if playbook is not None:
        which["playbook"], which["digests"] = await named(
            engine.store, playbook, namespace=here.namespace
        )
    return which


class _Whose(TypedDict):
    user: str | None
    roles: tuple[str, ...]


def _whose(here: Principal, user: str | None, role: list[str] | None) -> _Whose:
    """Return for whom work items are looked for; what is offered to others is only for whoever sees all."""
    if user is None and not role:
        return {"user": None, "roles": ()}
    if user != here.name or not set(role or ()) <= set(here.roles):
        here.must(May.SEE)
    return {"user": user, "roles": tuple(role or ())}


@get("/work-items/{execution:str}/{item:str}", opt=needs(May.SEE, May.DECIDE))
async def one(
    service: TheService, who: Who, execution: FromPath[str], item: FromPath[str]
) -> Response[WorkItem]:
    """Show a work item, with its form and what was proposed: the one with that id, or your own of that step."""
    store = service.engine.store
    row = await store.work_item(execution, await _meant(service, who, execution, item))
    if row is None or not concerns(who, row):
        raise _unknown(execution, item)
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
    request: AnyHttpRequest,
    execution: FromPath[str],
    item: FromPath[str],
    act: FromPath[ItemAct],
    data: JSONBody[ActBody | None] = None,
    if_match: IfMatch = None,
    key: Key = None,
    prefer: Prefer = None,
    *,
    dry_run: Trial = False,
) -> Response[Execution | DryRun]:
    """Act under your own name on the work item with that id, or on your own of that step.

    With ``If-Match`` only if nothing happened in its execution since; with ``Prefer: wait=N`` 202 says that it goes on still.
    """
    body, wait = data or ActBody(), wait_of(prefer)
    asked = await asked_under(service, request, who, key, f"{act} {execution}/{item}")
    chosen = item if asked.known else await _meant(service, who, execution, item)
    said = (body.text or body.reason) if act == "comment" else body.data
    command = c.Act(
        now=0.0, item=chosen, act=act, action=body.action, data=said, to=body.to, reason=body.reason,
        on_behalf_of=body.on_behalf_of, at=version_seen(if_match),
    )  # fmt: skip
    if dry_run:
        return Response(
            await tried(service.engine, who, execution, command, service.long_work.aside)
        )
    answered = asked.known or await service.desk.ask(
        who, execution, command, request=asked.command, sent=asked.sent
    )
    if answered.refused:
        raise refusal(answered.refused, command.at, answered.version)
    in_time = await wait_for_rest(service, who, execution, wait)
    shown = await shown_execution(service, who, execution)
    headers = entity_tag(shown.version)
    return Response(shown, status_code=status_of(200, in_time=in_time), headers=headers)


async def _meant(service: TheService, who: Who, execution: str, name: str) -> str:
    """Return the id of the work item that somebody means.

    Raises:
        ProblemError: there is none, or there are several.
    """
    if await service.engine.store.work_item(execution, name) is not None:
        return name
    if May.DECIDE not in who.may:
        raise _unknown(execution, name)
    try:
        return await meant(service.engine, who, execution, name)
    except NoItemError:
        raise _unknown(execution, name) from None
    except UsageError as error:
        if May.SEE not in who.may:  # it names those of others
            raise _unknown(execution, name) from None
        raise ProblemError("refused", str(error)) from None


def _unknown(execution: str, name: str) -> ProblemError:
    return ProblemError("not-found", f"there is no work item '{name}' in '{execution}'")


def router(base: str) -> Router:
    """Return the routes of work items."""
    return Router(path=base, route_handlers=[listed, counts, one, act], tags=["work items"])
