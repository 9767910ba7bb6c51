"""Writing playbooks: check a text, prove it, migrate it; the schema. All of it beside the engine's loop."""

from __future__ import annotations

from typing import Any

from litestar import Response, Router, get, post

from petra.desk.principal import May
from petra.playbook.migrate import migrate as migrated_text
from petra.playbook.problems import problem_data
from petra.playbook.schema import json_schema
from petra.server.answers.authoring import CheckedText, MigratedText
from petra.server.benches import CHECK
from petra.server.documents import PlaybookSource, text_of
from petra.server.needs import KNOWN, needs
from petra.server.openapi import answers, takes
from petra.server.service import AnyHttpRequest, TheService


@post(
    "/check",
    status_code=200,
    opt=needs(May.SEE) | answers(CheckedText) | takes(PlaybookSource, yaml=True),
)
async def check(service: TheService, request: AnyHttpRequest) -> Response[dict[str, Any]]:
    """Check a playbook: its problems with places and fixes, its graph, and whether it is sound, or how it gets stuck."""
    return Response(await service.long_work.do(CHECK, await text_of(request)))


@post(
    "/migrate",
    status_code=200,
    opt=needs(May.SEE) | answers(MigratedText) | takes(PlaybookSource, yaml=True),
)
async def migrate(service: TheService, request: AnyHttpRequest) -> dict[str, Any]:
    """Rewrite a playbook of a dialect, or an older one, in canonical words."""
    return await service.long_work.do(_migrated, await text_of(request))


def _migrated(text: str) -> dict[str, Any]:
    migrated = migrated_text(text, "playbook.yaml")
    return {
        "text": migrated.text,
        "problems": [problem_data(problem) for problem in migrated.problems],
    }


@get("/schema", opt=KNOWN)
async def schema() -> dict[str, Any]:
    """Return the JSON Schema of playbooks."""
    return json_schema()


def router(base: str) -> Router:
    """Return the routes of authoring."""
    return Router(path=base, route_handlers=[check, migrate, schema], tags=["authoring"])
