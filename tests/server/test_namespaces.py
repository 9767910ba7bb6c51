"""Namespaces over HTTP: what is in one is there for nobody who has no role in it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import httpx2
import pytest
from server.books import ADDS, ASKS, WAITS, book
from server.conftest import Served
from server.newcomers import acting_as, user
from server.test_executions import started
from server.test_streams import events

YAML = {"Content-Type": "application/yaml"}
CALLER = book(
    "  - step: call\n    tool: {kind: playbook, path: helper}\n",
    name="caller",
)
HELPER = book("  - {step: say, tool: {kind: python, code: 'result = \"WORD\"'}}\n", name="helper")


@pytest.fixture
def space(api: httpx2.Client) -> str:
    name = f"n{secrets.token_hex(6)}"
    assert api.post("/namespaces", json={"name": name}).status_code == 201
    return name


@pytest.fixture
def theirs(server: Served, api: httpx2.Client, space: str) -> Iterator[httpx2.Client]:
    """Somebody who may everything in the namespace, and nothing in the default one."""
    with acting_as(server, api, user(api, f"admin@{space}")) as somebody:
        yield somebody


@pytest.fixture
def ours(server: Served, api: httpx2.Client) -> Iterator[httpx2.Client]:
    with acting_as(server, api, user(api, "admin@default")) as somebody:
        yield somebody


def ids(client: httpx2.Client, **more: str) -> set[str]:
    answer = client.get("/executions", params={"limit": "500", **more})
    assert answer.status_code == 200, answer.text
    return {one["id"] for one in answer.json()["items"]}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["body", "address"])
def test_an_execution_is_seen_in_its_namespace_only(
    space: str, theirs: httpx2.Client, ours: httpx2.Client, where: str
) -> None:
    body = {"playbook": {"text": WAITS}, **({"namespace": space} if where == "body" else {})}
    params = {"namespace": space} if where == "address" else {}
    made = theirs.post("/executions", json=body, params=params)
    assert made.status_code == 201, made.text
    assert made.json()["namespace"] == space
    name = made.json()["id"]
    assert ids(theirs, namespace=space) == {name}
    assert name not in ids(ours)
    assert theirs.get(f"/executions/{name}").status_code == 200
    assert ours.get(f"/executions/{name}").json()["code"] == "unknown-execution"
    assert ours.post(f"/executions/{name}/cancel").status_code == 404
    digest = made.json()["digest"]
    assert theirs.get(f"/definitions/{digest}", params={"namespace": space}).status_code == 200


def test_a_namespace_without_a_role_in_it_is_not_there(
    space: str, ours: httpx2.Client, theirs: httpx2.Client, api: httpx2.Client
) -> None:
    for client, name in ((ours, space), (ours, "nowhere"), (api, "nowhere"), (api, "no such/one")):
        for path in ("/executions", "/playbooks", "/work-items", "/stream", "/me"):
            answer = client.get(path, params={"namespace": name})
            assert (answer.status_code, answer.json()["code"]) == (404, "not-found"), path
        made = client.post("/executions", json={"playbook": {"text": ADDS}, "namespace": name})
        assert (made.status_code, made.json()["code"]) == (404, "not-found")
    assert theirs.post("/executions", json={"playbook": {"text": ADDS}}).status_code == 403
    assert theirs.get("/executions").status_code == 403


def test_two_namespaces_in_one_request_are_refused(space: str, api: httpx2.Client) -> None:
    body = {"playbook": {"text": ADDS}, "namespace": space}
    answer = api.post("/executions", json=body, params={"namespace": "default"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")


@pytest.mark.spec("S16")
def test_a_playbook_calls_others_of_its_own_namespace(
    space: str, api: httpx2.Client, theirs: httpx2.Client
) -> None:
    here, there = HELPER.replace("WORD", "ours"), HELPER.replace("WORD", "theirs")
    assert api.post("/playbooks", content=here, headers=YAML).status_code in (200, 201)
    alone = started(theirs, CALLER, namespace=space)
    assert alone["status"] == "failed"
    assert "there is no playbook 'helper'" in str(alone["error"])
    params = {"namespace": space}
    assert theirs.post("/playbooks", content=there, params=params, headers=YAML).status_code == 201
    assert theirs.get("/playbooks", params=params).json()["items"][0]["namespace"] == space
    done = started(theirs, CALLER, namespace=space)
    assert (done["status"], done["output"]) == ("completed", "theirs")
    assert started(api, CALLER)["output"] == "ours"
    child = theirs.get(f"/executions/{done['id']}/children").json()["items"][0]
    assert (child["namespace"], child["playbook"]) == (space, "helper")
    found = theirs.get("/playbooks/helper", params=params).json()
    assert (found["text"], found["digest"]) == (there, child["digest"])
    assert theirs.get(f"/definitions/{child['digest']}", params=params).status_code == 200
    assert api.get(f"/definitions/{child['digest']}").status_code == 404
    started_ = theirs.post("/executions", json={"playbook": "helper", "namespace": space})
    assert started_.status_code == 201


def test_a_branch_stays_in_its_namespace(space: str, theirs: httpx2.Client) -> None:
    made = started(theirs, ADDS, namespace=space)
    branch = theirs.post(f"/executions/{made['id']}/rerun", json={"from": "two"})
    assert branch.status_code == 201, branch.text
    assert branch.json()["namespace"] == space
    assert len(ids(theirs, namespace=space)) == 2


@pytest.mark.slow
def test_work_items_are_for_people_of_their_namespace(
    server: Served, space: str, api: httpx2.Client, theirs: httpx2.Client
) -> None:
    made = started(theirs, ASKS, namespace=space)
    item = theirs.get("/work-items", params={"namespace": space}).json()["items"][0]
    assert (item["execution"], item["namespace"]) == (made["id"], space)
    path = f"/work-items/{made['id']}/{item['id']}"
    with acting_as(server, api, user(api, "finance@default")) as stranger:
        everything = stranger.get("/work-items", params={"box": "all", "limit": "500"}).json()[
            "items"
        ]
        assert made["id"] not in {one["execution"] for one in everything}
        assert stranger.get(path).status_code == 404
        assert stranger.post(f"{path}/claim").status_code == 404
    with acting_as(server, api, user(api, f"finance@{space}")) as clerk:
        mine = clerk.get("/work-items", params={"namespace": space, "box": "mine"}).json()["items"]
        assert [one["id"] for one in mine] == [item["id"]]
        assert clerk.get("/work-items/counts", params={"namespace": space}).json() == {"offered": 1}
        assert clerk.post(f"{path}/complete", json={"action": "approve"}).status_code == 200


def test_a_stream_tells_of_its_namespace_only(
    space: str, api: httpx2.Client, theirs: httpx2.Client
) -> None:
    with theirs.stream("GET", "/stream", params={"namespace": space}) as answer:
        told = events(answer.iter_lines())
        assert next(told)[1] == "hello"
        started(api, WAITS)
        own = started(theirs, WAITS, namespace=space)
        row = next(row for _, name, row in told if name == "execution.row")
        assert (row["id"], row["namespace"]) == (own["id"], space)


@pytest.mark.spec("S17")
def test_a_key_is_for_one_namespace(space: str, api: httpx2.Client) -> None:
    key = {"Idempotency-Key": secrets.token_hex(8)}
    body = {"playbook": {"text": ADDS}}
    assert api.post("/executions", json=body, headers=key).status_code == 201
    other = api.post("/executions", json={**body, "namespace": space}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "key-reused")


def test_a_chosen_id_tells_nothing_of_another_namespace(
    space: str, api: httpx2.Client, theirs: httpx2.Client
) -> None:
    name = f"e-{secrets.token_hex(6)}"
    started(api, WAITS, id=name)
    body = {"playbook": {"text": WAITS}, "id": name, "namespace": space}
    made = theirs.post("/executions", json=body)
    assert (made.status_code, made.json()["id"]) == (201, f"{space}::{name}")
    again = theirs.post("/executions", json=body | {"on_conflict": "existing"})
    assert (again.status_code, again.json()["id"]) == (200, f"{space}::{name}")
    same = theirs.post("/executions", json=body | {"id": f"{space}::{name}"})
    assert (same.status_code, same.json()["code"]) == (409, "taken")
    for client, where, chosen in (
        (api, "default", f"{space}::{name}"),
        (api, "default", "nowhere::1"),
        (theirs, space, f"default::{name}"),
    ):
        other = client.post("/executions", json=body | {"id": chosen, "namespace": where})
        assert (other.status_code, other.json()["code"]) == (422, "invalid-input"), other.text
    origin = started(theirs, ADDS, namespace=space)["id"]
    branch = theirs.post(f"/executions/{origin}/rerun", json={"from": "two", "id": "again"})
    assert branch.json()["id"] == f"{space}::again"
    asked = {"type": "begin", "id": "1", "execution": name, "playbook": WAITS}
    refused = theirs.post("/requests", params={"namespace": space}, json=asked)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-input"), refused.text


def test_where_something_was_made_is_found_by_whoever_made_it(
    server: Served, space: str, theirs: httpx2.Client
) -> None:
    """An address says the namespace, too, where it is not the one that is meant without."""
    here = {"namespace": space}
    made = [
        theirs.post("/playbooks", json={"text": HELPER}, params=here),
        theirs.post(
            "/operations", json={"act": "cancel", "ids": ["x"], "reason": "r"}, params=here
        ),
        theirs.post("/executions", json={"playbook": {"text": WAITS}, "namespace": space}),
    ]
    for one in made:
        assert one.is_success, one.text
        found = theirs.get(f"{server.url}{one.headers['location']}")
        assert found.status_code == 200, (one.headers["location"], found.text)
