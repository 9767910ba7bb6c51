"""Operations on many executions: begun, looked at, stopped."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from litestar import Response, Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from petra.desk.principal import May
from petra.server.answers.overview import OperationItem
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.operation_rows import WantedOperation
from petra.server.paging import MOST, Cursor, paged
from petra.server.parameters import Limit, made_at
from petra.server.problems import ProblemError
from petra.server.repeats import Key, command_id
from petra.server.resources.filters import filter_of
from petra.server.service import Here, TheService
from petra.server.shapes import Page
from petra.store.rows import ExecutionFilter

IDS_MAX: Final = 10_000


class BulkFilter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which executions, in the names of the parameters of their list."""

    q: str = ""
    status: str | list[str] | None = None
    playbook: str | None = None
    version: str | None = None
    label: str | list[str] | None = None
    business_key: str | None = None
    parent: str | None = None
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    ended_before: datetime | None = None


class NewOperation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be done, and to which executions: those that a filter finds, or those that are named."""

    act: Literal["cancel", "pause", "resume", "rerun"]
    filter: BulkFilter | None = None
    ids: list[str] | None = None
    reason: str = ""
    step: str = msgspec.field(name="from", default="")
    """Of a rerun: from which step; where none is said, from the one that failed."""


def _many(values: str | list[str] | None) -> list[str] | None:
    return [values] if isinstance(values, str) else values


async def _wanted(service: TheService, here: Here, data: NewOperation) -> ExecutionFilter | None:
    if (data.filter is None) == (data.ids is None):
        raise ProblemError("bad-request", "give exactly one of 'filter' and 'ids'")
    if data.filter is None:
        if len(data.ids or ()) > IDS_MAX:
            raise ProblemError("invalid-input", f"at most {IDS_MAX:,} ids at once")
        return None
    which = data.filter
    return await filter_of(
        service, here, status=_many(which.status), playbook=which.playbook, version=which.version, parent=which.parent,
        text=which.q or which.text, label=_many(which.label), business_key=which.business_key,
        since=which.since, until=which.until, ended_before=which.ended_before,
    )  # fmt: skip


@post("/operations", status_code=202, opt=needs(May.STEER, May.START) | answers(OperationItem, 200))
async def begin(
    service: TheService,
    here: Here,
    data: JSONBody[NewOperation],
    key: Key = None,
    *,
    dry_run: FromQuery[bool] = False,
) -> Response[dict[str, Any]]:
    """Act on all executions that a filter finds, or that are named; with ``dry_run`` only say how many those are.

    It goes on after a restart; ``GET`` tells how far it has come, and what failed.
    """
    wanted = await _wanted(service, here, data)
    ids = list(dict.fromkeys(data.ids or ()))
    if dry_run:
        total = len(ids) if wanted is None else await service.operations.total(here, wanted)
        shown: dict[str, Any] = {"id": None, "act": data.act, "status": "dry_run", "total": total, "done": 0, "failed": 0, "failures": []}  # fmt: skip
        return Response(shown, status_code=200)
    operation = WantedOperation(
        act=data.act, reason=data.reason, wanted=wanted, ids=tuple(ids), step=data.step,
        key=command_id(here, key, "operation"),
    )  # fmt: skip
    begun = await service.operations.begin(here, operation)
    headers = made_at(f"{service.base}/operations/{begun.id}", here.namespace)
    return Response(begun.shown(), status_code=202, headers=headers)


@get("/operations", opt=needs(May.SEE) | answers(Page[OperationItem]))
async def listed(
    service: TheService, here: Here, limit: Limit = MOST, cursor: Cursor = None
) -> dict[str, Any]:
    """List operations, the latest first; those that are over are kept for 30 days."""
    known = await service.operations.all(here)
    page, behind = paged(known, lambda operation: (-operation.created, operation.id), cursor, limit)
    return {"items": [operation.shown() for operation in page], "next": behind}


@get("/operations/{operation:str}", opt=needs(May.SEE) | answers(OperationItem))
async def one(service: TheService, here: Here, operation: FromPath[str]) -> dict[str, Any]:
    """Say how far an operation has come, and what failed, by execution."""
    known = await service.operations.get(here, operation)
    if known is None:
        raise ProblemError("not-found", f"there is no operation '{operation[:100]}'")
    return known.shown()


@post(
    "/operations/{operation:str}/stop",
    status_code=200,
    opt=needs(May.STEER) | answers(OperationItem),
)
async def stop(service: TheService, here: Here, operation: FromPath[str]) -> dict[str, Any]:
    """Stop an operation; what it did stays done."""
    stopped = await service.operations.stop(here, operation)
    if stopped is None:
        raise ProblemError("not-found", f"there is no operation '{operation[:100]}'")
    return stopped.shown()


def router(base: str) -> Router:
    """Return the routes of operations."""
    return Router(path=base, route_handlers=[begin, listed, one, stop], tags=["operations"])
