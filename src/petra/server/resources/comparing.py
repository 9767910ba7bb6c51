"""Afterwards: whose past an execution has, how two of them differ, whether a log is as it was written, and exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, Router, get, post
from litestar.params import FromPath, FromQuery, QueryParameter

from petra.desk import records_of
from petra.desk.comparing import compared
from petra.desk.principal import May
from petra.desk.proving import verified
from petra.engine.cache import Entry
from petra.engine.codec import FORKED_FROM, from_row, status_of
from petra.export import FORMS, PROFILES, ExportedLog
from petra.kernel import Record
from petra.kernel import events as e
from petra.server.answers.stories import Diff, Lineage, Verified
from petra.server.needs import needs
from petra.server.openapi import answers, forms
from petra.server.problems import ProblemError
from petra.server.resources.executions import execution_items
from petra.server.service import TheService, Who
from petra.store.rows import ExecutionFilter, StoredExecution

COMPARED_MAX = 100_000
"""Longer logs are not compared: both are in memory for that."""
FORKS_MAX = 100
DEPTH_MAX = 32
FromFormat = Annotated[
    Literal["json", "csv", "xes", "ocel"], QueryParameter(name="format", required=False)
]
_MEDIA = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "xes": "application/xml",
    "ocel": "application/json",
}


@get("/executions/{execution:str}/lineage", opt=needs(May.SEE) | answers(Lineage))
async def lineage(service: TheService, who: Who, execution: FromPath[str]) -> dict[str, Any]:
    """Say whose past an execution has, who has its past, who started it and whom it started."""
    store = service.engine.store
    stored = await store.execution(execution)
    assert stored is not None, "who may not see it was told so"
    first = await store.read(execution, limit=1)
    event = from_row(first[0]).event if first else None
    forked = event if isinstance(event, e.ExecutionForked) else None
    origins = [name for name, _, _ in forked.parts] if forked is not None else []
    if forked is not None and not origins:
        origins = [forked.origin]
    forks = ExecutionFilter(labels=((FORKED_FROM, execution),))
    children = ExecutionFilter(parent=execution)
    return {
        "execution": (await _shown(service, [stored]))[0],
        "origin": None if forked is None else {"id": forked.origin, "at": forked.at, "reason": forked.reason},
        "origins": origins,
        "forks": await _shown(service, (await service.desk.executions(who, forks, limit=FORKS_MAX)).rows),
        "parents": await _parents(service, stored),
        "children": await _shown(service, (await service.desk.executions(who, children, limit=FORKS_MAX)).rows),
    }  # fmt: skip


async def _shown(service: TheService, rows: Sequence[StoredExecution]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = msgspec.to_builtins(await execution_items(service, rows))
    return shown


async def _parents(service: TheService, stored: StoredExecution) -> list[str]:
    """Return who started an execution, and who started them, nearest first."""
    parents: list[str] = []
    above = stored.row.parent
    while above and len(parents) < DEPTH_MAX:
        parents.append(above)
        parent = await service.engine.store.execution(above)
        above = parent.row.parent if parent is not None else ""
    return parents


async def _log(service: TheService, execution: str) -> tuple[Entry, list[Record]]:
    stored = await service.engine.store.execution(execution)
    if stored is not None and stored.version > COMPARED_MAX:
        raise ProblemError("too-large", f"it has more than {COMPARED_MAX:,} records")
    entry = await service.engine.cache.read(execution)
    return entry, (await records_of(service.engine.store, execution))[: entry.state.seq]


@get("/executions/{execution:str}/diff/{other:str}", opt=needs(May.SEE) | answers(Diff))
async def diff(
    service: TheService, who: Who, execution: FromPath[str], other: FromPath[str]
) -> dict[str, Any]:
    """Compare two executions: the first record that differs, the steps taken, ctx, output; and in what sense they are the same."""
    await service.desk.admitted(who, frozenset({May.SEE}), other)
    left, right = await _log(service, execution), await _log(service, other)
    return await service.long_work.aside(lambda: compared(left, right))


@post("/executions/{execution:str}/verify", status_code=200, opt=needs(May.SEE) | answers(Verified))
async def verify(service: TheService, execution: FromPath[str]) -> dict[str, Any]:
    """Prove that a log is as it was written, with the objects it refers to, or name the first record that is not."""
    engine = service.engine
    records, bad = await verified(
        engine.store, engine.cache, engine.objects, execution, service.long_work.aside
    )
    return {
        "execution": execution,
        "ok": bad is None,
        "records": records,
        "bad": None if bad is None else {"seq": bad.seq, "reason": bad.reason},
    }


@get(
    "/executions/{execution:str}/export",
    opt=needs(May.SEE) | forms("text/csv", "application/xml"),
)
async def export(
    service: TheService,
    execution: FromPath[str],
    form: FromFormat = "json",
    profile: FromQuery[Literal["activities", "firings"]] = "activities",
) -> Response[bytes]:
    """Return the log of an execution in the words of other programs: json, csv, xes, ocel."""
    entry, records = await _log(service, execution)
    status, _ = status_of(entry.program, entry.state)
    log = ExportedLog(execution, entry.program.playbook, records, status)
    write = PROFILES[profile] if form == "xes" else FORMS[form]
    text = await service.long_work.aside(lambda: write(log))
    name = f'attachment; filename="{_plain(execution)}.{_ENDINGS[form]}"'
    return Response(text.encode(), media_type=_MEDIA[form], headers={"Content-Disposition": name})


_ENDINGS = {"json": "json", "csv": "csv", "xes": "xes", "ocel": "ocel.json"}


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)


def router(base: str) -> Router:
    """Return the routes of what is done with logs afterwards."""
    return Router(path=base, route_handlers=[lineage, diff, verify, export], tags=["afterwards"])
