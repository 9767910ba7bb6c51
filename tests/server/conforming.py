"""Holds every answer against the description of the API: its status, its media type, its shape, and nothing beyond it."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import httpx2
from bare_app import bare_description
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from server.recording import record

BASE = "/api/v1"
OUTSIDE = frozenset({"/livez", "/readyz", "/version"})


@cache
def _description() -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(json.dumps(bare_description()))
    for shape in raw["components"]["schemas"].values():
        if shape.get("type") == "object" and "properties" in shape:
            shape.setdefault("additionalProperties", False)
    return raw


@cache
def _paths() -> list[tuple[re.Pattern[str], str]]:
    """Return the addresses of the API, those with fewer parameters first."""
    found = sorted(_description()["paths"], key=lambda path: (path.count("{"), -len(path)))
    return [
        (re.compile(re.sub(r"\\\{(path|\w+)\\\}", _part, re.escape(path))), path) for path in found
    ]


def _part(match: re.Match[str]) -> str:
    return ".+" if match[1] == "path" else "[^/]+"


def conforming(response: httpx2.Response) -> None:
    """Fail where an answer is not what the description says."""
    media = response.headers.get("content-type", "").partition(";")[0]
    request = response.request
    path = "/" + request.url.path.partition("/api/v1/")[2] if BASE in request.url.path else ""
    whole = request.url.path if request.url.path in OUTSIDE else BASE + path
    known = next((name for one, name in _paths() if one.fullmatch(whole)), None)
    operation = _description()["paths"].get(known, {}).get(request.method.lower())
    if operation is None:
        return
    if media not in ("application/json", "application/problem+json"):
        if response.status_code == 204:
            response.read()
            record(f"{request.method.lower()} {known}", response)
        return
    said = operation["responses"].get(str(response.status_code))
    where = f"{request.method} {known} {response.status_code}"
    assert said is not None, f"{where}: no such status is described"
    if "$ref" in said:
        said = _description()["components"]["responses"][said["$ref"].rpartition("/")[2]]
    assert media in said.get("content", {}), f"{where}: {media} is not described"
    response.read()
    schema = {
        **said["content"][media]["schema"],
        "components": {"schemas": _description()["components"]["schemas"]},
    }
    errors = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        for error in Draft202012Validator(schema).iter_errors(response.json())
    ]
    assert not errors, f"{where}: {errors[:5]}"
    record(f"{request.method.lower()} {known}", response)
