"""Watching a server: metrics for Prometheus, pools of workers, who has which shard."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from itertools import islice
from typing import Any

from litestar import Response, Router, get

from petra.desk.principal import EVERYWHERE, May
from petra.engine.cache import Entry
from petra.engine.plight import lacks_kinds, missing
from petra.engine.workers import ALONE
from petra.server.answers.overview import PoolItem, ResourceItem, ShardItem
from petra.server.metrics import MEDIA_TYPE, Metrics
from petra.server.needs import OPEN, Where, needs
from petra.server.openapi import answers
from petra.server.paging import MOST, Cursor, page_data, paged
from petra.server.parameters import Limit, presented_by
from petra.server.service import AnyHttpRequest, Here, TheService
from petra.server.shapes import Page, shape_of

_metrics = Metrics()
HOLDERS_MAX = 20
RUNS_LOOKED = 1_000


@get("/metrics", tags=["server"], security=[], media_type=MEDIA_TYPE, opt=OPEN)
async def metrics(service: TheService, request: AnyHttpRequest) -> Response[str]:
    """Say in numbers what this server does, for Prometheus: to whoever asks on this machine, else with a token that sees all."""
    if not _is_here(request):
        who, _ = await service.identity.who(presented_by(request))
        who.within(EVERYWHERE).must(May.SEE)
    return Response(await _metrics.text(service), media_type=MEDIA_TYPE)


def _is_here(request: AnyHttpRequest) -> bool:
    try:
        return request.client is not None and ip_address(request.client.host).is_loopback
    except ValueError:
        return False


@get("/pools", tags=["workers"], opt=needs(May.SEE) | answers(Page[PoolItem]))
async def pools(
    service: TheService, here: Here, limit: Limit = MOST, cursor: Cursor = None
) -> dict[str, Any]:
    """List the pools for runs of the namespace: their workers, slots, what is done, and what waits."""
    engine = service.engine
    by_name: dict[str, dict[str, Any]] = {}

    def of(pool: str) -> dict[str, Any]:
        name = pool.removesuffix(ALONE)
        empty = {
            "pool": name, "workers": 0, "slots": 0, "busy": 0, "waiting": 0, "trouble": None, "first": None
        }  # fmt: skip
        return by_name.setdefault(name, empty)

    for worker in engine.roster.seen():
        if worker.namespaces is not None and here.namespace not in worker.namespaces:
            continue
        row = of(worker.pool)
        row["workers"] += 1
        row["slots"] += worker.slots
        row["busy"] += worker.busy
    for queue, waiting in engine.offers.by_rank():
        if queue.namespace == here.namespace:
            row = of(queue.pool)
            row["waiting"] += len(waiting)
            row["first"] = row["first"] or next(
                (offer.row.execution for offer in waiting if not offer.gone), None
            )
    for pool, trouble in engine.roster.troubles.items():
        of(pool)["trouble"] = trouble or None
    for queue in engine.custody.unserved():
        if queue.namespace == here.namespace and lacks_kinds(engine.custody, queue):
            of(queue.pool)["trouble"] = missing(engine.custody, queue)
    return page_data(by_name.values(), ("pool",), cursor, limit)


@get("/resources", tags=["workers"], opt=needs(May.SEE) | answers(Page[ResourceItem]))
async def resources(
    service: TheService, here: Here, limit: Limit = MOST, cursor: Cursor = None
) -> dict[str, Any]:
    """List the resources that executions in memory hold or wait for: how much of each, who has it, who waits."""
    items = [
        resource
        for name, entry in service.engine.cache.at_hand()
        if entry.program.holders and entry.state.namespace == here.namespace and not entry.busy
        for resource in _resources(name, entry)
    ]
    return page_data(items, ("execution", "resource", "key"), cursor, limit)


def _resources(execution: str, entry: Entry) -> Iterator[dict[str, Any]]:
    state, capacity = entry.state, entry.program.spec.resources
    waiting = {
        name: list(state.ready_at.get(plan.name, ()))
        for plan in entry.program.holders
        for name, _, _ in plan.resources
        if state.ready_at.get(plan.name)
    }
    for (name, key), units in state.held.items():
        if units:
            holders = [
                {"run": run.id, "step": run.step, "units": share}
                for run in islice(state.runs.values(), RUNS_LOOKED)
                for held, place, share in run.resources
                if (held, place) == (name, key)
            ]
            waits = [
                {"token": token, "step": state.ready[token].step} for token in waiting.get(name, ())
            ]
            yield {
                "resource": name, "key": key, "execution": execution, "capacity": capacity.get(name, 1), "held": units,
                "holders": holders[:HOLDERS_MAX], "waiting": len(waits), "first_waiting": waits[:HOLDERS_MAX],
            }  # fmt: skip


@get(
    "/shards",
    tags=["server"],
    opt=needs(May.SEE, where=Where.EVERYWHERE),
)
async def shards(
    service: TheService, limit: Limit = MOST, cursor: Cursor = None
) -> Page[ShardItem]:
    """List the shards and who has each; one that nobody ever had is not there."""
    rows = await service.engine.store.shards()
    items = [
        shape_of(ShardItem, row, shard=shard, holder=row.holder or None)
        for shard, row in rows.items()
    ]
    page, behind = paged(items, lambda shard: (shard.shard,), cursor, limit)
    return Page(items=page, next=behind)


def routes(prefix: str, base: str) -> list[Router]:
    """Return the routes of watching."""
    return [
        Router(path=prefix or "/", route_handlers=[metrics]),
        Router(path=base, route_handlers=[pools, resources, shards]),
    ]
