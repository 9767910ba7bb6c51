"""Executions: start them, list them, look at one as it is or as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from litestar import Response, Router, get
from litestar.params import FromPath, FromQuery, HeaderParameter, QueryParameter

from petra.desk.principal import May, Principal
from petra.desk.showing import shown
from petra.desk.whole_values import has_references, whole
from petra.engine.news import OVER
from petra.objects import is_reference
from petra.server.conditions import entity_tag
from petra.server.json_answers import JsonAnswer
from petra.server.needs import needs
from petra.server.parameters import LOOKED_AT_MAX, Limit, page_size
from petra.server.problems import ProblemError
from petra.server.resources.filters import Which
from petra.server.service import Here, TheService, Who
from petra.server.shapes import Execution, ExecutionItem, Page, execution_item, row_data
from petra.store.named import DIGEST, version_of
from petra.store.rows import PlaybookRow, StoredExecution

Seen = Annotated[str | None, HeaderParameter(name="If-None-Match", required=False)]
Prefer = Annotated[str | None, HeaderParameter(name="Prefer", required=False)]
SORTS = ("started", "-started")
Sort = Annotated[str, QueryParameter(schema_extra={"enum": list(SORTS)})]


class Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A playbook, as text."""

    text: str


async def applied_playbook(
    service: TheService, who: Principal, path: str, version: str | None
) -> PlaybookRow:
    """Return what was applied under a path, or under a digest."""
    store = service.engine.store
    row = await version_of(store, path, version, who.namespace)
    if row is None and version is None and DIGEST.fullmatch(path):
        row = await store.playbook(path, who.namespace)
    if row is None:
        words = f" in version {version}" if version else ""
        raise ProblemError("not-found", f"no playbook '{path[:200]}' was applied{words}")
    return row


async def definition_text(
    service: TheService, who: Principal, playbook: str | Text, version: str | None
) -> str:
    """Return a definition as text: one that was sent, once it is known to be good, or one that was applied.

    Raises:
        InvalidPlaybookError: it has errors.
        ProblemError: there is none of that path.
    """
    if isinstance(playbook, Text):
        await service.texts.read(playbook.text, "the playbook")
        return playbook.text
    return (await applied_playbook(service, who, playbook, version)).source.decode()


async def shown_execution(service: TheService, who: Who, execution: str) -> Execution:
    """Return an execution as it is shown."""
    result, stored, doing = await shown(service.desk, who, execution)
    row = row_data(stored.row, doing) | {"status": result.status, "reason": result.reason}
    return Execution(
        **row, version=result.version, head=stored.head.hex(), output=result.output, ctx=result.ctx, counts=result.counts,
        failures=result.failures, error=result.error, waiting_on=result.waiting_on,
        work_items=result.work_items, not_compensated=result.not_compensated,
    )  # fmt: skip


def answer_of(service: TheService, execution: Execution, status: int) -> Response[Any]:
    """Answer with an execution, and where it is."""
    headers = {
        "Location": f"{service.base}/executions/{execution.id}",
        **entity_tag(execution.version),
    }
    return JsonAnswer(execution, status_code=status, headers=headers)


@get("/executions", opt=needs(May.SEE))
async def listed(
    service: TheService,
    here: Here,
    which: Which,
    sort: Sort = "-started",
    limit: Limit = 100,
    cursor: FromQuery[str | None] = None,
) -> Page[ExecutionItem]:
    """List executions, latest start first, or with ``sort=started`` the first one first.

    A page may have fewer than ``limit``, and none: what few have is looked for page by page, until ``next`` is null.
    """
    if sort not in SORTS:
        raise ProblemError("bad-request", f"'sort={sort[:40]}': one of {', '.join(SORTS)}")
    ordered = msgspec.structs.replace(which, oldest_first=sort == "started")
    page = await service.desk.executions(
        here, ordered, cursor=cursor, limit=page_size(limit), look_at=LOOKED_AT_MAX
    )
    return Page(items=await execution_items(service, page.rows), next=page.cursor)


async def execution_items(
    service: TheService, rows: Sequence[StoredExecution]
) -> list[ExecutionItem]:
    """Return executions as lists show them, with what each does now."""
    doings = await service.doings.of(rows)
    return [execution_item(row, doing) for row, doing in zip(rows, doings, strict=True)]


@get("/executions/{execution:str}/result", opt=needs(May.SEE))
async def result(service: TheService, who: Who, execution: FromPath[str]) -> Any:
    """Return the output of an execution that has ended, whole."""
    done = await service.desk.get(who, execution)
    if done.status not in OVER:
        raise ProblemError("not-ended", f"it is {done.status}")
    engine = service.engine
    if engine.objects is not None and has_references(done):
        entry = await engine.view(execution)
        done = await whole(done, entry.state, engine.store, engine.objects)
    if is_reference(done.output):
        raise ProblemError("unreadable", "the output is too large to be sent whole")
    return Response(done.output, media_type="application/json")


def router(base: str) -> Router:
    """Return the routes of one execution; that of all of them is also where one is started."""
    handlers = [result]
    return Router(path=base, route_handlers=handlers, tags=["executions"])
