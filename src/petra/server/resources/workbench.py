"""Trying playbooks out: test files, walks, completion and hints; all of it in another process."""

from __future__ import annotations

from typing import Any

from litestar import Response, Router, post
from litestar.params import JSONBody

from petra.desk.principal import May
from petra.server.answers.authoring import Hovered, OfferedWord, Tested, TextEdit, WalkThrough
from petra.server.benches import (
    COMPLETE,
    FILE,
    FILES_MAX,
    HOVER,
    REPAIR,
    TEST,
    WALK,
    Bench,
    Simulated,
    Tests,
)
from petra.server.documents import with_text_of
from petra.server.needs import needs
from petra.server.openapi import answers, takes
from petra.server.problems import ProblemError
from petra.server.service import AnyHttpRequest, TheService
from petra.server.shapes import Page

_FORM = "JSON with 'text'"


@post("/tests", status_code=200, opt=needs(May.SEE) | answers(Tested) | takes(Tests, yaml=True))
async def run_tests(service: TheService, request: AnyHttpRequest) -> Response[dict[str, Any]]:
    """Run the cases of a test file in virtual time: what came of each, its frames, and how often each arc was taken.

    The playbooks that it names stand in it, or come along as ``files``, by their names.
    """
    tests = await with_text_of(request, Tests, _FORM)
    if len(tests.files) > FILES_MAX or not all(map(FILE.fullmatch, tests.files)):
        words = f"'files' are at most {FILES_MAX}, by plain names such as orders.yaml"
        raise ProblemError("invalid-input", words)
    return Response(await service.long_work.do(TEST, tests))


@post(
    "/simulate",
    status_code=200,
    opt=needs(May.SEE) | answers(WalkThrough) | takes(Simulated, yaml=True),
)
async def simulate(service: TheService, request: AnyHttpRequest) -> Response[dict[str, Any]]:
    """Walk through a playbook in virtual time: by dice with a ``seed``, or by ``choices``, up to the next one to be made."""
    wanted = await with_text_of(request, Simulated, _FORM)
    return Response(await service.long_work.do(WALK, wanted))


@post("/complete", status_code=200, opt=needs(May.SEE) | answers(Page[OfferedWord]))
async def complete(service: TheService, data: JSONBody[Bench]) -> dict[str, Any]:
    """Say what may stand at a line and a column of a text."""
    return await service.long_work.do(COMPLETE, data)


@post("/hover", status_code=200, opt=needs(May.SEE) | answers(Hovered))
async def hover(service: TheService, data: JSONBody[Bench]) -> dict[str, Any]:
    """Say what stands at a line and a column of a text."""
    return await service.long_work.do(HOVER, data)


@post("/repairs", status_code=200, opt=needs(May.SEE) | answers(Page[TextEdit]))
async def repair(service: TheService, data: JSONBody[Bench]) -> dict[str, Any]:
    """Try small changes of how branches part and meet, and return those that make the net of a playbook sound."""
    return await service.long_work.do(REPAIR, data)


def router(base: str) -> Router:
    """Return the routes of the workbench."""
    handlers = [run_tests, simulate, complete, hover, repair]
    return Router(path=base, route_handlers=handlers, tags=["authoring"])
