"""Definitions: what executions run, under its digest, for ever the same; its graph; the versions of a path, their heat, how it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import median
from typing import Any, Literal

import msgspec
from litestar import Response, Router, get
from litestar.params import FromPath, FromQuery

from petra.desk.principal import May
from petra.net.compile import compile as compiled_net
from petra.net.graph import net_graph, steps_graph
from petra.playbook import InvalidPlaybookError, read
from petra.server.answers.authoring import Graph, Heat, PlaybookStanding, PlaybookWithText
from petra.server.benches import input_of
from petra.server.business_keys import LIVE
from petra.server.needs import needs
from petra.server.openapi import answers
from petra.server.parameters import Limit, page_size
from petra.server.problems import ProblemError
from petra.server.service import Here, TheService
from petra.server.shapes import Page, PlaybookItem, playbook_item
from petra.store.named import named
from petra.store.rows import ExecutionFilter, PlaybookRow
from petra.story import RunHistory, Story

FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}
LAST_MAX = 500
LAST_SHOWN = 20
"""So many outcomes stand in a row of a list."""
LONG = 20_000
"""Logs with more records have no part in the heat."""
SHORT = 64 * 1024
"""Playbooks of so many bytes are drawn in a few hundredths of a second."""
Lens = Literal["step", "net"]


async def _row(service: TheService, here: Here, digest: str) -> PlaybookRow:
    row = await service.engine.store.playbook(digest, here.namespace)
    if row is None:
        raise ProblemError("not-found", f"there is no definition {digest[:80]}")
    return row


@get("/definitions/{digest:str}", opt=needs(May.SEE) | answers(PlaybookWithText))
async def definition(
    service: TheService, here: Here, digest: FromPath[str]
) -> Response[dict[str, Any]]:
    """Return a playbook by its digest: what an execution runs; it never changes."""
    row = await _row(service, here, digest)
    return Response(await with_text(service, row), headers=FOR_EVER)


async def with_text(service: TheService, row: PlaybookRow) -> dict[str, Any]:
    """Return a playbook with the text that is run, and with what it is started with."""
    shown: dict[str, Any] = msgspec.to_builtins(playbook_item(row))
    try:
        taken = input_of(await service.texts.stored(row))
    except InvalidPlaybookError:  # an older one that this version cannot read is shown as it is
        taken = {"workload": {}, "input_schema": None}
    return {**shown, "text": row.source.decode(), **taken}


@get("/definitions/{digest:str}/graph", opt=needs(May.SEE) | answers(Graph))
async def graph(
    service: TheService, here: Here, digest: FromPath[str], lens: FromQuery[Lens] = "step"
) -> Response[dict[str, Any]]:
    """Return a playbook as a graph with places on a page: its steps, or with ``lens=net`` the places and transitions of its net."""
    row = await _row(service, here, digest)
    work, text = (_steps if lens == "step" else _net), row.source.decode()
    if len(row.source) > SHORT:
        drawn = await service.long_work.do(work, text)
    else:  # a thread begins at once; a process, when it is the first work of its kind, after a second
        drawn = await service.long_work.aside(lambda: work(text))
    return Response(drawn, headers=FOR_EVER)


def _steps(text: str) -> dict[str, Any]:
    return steps_graph(read(text, checks=False))


def _net(text: str) -> dict[str, Any]:
    return net_graph(compiled_net(read(text, checks=False).checked()))


# The versions of a path


@get("/playbooks/{path:str}/versions", opt=needs(May.SEE))
async def versions(
    service: TheService,
    here: Here,
    path: FromPath[str],
    limit: Limit = 100,
    cursor: FromQuery[str | None] = None,
) -> Page[PlaybookItem]:
    """List what was applied under a path, the current one first."""
    return await versions_of(service, here, path, limit, cursor)


async def versions_of(
    service: TheService, here: Here, path: str, limit: int, cursor: str | None
) -> Page[PlaybookItem]:
    """Return what was applied under a path, behind the version whose digest is the cursor."""
    most = page_size(limit)
    rows, begin, read = list[PlaybookRow](), -1, most + 1
    while True:
        rows = await service.engine.store.playbook_versions(
            path, limit=read, namespace=here.namespace
        )
        if not rows:
            raise ProblemError("not-found", f"no playbook '{path[:100]}' was applied")
        digests = [row.digest for row in rows]
        begin = 0 if cursor is None else digests.index(cursor) + 1 if cursor in digests else -1
        if len(rows) < read or 0 <= begin <= len(rows) - most - 1:
            break
        read *= 2
    if begin < 0:
        raise ProblemError("invalid-input", f"'cursor={cursor}' is no 'next' of this list"[:200])
    page = rows[begin : begin + most]
    more = page[-1].digest if page and len(rows) > begin + most else None
    return Page(items=[playbook_item(row) for row in page], next=more)


async def _executions_of(service: TheService, here: Here, row: PlaybookRow) -> ExecutionFilter:
    """Return which executions are those of a path: another one may have the same name."""
    found = await named(service.engine.store, row.path, None, here.namespace)
    return ExecutionFilter(playbook=found.name, digests=found.digests)


@get("/playbooks/{path:str}/heat", opt=needs(May.SEE) | answers(Heat))
async def heat(
    service: TheService, here: Here, path: FromPath[str], last: Limit = 100
) -> dict[str, Any]:
    """Sum up the last executions of a playbook: how long its steps take, how often they fail, how often arcs are taken."""
    return await heat_of(service, here, path, last)


async def heat_of(service: TheService, here: Here, path: str, last: int) -> dict[str, Any]:
    """Sum up the last executions of a playbook."""
    if not 1 <= last <= LAST_MAX:
        raise ProblemError("bad-request", f"'last' is {last}; it must be from 1 to {LAST_MAX}")
    row = await service.engine.store.find_playbook(path, None, here.namespace)
    if row is None:
        raise ProblemError("not-found", f"no playbook '{path[:100]}' was applied")
    wanted = await _executions_of(service, here, row)
    page = await service.desk.executions(here, wanted, limit=last)
    short = [entry for entry in page.rows if entry.version <= LONG]
    stories = [await service.stories.of(entry.row.id) for entry in short]
    return {
        "path": row.path,
        "playbook": row.name,
        "executions": len(stories),
        "statuses": dict(Counter(entry.row.status for entry in page.rows)),
        "last": [{"id": entry.row.id, "status": entry.row.status} for entry in page.rows[:20]],
        **await service.long_work.aside(lambda: summed(stories)),
    }


def summed(stories: Iterable[Story]) -> dict[str, Any]:
    """Return what stories have in common: times and failures by step, numbers by arc."""
    runs: dict[str, list[RunHistory]] = {}
    arcs: Counter[tuple[str, int]] = Counter()
    for story in stories:
        arcs.update(story.taken)
        for run in story.runs:
            runs.setdefault(run.step, []).append(run)
    return {
        "steps": {step: _step(own) for step, own in runs.items()},
        "arcs": [
            {"from": step, "index": index, "count": count}
            for (step, index), count in sorted(arcs.items())
        ],
    }


def _step(runs: list[RunHistory]) -> dict[str, Any]:
    times = [(run.ended - run.started) * 1000 for run in runs if run.ended is not None]
    failed = sum(run.state == "failed" for run in runs)
    return {
        "runs": len(runs),
        "failed": failed,
        "failure_rate": round(failed / len(runs), 4),
        "median_ms": round(median(times), 3) if times else None,
        "retries": sum(run.retries for run in runs),
    }


@get("/playbooks/{path:str}/standing", opt=needs(May.SEE) | answers(PlaybookStanding))
async def standing(service: TheService, here: Here, path: FromPath[str]) -> dict[str, Any]:
    """Say how a playbook stands: whether its net is sound, how many executions of it are open, what came of the last ones."""
    return await standing_of(service, here, path)


async def standing_of(service: TheService, here: Here, path: str) -> dict[str, Any]:
    """Say how a playbook stands; no log is read for that."""
    row = await service.engine.store.find_playbook(path, None, here.namespace)
    if row is None:
        raise ProblemError("not-found", f"no playbook '{path[:100]}' was applied")
    wanted = await _executions_of(service, here, row)
    page = await service.desk.executions(here, wanted, limit=LAST_SHOWN)
    within = msgspec.structs.replace(wanted, namespace=here.namespace)
    counted = await service.engine.store.count_executions(within, "status")
    return {
        "path": row.path,
        "digest": row.digest,
        "proof": await _proof(service, row),
        "open": sum(count.count for count in counted.rows if count.key in LIVE),
        "last": [{"id": entry.row.id, "status": entry.row.status} for entry in page.rows],
    }


async def _proof(service: TheService, row: PlaybookRow) -> dict[str, Any]:
    try:
        playbook = await service.texts.stored(row)
    except InvalidPlaybookError:
        return {"verdict": "undecided", "gated": False, "words": "this version cannot read it"}
    proof = await service.engine.proofs.proof(service.engine.cache.compiled(playbook))
    words = proof.note or next((problem.message for problem in proof.problems), "")
    return {"verdict": proof.verdict, "gated": proof.gated, "words": words}


def router(base: str) -> Router:
    """Return the routes of definitions."""
    handlers = [definition, graph, versions, heat, standing]
    return Router(path=base, route_handlers=handlers, tags=["playbooks"])
