"""Limits over HTTP: what there is, who is in, who waits, and who may say so (S15)."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from server.conftest import Served
from server.newcomers import acting_as, user

BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {{name: {name}}}
executor: {{spec: {{concurrency: {{limit: 1, on_limit: {on_limit}}}}}}}
workflow:
  - step: sign
    tool: {{kind: human, title: Sign}}
"""


def _put(api: httpx2.Client, name: str, more: str, **headers: str) -> httpx2.Response:
    text = f"apiVersion: petra/v1\nkind: Resource\nmetadata: {{name: {name}}}\n{more}\n"
    given = {"Content-Type": "application/yaml", **headers}
    return api.put(f"/limits/resources/{name}", content=text.encode(), headers=given)


def _start(api: httpx2.Client, name: str, on_limit: str, **more: Any) -> httpx2.Response:
    text = BOOK.format(name=name, on_limit=on_limit)
    wait = {"Prefer": "wait=1"} if more.pop("wait", False) else {}
    return api.post("/executions", json={"playbook": {"text": text}, **more}, headers=wait)


@pytest.mark.spec("S15")
def test_a_resource_is_put_listed_changed_and_removed(api: httpx2.Client) -> None:
    made = _put(api, "disk", "units: 4\nrate: {count: 9, per_s: 60}")
    assert made.status_code == 201, made.text
    assert _put(api, "disk", "units: 4\nrate: {count: 9, per_s: 60}").status_code == 200
    shown = api.get("/limits/resources/disk")
    assert shown.headers["etag"] == f'"{made.json()["digest"]}"'
    assert (shown.json()["units"], shown.json()["rate"]) == (4, {"count": 9, "per_s": 60.0})
    stale = _put(api, "disk", "units: 5", **{"If-Match": '"old"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    wrong = _put(api, "disk", "units: none")
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid-playbook")
    assert "disk" in [one["name"] for one in api.get("/limits").json()["items"]]
    assert api.delete("/limits/resources/disk").json() == {"removed": "disk"}
    gone = api.get("/limits/resources/disk")
    assert (gone.status_code, gone.json()["code"]) == (404, "not-found")


@pytest.mark.spec("S15", "S11")
def test_who_waits_is_told_its_place_and_who_is_refused_why(api: httpx2.Client) -> None:
    first = _start(api, "queued", "queue", wait=True, priority=3).json()["id"]
    others = [_start(api, "queued", "queue", wait=True).json() for _ in range(2)]
    assert [one["reason"] for one in others] == ["limit", "limit"]
    told = api.get(f"/executions/{others[1]['id']}/explain").json()["explanation"]
    assert (told["status"], told["reason"]) == ("waiting", "limit")
    place = told["waiting"][0]["queue"]
    assert (place["position"], place["waiting"], place["used"], place["most"]) == (2, 2, 1, 1)
    assert place["holders"] == [first]
    line = api.get("/limits/line", params={"limit": "playbook queued"}).json()
    assert [one["execution"] for one in line["queue"]] == [one["id"] for one in others]
    assert line["holders"][0]["asked"].startswith("20")
    asked = {"of": [first, *(one["id"] for one in others)]}
    places = api.get("/limits/places", params=asked).json()["items"]
    assert {one["execution"]: one["ahead"] for one in places} == {
        others[0]["id"]: 0,
        others[1]["id"]: 1,
    }
    assert {(one["limit"], one["key"]) for one in places} == {("playbook queued", "")}
    assert api.get("/limits/places").json() == {"items": []}
    many = api.get("/limits/places", params={"of": ["e"] * 101})
    assert (many.status_code, many.json()["code"]) == (422, "invalid-input")
    assert api.post(f"/executions/{first}/cancel", json={"reason": "enough"}).status_code == 200
    assert _start(api, "turned", "reject").status_code == 201
    refused = _start(api, "turned", "reject")
    assert (refused.status_code, refused.json()["code"]) == (429, "limit-reached")
    bad = _start(api, "queued", "queue", priority=10_000)
    assert (bad.status_code, bad.json()["code"]) == (422, "invalid-input")


@pytest.mark.spec("S15")
def test_an_author_says_how_much_there_is_and_no_quota(server: Served, api: httpx2.Client) -> None:
    with acting_as(server, api, user(api, "author@default")) as author:
        assert _put(author, "own", "units: 1").status_code == 201
        refused = _put(author, "executions", "units: 1")
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    with acting_as(server, api, user(api, "viewer@default")) as viewer:
        assert _put(viewer, "own", "units: 2").status_code == 403
        assert viewer.get("/limits").status_code == 200
