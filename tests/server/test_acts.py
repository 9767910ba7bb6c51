"""Acts over HTTP: what an operator may do with an execution, once, and under which name."""

from __future__ import annotations

import httpx2
import pytest
from server.books import ADDS, WAITS, WAITS_TWICE, book
from server.test_executions import started

WAIT = {"Prefer": "wait=60"}


@pytest.mark.spec("S15")
def test_a_signal_says_whether_anybody_waited(api: httpx2.Client) -> None:
    shown = started(api, WAITS_TWICE)
    path = f"/executions/{shown['id']}"
    unknown = api.post(f"{path}/signals/other", json={"payload": 1})
    assert (unknown.status_code, unknown.json()["code"]) == (409, "refused")
    early = api.post(f"{path}/signals/end", json={"payload": 1}).json()
    assert (early["waited"], early["execution"]["status"]) == (False, "waiting")
    key = {"Idempotency-Key": "go-once", **WAIT}
    met = api.post(f"{path}/signals/go", json={"payload": {"n": 7}}, headers=key).json()
    assert (met["waited"], met["execution"]["status"]) == (True, "completed")
    again = api.post(f"{path}/signals/go", json={"payload": {"n": 7}}, headers=key).json()
    assert (again["waited"], again["execution"]["version"]) == (True, met["execution"]["version"])


def test_pause_resume_cancel(api: httpx2.Client) -> None:
    path = f"/executions/{started(api, WAITS)['id']}"
    assert api.post(f"{path}/pause", json={"reason": "lunch"}).json()["status"] == "paused"
    assert api.post(f"{path}/resume").json()["status"] == "waiting"
    gone = api.post(f"{path}/cancel", json={"reason": "enough"}, headers=WAIT).json()
    assert gone["status"] == "aborted"
    late = api.post(f"{path}/pause")
    assert (late.status_code, late.json()["code"]) == (409, "refused")


def test_ctx_is_changed_by_whoever_saw_it_as_it_is(api: httpx2.Client) -> None:
    shown = started(api, WAITS)
    path = f"/executions/{shown['id']}/ctx"
    stale = api.patch(path, json={"values": {"a": 1}}, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    now = {"If-Match": f'"{shown["version"]}"'}
    changed = api.patch(path, json={"values": {"a": 1}, "reason": "mended"}, headers=now)
    assert changed.json()["ctx"] == {"a": 1}
    assert changed.headers["etag"] != now["If-Match"]


@pytest.mark.spec("S13")
def test_a_past_is_forked_and_run_again_from_a_step(api: httpx2.Client) -> None:
    shown = started(api, ADDS, workload={"n": 5})
    path = f"/executions/{shown['id']}"
    again = api.post(f"{path}/rerun", json={"from": "two", "set": {"n": 9}}, headers=WAIT)
    assert (again.status_code, again.json()["output"]) == (201, 12)
    assert again.headers["location"].endswith(again.json()["id"])
    key = {"Idempotency-Key": "fork-once", **WAIT}
    first, second = (api.post(f"{path}/fork", json={"at": 2}, headers=key).json() for _ in range(2))
    assert first["id"] == second["id"] != shown["id"]
    assert first["output"] == 12


@pytest.mark.spec("S20")
def test_an_operator_decides_a_step(api: httpx2.Client) -> None:
    shown = started(api, WAITS)
    path = f"/executions/{shown['id']}/steps/go/override"
    both = api.post(path, json={"ok": 1, "error": {"kind": "x", "message": "y"}})
    assert both.json()["code"] == "bad-request"
    done = api.post(path, json={"ok": {"by": "hand"}, "reason": "the caller is dead"})
    assert done.json()["status"] == "completed"


GOES_ON = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: goes_on}
workflow:
  - step: ask
    tool: {kind: human, title: "Go on?"}
    next: {arcs: [{step: hear}]}
  - step: hear
    tool: {kind: wait, signal: {name: go}}
    next: {arcs: [{step: far}]}
  - step: far
    tool: {kind: shell, argv: [sleep, "600"]}
