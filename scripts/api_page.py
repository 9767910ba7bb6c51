"""The reference of the HTTP API: made from what the server itself says at ``/openapi.json``."""

from __future__ import annotations

from typing import Any

import msgspec
from bare_app import bare_description

from petra.server.problem_codes import CODES, PAGES

_METHODS = ("get", "post", "put", "patch", "delete")
_INTRODUCTION = """\
# The HTTP API

`petra serve` answers under `/api/v1`, in JSON. The same description, for programs, is at `/openapi.json` of every
server, and for people at `/api/docs`. How to get in is told in [Run a server](../how-to/run-a-server.md).

- Times are RFC 3339 in UTC. Lists take `limit` (at most 500) and `cursor`, and answer `{items, next}`.
- What starts or decides takes `Idempotency-Key`: the same key and body give the same answer, also after a crash; the
  same key with another body is refused.
- `Prefer: wait=N` (at most 60) answers when the execution ends or rests, else with what there is after N seconds.
- A parameter or a field that a call does not know is refused, with the name that was probably meant.
- Errors are `application/problem+json`, with a `code` from the table at the end. Their `type` is the address of a page that the
  server itself has: how it comes about, and the next move ([all of them](problems.md)).
"""


def api_description() -> str:
    """Return the description of the API for programs: types for the web pages are made from it."""
    raw = msgspec.json.encode(bare_description(), order="sorted")
    return msgspec.json.format(raw, indent=1).decode() + "\n"


def api_page() -> str:
    """List every call with what it does and takes."""
    schema = bare_description()
    lines = [_INTRODUCTION]
    by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, item in schema["paths"].items():
        for method in _METHODS:
            if method in item:
                tag = (item[method].get("tags") or ["other"])[0]
                by_tag.setdefault(tag, []).append((method.upper(), path, item[method]))
    for tag, calls in by_tag.items():
        lines += [f"## {tag.capitalize()}", "", "| call | does | takes |", "|---|---|---|"]
        lines += [_row(*call) for call in calls]
        lines.append("")
    lines += ["## Problems", "", "| code | status | means | next move |", "|---|---|---|---|"]
    lines += [
        f"| [`{name}`](problems.md#{name}) | {code.status} | {code.title} | {code.hint} |"
        for name, code in CODES.items()
    ]
    return "\n".join(lines) + "\n"


def problems_page() -> str:
    """List every code of a problem with how it comes about, and the next move."""
    lines = [
        "# Problems of the HTTP API",
        "",
        "What goes wrong is answered as `application/problem+json`. `code` keeps its meaning for good; `type` is the address of its page,",
        f"`{PAGES}/CODE` below the server's prefix, which needs no log-in and nothing from outside. The places in `errors` of a playbook",
        "have [codes of their own](errors/README.md), with pages at the same address. `petra` prints the address of the page below what a",
        "server refused.",
    ]
    for name, code in CODES.items():
        lines += ["", f"## {name}", "", f"{code.title} (HTTP {code.status}).", "", code.cause, ""]
        lines.append(f"Next move: {code.hint}.")
    return "\n".join(lines) + "\n"


def _row(method: str, path: str, operation: dict[str, Any]) -> str:
    said = " ".join((operation.get("description") or "").split())
    takes = [
        f"`{one['name']}`"
        for one in operation.get("parameters", ())
        if one["in"] in ("query", "header")
    ]
    return f"| `{method} {path}` | {said} | {', '.join(takes)} |"
