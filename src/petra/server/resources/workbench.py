"""Trying playbooks out: test files, walks, completion and hints; all of it in another process."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Response, Router, post
from litestar.params import JSONBody

from petra.desk.principal import May
from petra.server.answers.authoring import Hovered, OfferedWord, Tested, WalkThrough
from petra.server.describing import answers, takes
from petra.server.documents import YAML
from petra.server.needs import needs
from petra.server.problems import ProblemError
from petra.server.service import AnyHttpRequest, TheService
from petra.server.shapes import Page
from petra.server.walking import Simulated, simulated
from petra.server.workbench import (
    FILE,
    FILES_MAX,
    Bench,
    Tests,
    completed,
    hovered,
    tested,
)


async def _given(request: AnyHttpRequest, shape: type[Any]) -> Any:
    """Return what a request brings: a text as YAML, or JSON of a shape."""
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind in YAML:
            return shape(text=body.decode("utf-8-sig"))
        return msgspec.json.decode(body, type=shape)
    except UnicodeDecodeError:
        raise ProblemError("bad-request", "the text is not UTF-8") from None
    except msgspec.DecodeError as error:
        words = f"send application/yaml, or JSON with 'text': {error}"
        raise ProblemError("bad-request", words) from None


@post("/tests", status_code=200, opt=needs(May.SEE) | answers(Tested) | takes(Tests, yaml=True))
async def run_tests(service: TheService, request: AnyHttpRequest) -> Response[dict[str, Any]]:
    """Run the cases of a test file in virtual time: what came of each, its frames, and how often each arc was taken.

    The playbooks that it names stand in it, or come along as ``files``, by their names.
    """
    given: Tests = await _given(request, Tests)
    if len(given.files) > FILES_MAX or not all(map(FILE.fullmatch, given.files)):
        words = f"'files' are at most {FILES_MAX}, by plain names such as orders.yaml"
        raise ProblemError("invalid-input", words)
    return Response(await service.long_work.do(tested, given))


@post(
    "/simulate",
    status_code=200,
    opt=needs(May.SEE) | answers(WalkThrough) | takes(Simulated, yaml=True),
)
async def simulate(service: TheService, request: AnyHttpRequest) -> Response[dict[str, Any]]:
    """Walk through a playbook in virtual time: by dice with a ``seed``, or by ``choices``, up to the next one to be made."""
    given: Simulated = await _given(request, Simulated)
    return Response(await service.long_work.do(simulated, given))


@post("/complete", status_code=200, opt=needs(May.SEE) | answers(Page[OfferedWord]))
async def complete(service: TheService, data: JSONBody[Bench]) -> dict[str, Any]:
    """Say what may stand at a line and a column of a text."""
    return await service.long_work.do(completed, data)


@post("/hover", status_code=200, opt=needs(May.SEE) | answers(Hovered))
async def hover(service: TheService, data: JSONBody[Bench]) -> dict[str, Any]:
    """Say what stands at a line and a column of a text."""
    return await service.long_work.do(hovered, data)


def router(base: str) -> Router:
    """Return the routes of the workbench."""
    handlers = [run_tests, simulate, complete, hover]
    return Router(path=base, route_handlers=handlers, tags=["authoring"])