"""


@pytest.mark.slow
def test_what_does_not_rest_in_time_is_answered_with_202_and_what_there_is(
    api: httpx2.Client,
) -> None:
    soon = {"Prefer": "wait=1"}
    shown = started(api, GOES_ON)
    path = f"/executions/{shown['id']}"
    (item,) = api.get("/work-items", params={"execution": shown["id"]}).json()["items"]
    said = f"/work-items/{shown['id']}/{item['id']}"
    assert api.post(f"{said}/complete", json={"action": "approve"}, headers=soon).status_code == 200
    heard = api.post(f"{path}/signals/go", headers=soon)
    assert (heard.status_code, heard.json()["execution"]["status"]) == (202, "running")
    again = api.post(f"{path}/rerun", json={"from": "far"}, headers=soon)
    assert (again.status_code, again.json()["status"]) == (202, "running")
    alone = GOES_ON.replace("name: goes_on}", "name: alone}\nexecutor: {spec: {entry_step: far}}")
    begun = api.post("/executions", json={"playbook": {"text": alone}}, headers=soon)
    assert (begun.status_code, begun.json()["status"]) == (202, "running")
    assert begun.headers["location"] == f"/api/v1/executions/{begun.json()['id']}"
    at_once = api.post("/executions", json={"playbook": {"text": alone}})
    assert at_once.status_code == 201, "who does not wait is not told to come back"
    for one in (
        shown,
        again.json(),
        begun.json(),
        at_once.json(),
    ):  # the server is shared
        assert (
            api.post(f"/executions/{one['id']}/cancel", headers=WAIT).json()["status"] == "aborted"
        )


@pytest.mark.spec("S14")
def test_a_comment_is_a_text(api: httpx2.Client) -> None:
    shown = started(api, GOES_ON)
    (item,) = api.get("/work-items", params={"execution": shown["id"]}).json()["items"]
    api.post(f"/work-items/{shown['id']}/{item['id']}/comment", json={"text": "look at page 2"})
    records = api.get(f"/executions/{shown['id']}/records").json()["items"]
    assert "look at page 2" in str(records[-1])
    shown_item = api.get(f"/work-items/{shown['id']}/{item['id']}").json()
    (comment,) = shown_item["body"]["comments"]
    assert comment["at"] == shown_item["updated"], "as all times are told"


ASKS_TWO = book(
    "  - step: both\n"
    "    next: {spec: {mode: inclusive}, arcs: [{step: ask, copies: 2}]}\n"
    "  - step: ask\n"
    "    tool: {kind: human, title: 'Sure?', actions: [approve]}\n",
    name="asks_two",
)


@pytest.mark.spec("S14")
def test_a_work_item_is_named_by_its_step_as_on_the_command_line(api: httpx2.Client) -> None:
    shown = started(api, GOES_ON)
    (item,) = api.get("/work-items", params={"execution": shown["id"]}).json()["items"]
    said = f"/work-items/{shown['id']}/{item['step']}"
    assert api.get(said).json()["id"] == item["id"]
    key = {"Idempotency-Key": "approve-by-step"}
    first = api.post(f"{said}/complete", json={"action": "approve"}, headers=key)
    again = api.post(f"{said}/complete", json={"action": "approve"}, headers=key)
    assert (first.status_code, again.status_code) == (200, 200)
    other = api.post(f"{said}/complete", json={"action": "reject"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "key-reused")
    for name in ("far", "nothing"):
        unknown = api.post(f"/work-items/{shown['id']}/{name}/complete", json={"action": "approve"})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not-found")
    api.post(f"/executions/{shown['id']}/cancel", headers=WAIT)


@pytest.mark.spec("S14")
def test_which_of_several_items_of_a_step_is_meant_is_asked(api: httpx2.Client) -> None:
    shown = started(api, ASKS_TWO)
    items = api.get("/work-items", params={"execution": shown["id"]}).json()["items"]
    which = api.post(f"/work-items/{shown['id']}/ask/complete", json={"action": "approve"})
    assert (which.status_code, which.json()["code"]) == (409, "refused")
    assert all(item["id"][:12] in which.json()["detail"] for item in items)
    mine = f"/work-items/{shown['id']}/{items[0]['id']}"
    assert api.post(f"{mine}/claim").status_code == 200
    held = api.post(f"/work-items/{shown['id']}/ask/complete", json={"action": "approve"})
    assert held.status_code == 200, "it is the one that we hold"
    api.post(f"/executions/{shown['id']}/cancel", headers=WAIT)
