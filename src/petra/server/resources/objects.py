"""Large results of workers elsewhere: what they store and read goes through here.

Rule 1: only for workers, and only while they hold a lease: they store for the executions that they have runs of, and read what
those may read (``petra.engine.authority``).
Rule 2: nothing is held in memory: what comes goes to a file, and what goes is read block by block.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
from litestar import Response, Router, get, post, put
from litestar.params import FromPath, JSONBody
from litestar.response import Stream

from petra.desk.principal import May, Principal
from petra.engine.authority import may_read
from petra.errors import ObjectError
from petra.objects import ObjectStore, Reference
from petra.objects.base import sum_in
from petra.server.needs import Where, needs
from petra.server.problems import ProblemError
from petra.server.service import AnyHttpRequest, Service, TheService, Who
from petra.server.stored_objects import object_stream

_WORKERS = needs(May.WORK, where=Where.SOMEWHERE)
_CODES = {
    "not_found": "not-found",
    "parse": "unreadable",
    "quota": "no-room",
    "denied": "forbidden",
}


class Pieces(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lists that become one, for an execution."""

    execution: str
    pieces: list[Reference]


@get("/", tags=["workers"], opt=_WORKERS)
async def name(service: TheService) -> dict[str, str]:
    """Say what references call this store, and by what a worker that was given the same bucket knows it."""
    objects = _objects(service)
    place = getattr(objects, "place", "")
    return {"store": objects.name, **({"place": place} if place else {})}


@put("/{execution:str}/{name:str}", tags=["workers"], status_code=204, opt=_WORKERS)
async def store(
    who: Who,
    service: TheService,
    request: AnyHttpRequest,
    execution: FromPath[str],
    name: FromPath[str],
) -> None:
    """Store content under the key that was made of it, for an execution that you have a run of."""
    _must_have(who, service, execution)
    key, objects = f"{execution}/{name}", _objects(service)
    try:
        sum_in(key)
        with tempfile.NamedTemporaryFile(dir=service.home) as file:
            async for block in request.stream():
                file.write(block)
            file.flush()
            await objects.keep(key, Path(file.name))
    except ObjectError as error:
        raise _problem(error) from None
    except OSError as error:
        raise ProblemError("no-room", f"{key} cannot be stored: {error.strerror}") from None


@get("/{execution:str}/{name:str}", tags=["workers"], opt=_WORKERS)
async def read(
    who: Who, service: TheService, execution: FromPath[str], name: FromPath[str]
) -> Stream:
    """Read what an execution may read that you have a run of."""
    await _must_read(who, service, execution)
    try:
        return await object_stream(_objects(service), f"{execution}/{name}")
    except ObjectError as error:
        raise _problem(error) from None


@post("/joined", tags=["workers"], status_code=201, opt=_WORKERS)
async def join(who: Who, service: TheService, data: JSONBody[Pieces]) -> Response[Any]:
    """Store the elements of several lists as one list."""
    _must_have(who, service, data.execution)
    for owner in {piece.execution for piece in data.pieces}:
        await _must_read(who, service, owner)
    try:
        joined = await _objects(service).join(data.execution, data.pieces)
    except ObjectError as error:
        raise _problem(error) from None
    return Response(joined.as_data(), status_code=201)


def _objects(service: Service) -> ObjectStore:
    if service.engine.objects is None:
        raise ProblemError("not-found", "this server keeps no large results")
    return service.engine.objects


def _must_have(who: Principal, service: Service, execution: str) -> None:
    who.must_somewhere(frozenset({May.WORK}))
    if execution not in service.held_by(who):
        raise ProblemError("no-lease", f"you hold no lease of execution '{execution[:100]}'")


async def _must_read(who: Principal, service: Service, owner: str) -> None:
    who.must_somewhere(frozenset({May.WORK}))
    held = service.held_by(who)
    if owner in held:
        return
    for execution in sorted(held):
        state = (await service.engine.view(execution)).state
        if await may_read(service.engine.store, state, owner):
            return
    raise ProblemError(
        "no-lease", f"you hold no lease of an execution that may read '{owner[:100]}'"
    )


def _problem(error: ObjectError) -> ProblemError:
    return ProblemError(_CODES.get(error.kind, "unavailable"), str(error))


def router(base: str) -> Router:
    """Return the routes of objects."""
    return Router(path=f"{base}/objects", route_handlers=[name, store, read, join])
