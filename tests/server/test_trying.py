"""Acts that are only tried, starts under a business key, moves, operations asked for twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from server.books import ADDS, ASKS, WAITS, WAITS_TWICE, book
from server.conftest import Served
from server.test_executions import started

FAILS = book(
    "  - {step: first, tool: {kind: python, code: 'result = 1'}, next: {arcs: [{step: second}]}}\n"
    "  - {step: second, tool: {kind: python, code: 'raise ValueError(1)'}}\n",
    name="fails",
)


def version(api: httpx2.Client, execution: str) -> int:
    found: int = api.get(f"/executions/{execution}").json()["version"]
    return found


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("POST", "pause", None, "paused"),
        ("POST", "cancel", {"reason": "no"}, "aborted"),
        ("POST", "signals/go", {"payload": 1}, "end"),
        ("PATCH", "ctx", {"values": {"a": 1}}, "stay waiting"),
        ("POST", "steps/go/override", {"ok": 1}, "end"),
        ("POST", "resume", None, "refused"),
        ("POST", "groups/none", {"change": "close"}, "refused"),
    ],
)
def test_an_act_that_is_tried_says_what_would_happen_and_changes_nothing(
    api: httpx2.Client, method: str, path: str, body: Any, words: str
) -> None:
    shown = started(api, WAITS_TWICE)
    answer = api.request(
        method, f"/executions/{shown['id']}/{path}", params={"dry_run": "1"}, json=body
    )
    assert answer.status_code == 200, answer.text
    assert words in answer.json()["sentence"]
    assert version(api, shown["id"]) == shown["version"]


def test_what_was_tried_is_what_happens(api: httpx2.Client) -> None:
    shown = started(api, WAITS_TWICE)
    path = f"/executions/{shown['id']}/signals/go"
    tried = api.post(path, params={"dry_run": 1}).json()
    done = api.post(path, headers={"Prefer": "wait=60"}).json()["execution"]
    assert done["version"] == shown["version"] + sum(tried["counts"].values())
    assert (tried["status"], tried["reason"]) == (done["status"], done["reason"])


@pytest.mark.spec("S13")
def test_a_branch_that_is_tried_says_what_it_keeps(api: httpx2.Client) -> None:
    shown = started(api, ADDS)
    path = f"/executions/{shown['id']}"
    tried = api.post(f"{path}/rerun", params={"dry_run": 1}, json={"from": "two"}).json()
    assert (tried["kept"], tried["again"]) == (["one"], ["two"])
    fork = api.post(f"{path}/fork", params={"dry_run": 1}, json={"at": 1}).json()
    assert (fork["kept"], fork["again"]) == ([], ["one", "two"])
    assert api.get(f"{path}/lineage").json()["forks"] == []


def test_a_work_item_act_and_a_start_are_tried(api: httpx2.Client) -> None:
    shown = started(api, ASKS)
    (item,) = api.get("/work-items", params={"execution": shown["id"]}).json()["items"]
    path = f"/work-items/{shown['id']}/{item['id']}/complete"
    body = {"action": "approve"}
    tried = api.post(path, params={"dry_run": 1}, json=body).json()
    assert "completed" in tried["sentence"] or tried["refused"]
    assert version(api, shown["id"]) == shown["version"]
    before = api.get("/executions/counts").json()["total"]
    start = api.post("/executions", params={"dry_run": 1}, json={"playbook": {"text": ADDS}}).json()
    assert "would begin at step 'one'" in start["sentence"]
    assert api.get("/executions/counts").json()["total"] == before


def test_a_start_with_a_workload_that_does_not_fit_is_tried_in_vain(api: httpx2.Client) -> None:
    schema = "executor: {spec: {input_schema: {properties: {n: {type: integer, minimum: 1}}}}}\n"
    text = ADDS.replace("workload:", f"{schema}workload:", 1)
    body = {"playbook": {"text": text}, "workload": {"n": 0}}
    tried = api.post("/executions", params={"dry_run": 1}, json=body).json()
    refused = api.post("/executions", json=body).json()
    assert tried["refused"] == refused["detail"]
    assert "n: 0 is less than the minimum of 1" in tried["refused"]
    fitting = {**body, "workload": {}}
    tried = api.post("/executions", params={"dry_run": 1}, json=fitting).json()
    assert tried["sentence"].startswith("An execution")


# Business keys


def keyed(api: httpx2.Client, key: str, **more: Any) -> httpx2.Response:
    body = {"playbook": {"text": WAITS}, "business_key": key, **more}
    return api.post("/executions", json=body)


def test_a_business_key_is_held_until_its_execution_has_ended(api: httpx2.Client) -> None:
    first = keyed(api, "R-17").json()
    assert (first["business_key"], first["labels"]) == ("R-17", {})
    again = keyed(api, "R-17")
    assert (again.status_code, again.json()["code"]) == (409, "taken")
    existing = keyed(api, "R-17", on_conflict="existing")
    assert (existing.status_code, existing.json()["id"]) == (200, first["id"])
    found = api.get("/executions", params={"business_key": "R-17"}).json()["items"]
    assert [row["id"] for row in found] == [first["id"]]
    assert keyed(api, "R-18").status_code == 201
    other = {"playbook": {"text": WAITS_TWICE}, "business_key": "R-17"}
    assert api.post("/executions", json=other).status_code == 201  # of another playbook
    api.post(f"/executions/{first['id']}/cancel", headers={"Prefer": "wait=60"})
    assert keyed(api, "R-17").json()["id"] != first["id"]


def test_of_many_at_once_one_gets_the_key(server: Served) -> None:
    def one(_: int) -> int:
        with server.client() as api:
            return keyed(api, "all-at-once").status_code

    with ThreadPoolExecutor(8) as pool:
        codes = sorted(pool.map(one, range(8)))
    assert codes == [201] + [409] * 7


def test_a_start_that_is_refused_gives_the_key_back(api: httpx2.Client) -> None:
    stuck = book(
        "  - {step: a, next: {spec: {mode: inclusive}, arcs: [{step: b}]}}\n"
        "  - {step: b, spec: {join: {mode: arcs}}, next: {arcs: [{step: b}]}}\n",
        name="waits",
    )
    refused = api.post("/executions", json={"playbook": {"text": stuck}, "business_key": "back"})
    assert refused.status_code >= 400, refused.text
    assert keyed(api, "back").status_code == 201


def test_the_same_request_again_is_no_conflict_with_itself(api: httpx2.Client) -> None:
    body = {"playbook": {"text": WAITS}, "business_key": "same"}
    one, two = (
        api.post("/executions", json=body, headers={"Idempotency-Key": "k-same"}) for _ in range(2)
    )
    assert (one.status_code, two.status_code) == (201, 201)
    assert one.json()["id"] == two.json()["id"]


@pytest.mark.spec("S13")
def test_a_branch_has_no_business_key(api: httpx2.Client) -> None:
    shown = keyed(api, "branched").json()
    fork = api.post(f"/executions/{shown['id']}/fork", json={"at": 1}).json()
    assert fork["business_key"] is None


# Moving


@pytest.mark.spec("S23")
def test_an_execution_goes_on_by_another_definition(api: httpx2.Client) -> None:
    shown = started(api, WAITS)
    path = f"/executions/{shown['id']}/migrate"
    body = {"playbook": {"text": WAITS.replace("{name: waits}", "{name: waits, version: 2}")}}
    tried = api.post(path, params={"dry_run": 1}, json=body).json()
    assert tried["refused"] is None
    assert version(api, shown["id"]) == shown["version"]
    moved = api.post(path, json=body)
    assert moved.status_code == 200, moved.text
    assert moved.json()["digest"] != shown["digest"]
    gone = {"playbook": {"text": ADDS}}
    assert api.post(path, params={"dry_run": 1}, json=gone).json()["refused"]
    assert api.post(path, json=gone).status_code == 409


# Operations


def test_an_operation_with_a_key_is_begun_once(api: httpx2.Client) -> None:
    ids = [started(api, WAITS)["id"] for _ in range(2)]
    key = {"Idempotency-Key": "bulk-1"}
    body = {"act": "cancel", "ids": ids}
    one, two = (api.post("/operations", json=body, headers=key).json() for _ in range(2))
    assert one["id"] == two["id"]
    other = api.post("/operations", json={**body, "act": "pause"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "key-reused")


def test_what_failed_is_run_again_in_bulk(api: httpx2.Client) -> None:
    ids = [started(api, FAILS)["id"] for _ in range(2)] + [started(api, ADDS)["id"]]
    begun = api.post("/operations", json={"act": "rerun", "ids": ids}).json()
    with api.stream("GET", "/stream", params={"topics": "operations"}) as stream:
        lines = stream.iter_lines()
        assert any(f'"id":"{begun["id"]}"' in line and '"status":"done"' in line for line in lines)
    done = api.get(f"/operations/{begun['id']}").json()
    assert (done["done"], done["failed"]) == (2, 1)
    assert "no step of it failed" in done["failures"][0]["reason"]
    forks = api.get(f"/executions/{ids[0]}/lineage").json()["forks"]
    assert len(forks) == 1


def test_a_branch_that_is_tried_says_how_it_would_stand(api: httpx2.Client) -> None:
    """Its past ends in the middle of a decision: that it is stuck there is not what would be."""
    path = f"/executions/{started(api, WAITS)['id']}"
    for act, body in (("fork", {"at": 1}), ("rerun", {"from": "go"})):
        tried = api.post(f"{path}/{act}", params={"dry_run": 1}, json=body).json()
        assert (tried["status"], tried["reason"]) == ("waiting", "signal")
        assert tried["sentence"] == "A new execution would keep 1 record and no results."
        begun = api.post(f"{path}/{act}", json=body).json()
        assert (begun["status"], begun["reason"]) == ("waiting", "signal")
