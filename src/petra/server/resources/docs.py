"""The API described: ``/openapi.json`` for programs, ``/api/docs`` for people, with nothing from outside."""

from __future__ import annotations

from html import escape
from typing import Any

from litestar import MediaType, Response, Router, get

from petra.server.needs import OPEN
from petra.server.openapi import description_of, operations
from petra.server.problem_codes import CODES
from petra.server.resources.problem_pages import html, link
from petra.server.service import AnyHttpRequest


@get("/openapi.json", include_in_schema=False, media_type=MediaType.JSON, opt=OPEN)
async def openapi(request: AnyHttpRequest) -> dict[str, Any]:
    """Describe the API for programs."""
    return description_of(request.app)


@get("/api/docs", include_in_schema=False, media_type=MediaType.HTML, opt=OPEN)
async def page(request: AnyHttpRequest) -> Response[str]:
    """Describe the API for people."""
    return _page(description_of(request.app), request.app.state.service.prefix)


def _page(schema: dict[str, Any], prefix: str) -> Response[str]:
    info = schema["info"]
    by_tag: dict[str, list[str]] = {}
    for method, path, operation in operations(schema):
        tag = (operation.get("tags") or ["other"])[0]
        by_tag.setdefault(tag, []).append(_call(method, path, operation))
    calls = "".join(
        f"<h2>{escape(tag)}</h2>{''.join(described)}" for tag, described in by_tag.items()
    )
    problems = "".join(
        f"<tr><td>{link(name, prefix)}</td><td>{code.status}</td><td>{escape(code.title)}; {escape(code.hint)}</td></tr>"
        for name, code in CODES.items()
    )
    body = (
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info.get('description', ''))}</p>"
        f"<p>For programs: <a href=../openapi.json>openapi.json</a></p>{calls}"
        f"<h2>problems</h2><table>{problems}</table>"
    )
    return html(f"{info['title']} API", body)


def _call(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{escape(parameter['in'])}</td>"
        f"<td>{'needed' if parameter.get('required') else ''}</td></tr>"
        for parameter in operation.get("parameters", ())
    )
    said = escape(operation.get("description") or operation.get("summary") or "")
    table = f"<table>{rows}</table>" if rows else ""
    head = f"<span class=method>{method.upper()}</span><code>{escape(path)}</code>"
    return f"<details><summary>{head}</summary><p>{said}</p>{table}</details>"


def router(prefix: str) -> Router:
    """Return the routes of the description."""
    return Router(path=prefix or "/", route_handlers=[openapi, page])
