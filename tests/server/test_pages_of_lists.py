"""Every list comes in pages, and what can be edited is changed only as whoever edits it saw it."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import httpx2
import pytest
from bare_app import bare_description
from click.testing import CliRunner
from server.books import ADDS, ASKS, WAITS
from server.conftest import Served, serve
from server.newcomers import acting_as, user
from server.test_executions import started

from petra.cli import petra
from petra.server.openapi import operations

BASE = "/api/v1"
BOUNDED = {f"{BASE}/search", f"{BASE}/limits/places"}
"""At most 20, and at most as many as were asked for."""


def _lists() -> dict[str, set[str]]:
    found = {}
    schemas = bare_description()["components"]["schemas"]
    for method, path, operation in operations(bare_description()):
        answer = operation["responses"].get("200", {}).get("content", {}).get("application/json")
        name = (answer or {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
        if method == "get" and "items" in schemas.get(name, {}).get("properties", {}):
            found[path] = {one["name"] for one in operation.get("parameters", ())}
    return found


@pytest.mark.slow
def test_every_list_takes_a_limit_and_a_cursor() -> None:
    lists = _lists()
    assert len(lists) > 25
    for path in lists.keys() - BOUNDED:
        assert {"limit", "cursor"} <= lists[path], path


def in_pages(client: httpx2.Client, path: str, size: int, **more: Any) -> list[Any]:
    items: list[Any] = []
    cursor: str | None = None
    while True:
        given = {**more, "limit": size, **({"cursor": cursor} if cursor else {})}
        page = client.get(path, params=given).json()
        assert len(page["items"]) <= size
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            return items
        assert len(page["items"]) == size


def fill(api: httpx2.Client, path: str, mark: str) -> None:
    """Have something of a list be there."""
    head = "apiVersion: petra/v1\nkind: {}\nmetadata: {{name: {}}}\n{}"
    for number in range(3):
        name = f"{mark}-{number}"
        text = {"Content-Type": "application/yaml"}
        match path:
            case "/users":
                api.post(path, json={"name": name, "service": True})
            case "/tokens":
                api.post(path, json={"role": "viewer", "name": name})
            case "/secrets" | "/namespaces":
                api.post(
                    path, json={"name": name, **({"value": "x"} if path == "/secrets" else {})}
                )
            case "/views":
                api.put(f"/views/{name}", json={"query": "q", "shared": number == 1})
            case "/schedules":
                rest = "playbook: adds\ncron: '0 3 * * *'\n"
                api.put(f"{path}/{name}", content=head.format("Schedule", name, rest), headers=text)
            case "/triggers":
                rest = f"playbook: adds\nwebhook: {{path: {name}, verify: none}}\n"
                api.put(f"{path}/{name}", content=head.format("Trigger", name, rest), headers=text)
            case "/limits":
                url = f"/limits/resources/{name}"
                api.put(url, content=head.format("Resource", name, "units: 2\n"), headers=text)
            case "/operations":
                api.post(path, json={"act": "pause", "ids": [name]})
            case _:
                pass


LISTS = (
    "/users", "/tokens", "/secrets", "/namespaces", "/views", "/schedules", "/triggers", "/limits", "/operations", "/pools",
    "/workers", "/resources", "/sessions", "/shards", "/roles",
)  # fmt: skip


@pytest.mark.parametrize("path", LISTS)
def test_pages_put_together_are_the_list(api: httpx2.Client, path: str) -> None:
    fill(api, path, f"l{secrets.token_hex(4)}")
    whole = in_pages(api, path, 500)
    one_by_one, two_by_two = in_pages(api, path, 1), in_pages(api, path, 2)
    steady = [_still(one) for one in whole]
    assert [_still(one) for one in one_by_one] == steady
    assert [_still(one) for one in two_by_two] == steady
    if path not in ("/resources", "/sessions", "/shards", "/pools", "/workers"):
        assert len(whole) >= 3
    for bad in ("nonsense", "bnVsbA", "WzFd" * 2):
        answer = api.get(path, params={"cursor": bad})
        assert answer.status_code in (200, 422)
        assert answer.status_code == 422 or path in ("/operations", "/tokens", "/sessions")
    assert api.get(path, params={"limit": 501}).status_code == 400


def _still(item: Any) -> Any:
    """Return what of an item does not change between two questions."""
    if not isinstance(item, dict):
        return item
    return {
        key: item.get(key)
        for key in ("name", "id", "pool", "shard", "execution", "resource", "role")
    }


def test_a_page_goes_on_though_what_it_ended_with_is_gone(api: httpx2.Client) -> None:
    mark = f"g{secrets.token_hex(4)}"
    for name in ("a", "b", "c"):
        api.put(f"/views/{mark}-{name}", json={"query": "q"})
    whole = [one["name"] for one in in_pages(api, "/views", 500)]
    until = whole.index(f"{mark}-b")
    page = api.get("/views", params={"limit": until + 1}).json()
    assert api.delete(f"/views/{mark}-b").status_code == 204
    rest = api.get("/views", params={"cursor": page["next"]}).json()["items"]
    assert rest[0]["name"] == f"{mark}-c"


@pytest.mark.slow
def test_a_verb_lists_all_pages(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as client:
        for number in range(102):
            body = {"name": f"u{number:03}", "service": True}
            assert client.post("/users", json=body).status_code == 201
        environment = {"PETRA_SERVER": served.url, "PETRA_TOKEN": served.said["token"]}
        listed = CliRunner().invoke(petra, ["user", "list", "-o", "json"], env=environment)
    assert [one["name"] for one in json.loads(listed.output)] == [f"u{n:03}" for n in range(102)]


# What can be edited


def test_a_user_is_changed_only_as_it_was_seen(api: httpx2.Client) -> None:
    name = f"u{secrets.token_hex(4)}"
    tag = api.post("/users", json={"name": name, "service": True}).headers["etag"]
    seen = api.get(f"/users/{name}")
    assert (seen.headers["etag"], seen.json()["name"]) == (tag, name)
    changed = api.patch(f"/users/{name}", json={"roles": ["viewer"]}, headers={"If-Match": tag})
    assert changed.status_code == 200
    late = api.patch(f"/users/{name}", json={"disabled": True}, headers={"If-Match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "stale")
    assert api.get(f"/users/{name}").json() == changed.json()
    again = {"If-Match": changed.headers["etag"]}
    assert api.patch(f"/users/{name}", json={"disabled": True}, headers=again).status_code == 200
    assert api.get("/users/nobody-there").status_code == 404


def test_a_user_is_shown_to_who_administers_it_only(server: Served, api: httpx2.Client) -> None:
    name = f"u{secrets.token_hex(4)}"
    api.post("/users", json={"name": name, "service": True})
    with acting_as(server, api, user(api, "viewer@default")) as viewer:
        assert viewer.get(f"/users/{name}").status_code == 403


def test_a_credential_is_changed_only_as_it_was_seen(api: httpx2.Client) -> None:
    path, first = f"/secrets/s{secrets.token_hex(4)}", {"value": "one"}
    made = api.put(path, json=first, headers={"If-None-Match": "*"})
    assert made.status_code == 201
    assert api.put(path, json=first, headers={"If-None-Match": "*"}).status_code == 412
    tag = api.get(path).headers["etag"]
    assert tag == made.headers["etag"]
    second = api.put(path, json={"value": "two"}, headers={"If-Match": tag})
    assert (second.status_code, second.json()["version"]) == (200, 2)
    assert api.put(path, json={"value": "late"}, headers={"If-Match": tag}).status_code == 412
    assert api.delete(path, headers={"If-Match": tag}).status_code == 412
    assert api.get(path).json()["version"] == 2
    assert "two" not in api.get(path).text
    assert api.delete(path, headers={"If-Match": second.headers["etag"]}).status_code == 204
    assert api.get(path).status_code == 404
    assert api.put(path, json=first, headers={"If-Match": tag}).status_code == 412


def test_a_view_is_changed_only_as_it_was_seen(api: httpx2.Client) -> None:
    path = f"/views/v{secrets.token_hex(4)}"
    made = api.put(path, json={"query": "a"}, headers={"If-None-Match": "*"})
    assert made.status_code == 201
    assert api.put(path, json={"query": "b"}, headers={"If-None-Match": "*"}).status_code == 412
    tag = {"If-Match": made.headers["etag"]}
    assert api.put(path, json={"query": "b"}, headers=tag).status_code == 200
    assert api.put(path, json={"query": "c"}, headers=tag).status_code == 412
    assert api.delete(path, headers=tag).status_code == 412
    assert api.get(path).json()["query"] == "b"


# One execution, and the server


def test_an_execution_is_shown_with_what_is_around_it(api: httpx2.Client) -> None:
    done = started(api, ADDS, workload={"n": 5, "long": "x" * 300})
    shown = api.get(f"/executions/{done['id']}").json()
    assert shown["previews"]["workload"].startswith('{"n":5,"long":"xxx')
    assert len(shown["previews"]["workload"].encode()) <= 200
    assert shown["previews"]["output"] == str(shown["output"])
    assert (shown["forked_from"], shown["forks"], shown["children"]) == (None, [], [])
    branch = api.post(f"/executions/{done['id']}/fork", json={"at": 2}).json()["id"]
    assert [one["id"] for one in api.get(f"/executions/{done['id']}").json()["forks"]] == [branch]
    assert api.get(f"/executions/{branch}").json()["forked_from"] == done["id"]
    waiting = started(api, WAITS)
    shown = api.get(f"/executions/{waiting['id']}").json()
    assert shown["previews"]["output"] is None
    assert {"version", "counts", "parent", "now", "progress"} <= shown.keys()


def test_an_execution_names_those_that_it_started(api: httpx2.Client) -> None:
    mark = f"called-{secrets.token_hex(4)}"
    api.post("/playbooks", json={"text": ASKS.replace("name: asks", f"name: {mark}")})
    text = (
        f"apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: calls}}\nworkflow:\n"
        f"  - {{step: call, tool: {{kind: playbook, path: {mark}}}}}\n"
    )
    parent = started(api, text)["id"]
    (child,) = api.get(f"/executions/{parent}").json()["children"]
    assert (child["playbook"], child["status"]) == (mark, "waiting")
    assert api.get(f"/executions/{child['id']}").json()["parent"] == parent


def test_the_server_says_what_it_has_and_what_it_takes(api: httpx2.Client) -> None:
    meta = api.get("/meta").json()
    assert meta["features"]["secrets"]
    assert not meta["features"]["shared"]
    assert meta["limits"]["page"] == 500
    assert api.get("/executions", params={"limit": meta["limits"]["page"] + 1}).status_code == 400
    many = [f"e{n}" for n in range(meta["limits"]["operation_ids"] + 1)]
    refused = api.post("/operations", json={"act": "pause", "ids": many})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-input")
