"""Playbooks that are archived, colleagues that are found by a part of their names, resources that are held."""

from __future__ import annotations

import httpx2
from server.books import WAITS, book
from server.conftest import Served
from server.test_executions import started

HOLDS = (
    book(
        "  - step: each\n    next: {spec: {mode: inclusive}, arcs: [{step: one}, {step: two}]}\n"
        "  - step: one\n    spec: {policy: {resources: [{name: db}]}}\n    tool: {kind: wait, signal: go}\n"
        "  - step: two\n    spec: {policy: {resources: [{name: db}]}}\n    tool: {kind: wait, signal: go}\n",
        name="holds",
    )
).replace("workflow:", "executor: {spec: {resources: {db: 1}}}\nworkflow:", 1)


def test_an_archived_playbook_is_not_found_and_its_executions_go_on(api: httpx2.Client) -> None:
    text = WAITS.replace("{name: waits}", "{name: old, path: team/old}")
    headers = {"Content-Type": "application/yaml"}
    made = api.put("/playbooks/team/old", content=text, headers=headers)
    assert made.status_code == 201, made.text
    begun = api.post("/executions", json={"playbook": "team/old"}).json()
    stale = api.delete("/playbooks/team/old", headers={"If-Match": '"other"'})
    assert stale.status_code == 412
    gone = api.delete("/playbooks/team/old", headers={"If-Match": made.headers["etag"]})
    assert gone.status_code == 204
    assert api.get("/playbooks/team/old").status_code == 404
    assert api.delete("/playbooks/team/old").status_code == 404
    assert api.post("/executions", json={"playbook": "team/old"}).status_code == 404
    done = api.post(f"/executions/{begun['id']}/signals/go", headers={"Prefer": "wait=60"})
    assert done.json()["execution"]["status"] == "completed"
    assert api.get(f"/definitions/{begun['digest']}").status_code == 200
    assert api.put("/playbooks/team/old", content=text, headers=headers).status_code == 201


def test_who_decides_finds_colleagues_by_a_part_of_their_names(
    server: Served, api: httpx2.Client
) -> None:
    for name, role in (("anna-o", "approver@default"), ("annabel", "viewer@default")):
        body = {"name": name, "roles": [role], "password": "long enough for a test"}
        assert api.post("/users", json=body).status_code == 201
    token = api.post("/tokens", json={"user": "anna-o"}).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=300) as anna:
        assert anna.get("/users").status_code == 400
        found = anna.get("/users", params={"q": "anna"}).json()["items"]
    assert [one["name"] for one in found] == ["anna-o", "annabel"]
    assert found[0]["roles"] == ["approver@default"]
    assert {one["name"] for one in api.get("/users", params={"q": "bel"}).json()["items"]} == {
        "annabel"
    }


def test_a_field_that_is_called_like_a_part_of_the_server_is_no_bug_of_it(
    api: httpx2.Client,
) -> None:
    wrong = api.post("/users", json={"name": "a", "service": {}})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "bad-request")
    assert wrong.json()["errors"][0]["pointer"] == "/service"


def test_a_resource_shows_who_holds_it_and_who_waits(api: httpx2.Client) -> None:
    shown = started(api, HOLDS)
    rows = api.get("/resources").json()["items"]
    (one,) = [row for row in rows if row["execution"] == shown["id"]]
    assert (one["resource"], one["capacity"], one["held"], one["waiting"]) == ("db", 1, 1, 1)
    assert {one["holders"][0]["step"], one["first_waiting"][0]["step"]} == {"one", "two"}
