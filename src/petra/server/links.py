"""Which call leads to which: what an answer holds that the address of another one wants, as links of OpenAPI.

A lead names a call and what its request or answer gives; it leads to every call under an address that wants nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

METHODS: Final = ("get", "post", "put", "patch", "delete")


class Lead(NamedTuple):
    """After a call: where it leads, and what stands in that address. Addresses are those below the base."""

    method: str
    path: str
    to: str
    gives: Mapping[str, str]


_EXECUTION: Final = "/executions/{execution}"
_BEGUN: Final = {"execution": "$response.body#/id", "seq": "$response.body#/version"}
_NAMED: Final = {"name": "$request.path.name"}
LEADS: Final = (
    Lead("post", "/executions", _EXECUTION, _BEGUN),
    Lead("post", f"{_EXECUTION}/fork", _EXECUTION, _BEGUN),
    Lead("post", f"{_EXECUTION}/rerun", _EXECUTION, _BEGUN),
    Lead("get", "/executions", _EXECUTION, {"execution": "$response.body#/items/0/id"}),
    Lead(
        "get",
        f"{_EXECUTION}/runs",
        f"{_EXECUTION}/runs/",
        {"execution": "$request.path.execution", "n": "$response.body#/items/0/n"},
    ),
    Lead("post", "/playbooks", "/playbooks/{path}", {"path": "$response.body#/path"}),
    Lead("put", "/playbooks/{path}", "/playbooks/{path}", {"path": "$response.body#/path"}),
    Lead("post", "/playbooks", "/definitions/", {"digest": "$response.body#/digest"}),
    Lead("put", "/playbooks/{path}", "/definitions/", {"digest": "$response.body#/digest"}),
    Lead("put", "/schedules/{name}", "/schedules/{name}", _NAMED),
    Lead(
        "post",
        "/schedules/{name}/run",
        _EXECUTION,
        {"execution": "$response.body#/execution"},
    ),
    Lead("put", "/triggers/{name}", "/triggers/{name}", _NAMED),
    Lead("put", "/limits/resources/{name}", "/limits/resources/", _NAMED),
    Lead("put", "/views/{name}", "/views/", _NAMED),
    Lead("put", "/secrets/{name}", "/secrets/", _NAMED),
    Lead("post", "/secrets", "/secrets/", {"name": "$response.body#/name"}),
    Lead("post", "/operations", "/operations/", {"operation": "$response.body#/id"}),
    Lead("post", "/tokens", "/tokens/", {"token": "$response.body#/id"}),
    Lead("post", "/users", "/users/", {"name": "$response.body#/name"}),
    Lead("get", "/notifications", "/notifications/", {"notification": "$response.body#/items/0/id"}),
    Lead(
        "get",
        "/work-items",
        "/work-items/",
        {"execution": "$response.body#/items/0/execution", "item": "$response.body#/items/0/id"},
    ),
)  # fmt: skip


def link(paths: Mapping[str, Any], base: str) -> None:
    """Write the links into the answers of the calls that lead on, those that went well."""
    for lead in LEADS:
        source = paths[base + lead.path][lead.method]
        links = dict(_led(paths, base + lead.to, lead.gives))
        for status, response in source["responses"].items():
            if status.startswith("2"):
                response.setdefault("links", {}).update(links)


def _led(
    paths: Mapping[str, Any], to: str, gives: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in paths.items():
        wanted = re.findall(r"\{(\w+)\}", path)
        if not path.startswith(to) or not set(wanted) <= gives.keys():
            continue
        for method in METHODS:
            if method in item:
                name = item[method]["operationId"]
                yield name, {"operationId": name, "parameters": {one: gives[one] for one in wanted}}
