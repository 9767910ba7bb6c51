"""Executions over HTTP: started once, listed, looked at as they are and as they were."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest
from server.books import ADDS, ASKS, WAITS, book
from support.patience import until


def started(api: httpx2.Client, text: str, *, wait: int = 60, **more: Any) -> dict[str, Any]:
    answer = api.post(
        "/executions", json={"playbook": {"text": text}, **more}, headers={"Prefer": f"wait={wait}"}
    )
    assert answer.status_code == 201, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def test_a_start_answers_when_it_ended_and_says_where_it_is(api: httpx2.Client) -> None:
    answer = api.post(
        "/executions",
        json={"playbook": {"text": ADDS}, "workload": {"n": 20}},
        headers={"Prefer": "wait=60"},
    )
    shown = answer.json()
    assert (answer.status_code, shown["status"], shown["output"]) == (201, "completed", 42)
    assert answer.headers["location"] == f"/api/v1/executions/{shown['id']}"
    assert answer.headers["etag"] == f'"{shown["version"]}"'
    again = api.get(f"/executions/{shown['id']}").json()  # which has its family too
    assert {name: again[name] for name in shown} == shown
    assert api.get(f"/executions/{shown['id']}/result").json() == 42


def test_a_start_that_does_not_wait_answers_at_once(api: httpx2.Client) -> None:
    shown = started(api, WAITS, wait=0)
    assert shown["status"] in ("running", "waiting")


@pytest.mark.spec("S17")
def test_the_same_key_starts_once_and_another_body_is_refused(api: httpx2.Client) -> None:
    body = {"playbook": {"text": ADDS}, "workload": {"n": 3}}
    key = {"Idempotency-Key": "the-same"}
    first, second = (api.post("/executions", json=body, headers=key).json() for _ in range(2))
    assert first["id"] == second["id"]
    other = api.post("/executions", json={**body, "workload": {"n": 4}}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "key-reused")


def test_an_id_is_taken_once(api: httpx2.Client) -> None:
    body = {"playbook": {"text": ADDS}, "id": "mine-1"}
    assert api.post("/executions", json=body).status_code == 201
    taken = api.post("/executions", json=body)
    assert (taken.status_code, taken.json()["code"]) == (409, "taken")
    existing = api.post("/executions", json={**body, "on_conflict": "existing"})
    assert (existing.status_code, existing.json()["id"]) == (200, "mine-1")


def test_lists_go_on_behind_their_cursor(api: httpx2.Client) -> None:
    ids = {started(api, ADDS, wait=0)["id"] for _ in range(3)}
    seen: list[str] = []
    cursor = None
    while True:
        page = api.get(
            "/executions", params={"limit": 2, **({"cursor": cursor} if cursor else {})}
        ).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert ids <= set(seen)
    assert len(seen) == len(set(seen))
    strange = api.get("/executions", params={"cursor": "nonsense"})
    assert (strange.status_code, strange.json()["code"]) == (422, "invalid-input")
    only = api.get("/executions", params={"playbook": "waits"}).json()["items"]
    assert {item["playbook"] for item in only} <= {"waits"}


@pytest.mark.spec("S17")
def test_records_come_in_pages_and_the_past_can_be_looked_at(api: httpx2.Client) -> None:
    shown = started(api, ADDS, workload={"n": 1})
    path = f"/executions/{shown['id']}"
    first = api.get(f"{path}/records", params={"limit": 2}).json()
    rest = api.get(f"{path}/records", params={"after": first["next"], "limit": 500}).json()
    numbers = [record["seq"] for record in first["items"] + rest["items"]]
    assert numbers == list(range(1, shown["version"] + 1))
    assert rest["next"] is None
    only = api.get(f"{path}/records", params={"type": "step.done"}).json()["items"]
    assert {record["event"]["type"] for record in only} == {"step.done"}
    begun = api.get(f"{path}/at/1").json()
    assert (begun["status"], begun["tokens"]) == ("running", {"one.ready": 1})
    assert api.get(f"{path}/at/{shown['version'] + 1}").json()["code"] == "not-found"


def test_what_waits_is_explained(api: httpx2.Client) -> None:
    shown = started(api, WAITS)
    assert shown["waiting_on"] == "signal"
    told = api.get(f"/executions/{shown['id']}/explain").json()["explanation"]
    assert "go" in told["sentence"] + str(told["waiting"])
    early = api.get(f"/executions/{shown['id']}/result")
    assert (early.status_code, early.json()["code"]) == (409, "not-ended")


def test_a_list_says_what_went_wrong_and_finds_it(api: httpx2.Client) -> None:
    step = "{kind: python, code: 'raise ValueError(\"no such carrier\")'}"
    shown = started(api, book(f"  - {{step: ship, tool: {step}}}\n", name="goes_wrong"))
    (row,) = api.get("/executions", params={"q": "no such carrier"}).json()["items"]
    assert (row["id"], row["status"]) == (shown["id"], "failed")
    assert row["now"]["sentence"].startswith("It failed: step 'ship' failed: ValueError: no such")
    assert row["reason"] in row["now"]["sentence"]


@pytest.mark.spec("S11")
def test_a_step_that_is_tried_again_says_which_try_comes_when(api: httpx2.Client) -> None:
    rule = "{when: '{{ outcome.status == \"error\" }}', then: {do: retry, attempts: 4, delay: 600}}"
    step = f"{{kind: python, code: 'result = 1 / 0', spec: {{policy: {{rules: [{rule}]}}}}}}"
    shown = started(api, book(f"  - {{step: divide, tool: {step}}}\n", name="retried"), wait=0)
    path = f"/executions/{shown['id']}"

    def trying() -> Any:
        waiting = api.get(f"{path}/explain").json()["explanation"]["waiting"]
        return next((one["trying"] for one in waiting), None)

    until(trying)
    told = trying()
    assert (told["failed"], told["of"]) == (1, 4)
    begun = datetime.fromisoformat(shown["started"])
    assert timedelta(0) < datetime.fromisoformat(told["next_at"]) - begun < timedelta(seconds=700)
    assert api.post(f"{path}/cancel", json={}).status_code == 200


def test_what_steps_printed_is_there(api: httpx2.Client) -> None:
    text = ADDS.replace("result = n * 2", 'print("twice", n); result = n * 2')
    shown = started(api, text, workload={"n": 1})
    lines = api.get(f"/executions/{shown['id']}/logs").text
    assert '"text":"twice 2"' in lines


@pytest.mark.spec("S14")
def test_a_work_item_is_listed_and_completed_under_the_name_of_who_asks(api: httpx2.Client) -> None:
    shown = started(api, ASKS)
    (item,) = api.get("/work-items", params={"execution": shown["id"]}).json()["items"]
    assert (item["step"], item["title"], item["roles"]) == ("approve", "Pay?", ["finance"])
    path = f"/work-items/{shown['id']}/{item['id']}"
    assert api.get(path).json()["id"] == item["id"]
    refused = api.post(f"{path}/complete", json={"action": "dance"})
    assert (refused.status_code, refused.json()["code"]) == (409, "refused")
    done = api.post(f"{path}/complete", json={"action": "approve"}, headers={"Prefer": "wait=60"})
    assert (done.status_code, done.json()["status"]) == (200, "completed")
    name = api.get("/me").json()["name"]
    assert done.json()["output"]["actor"] == name
    assert api.get("/work-items", params={"execution": shown["id"]}).json()["items"] == []
    assert (
        len(
            api.get("/work-items", params={"execution": shown["id"], "box": "done"}).json()["items"]
        )
        == 1
    )


def test_labels_are_given_and_found(api: httpx2.Client) -> None:
    shown = started(api, ADDS, labels={"team": "blue"})
    assert shown["labels"]["team"] == "blue"
    found = api.get("/executions", params={"label": "team:blue"}).json()["items"]
    assert [item["id"] for item in found] == [shown["id"]]
    assert api.get("/executions", params={"label": "team:red"}).json()["items"] == []
    later = api.get("/executions", params={"since": "2999-01-01T00:00:00Z"}).json()
    assert later["items"] == []


@pytest.mark.spec("S16")
def test_a_playbook_is_applied_and_started_by_its_path(api: httpx2.Client) -> None:
    text = ADDS.replace("name: adds", "name: adds, path: tests/adds")
    yaml = {"Content-Type": "application/yaml"}
    made = api.put("/playbooks/tests/adds", content=text, headers=yaml)
    assert (made.status_code, made.json()["unchanged"]) == (201, False)
    again = api.put("/playbooks/tests/adds", content=text, headers=yaml)
    assert (again.status_code, again.json()["unchanged"]) == (200, True)
    assert again.headers["etag"] == made.headers["etag"]
    stale = api.put(
        "/playbooks/tests/adds", content=text, headers={**yaml, "If-Match": '"something else"'}
    )
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    elsewhere = api.put("/playbooks/tests/other", content=text, headers=yaml)
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (422, "invalid-input")
    wrong = api.post("/playbooks", json={"text": text.replace("step: two}", "step: tow}")})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid-playbook")
    body = {"playbook": "tests/adds", "workload": {"n": 1}}
    done = api.post("/executions", json=body, headers={"Prefer": "wait=60"}).json()
    assert (done["output"], done["digest"]) == (4, made.json()["digest"])
    assert "tests/adds" in [item["path"] for item in api.get("/playbooks").json()["items"]]
    assert "def" not in api.get("/playbooks/tests/adds").json()["path"]
    same = api.get(f"/definitions/{done['digest']}")
    assert "immutable" in same.headers["cache-control"]


@pytest.mark.parametrize("name", ["since", "until", "ended_before"])
def test_a_time_that_cannot_be_counted_is_refused(api: httpx2.Client, name: str) -> None:
    answer = api.get("/executions", params={name: "0001-01-01T00:00:00"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
    assert f"'{name}=" in answer.json()["detail"]


@pytest.mark.spec("S16")
def test_executions_are_found_by_the_path_of_their_playbook_too(api: httpx2.Client) -> None:
    """As they are started: two paths may have one name, and each finds its own."""
    ids = {}
    for path, version in (("far/away", 1), ("far/away", 2), ("near/by", 1)):
        named = f"metadata: {{name: pathed, path: {path}, version: {version}}}"
        text = WAITS.replace("metadata: {name: waits}", named)
        assert api.post("/playbooks", json={"text": text}).status_code == 201
        ids[path, version] = api.post("/executions", json={"playbook": path}).json()["id"]

    def found(**given: Any) -> set[str]:
        items = api.get("/executions", params=given).json()["items"]
        counted = api.get("/executions/counts", params=given).json()
        assert counted["total"] == len(items)
        return {one["id"] for one in items}

    far = {ids["far/away", 1], ids["far/away", 2]}
    assert found(playbook="far/away") == far
    assert found(playbook="near/by") == {ids["near/by", 1]}
    assert found(playbook="pathed") == set(ids.values())
    assert found(playbook="far/away", version=1) == {ids["far/away", 1]}
    assert found(playbook="far/away", version=3) == set()
    first = api.get(f"/executions/{ids['far/away', 1]}").json()["digest"]
    assert found(playbook="far/away", version=first) == {ids["far/away", 1]}
    assert found(version=first) == {ids["far/away", 1]}
    assert found(playbook="near/by", version=first) == set()
    assert api.get("/executions", params={"version": "1"}).status_code == 400
    act = {"act": "cancel", "filter": {"playbook": "far/away"}, "reason": "over"}
    assert api.post("/operations", params={"dry_run": 1}, json=act).json()["total"] == len(far)


@pytest.mark.spec("S16")
def test_a_version_is_named_by_its_digest_too(api: httpx2.Client) -> None:
    """Most texts have no version of their own, and all that apply tells of them is the digest."""
    book = WAITS.replace("metadata: {name: waits}", "metadata: {name: waits, path: by/digest}")
    texts = (book, book.replace("signal: go", "signal: on"))
    old, new = (api.post("/playbooks", json={"text": one}).json()["digest"] for one in texts)
    assert api.get("/playbooks/by/digest").json()["digest"] == new
    past = api.get("/playbooks/by/digest", params={"version": old})
    assert (past.status_code, past.json()["digest"], past.json()["text"]) == (200, old, texts[0])
    begun = api.post("/executions", json={"playbook": "by/digest", "version": old})
    assert (begun.status_code, begun.json()["digest"]) == (201, old)
    other = api.post("/executions", json={"playbook": "some/thing", "version": old})
    assert (other.status_code, other.json()["code"]) == (404, "not-found")


def test_a_status_that_there_is_not_is_refused(api: httpx2.Client) -> None:
    for path in ("/executions", "/executions/counts"):
        answer = api.get(path, params={"status": ["failed", "waitin"]})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
        assert "'status=waitin'" in answer.json()["detail"]


def test_a_playbook_is_shown_as_its_author_wrote_it(api: httpx2.Client) -> None:
    yaml = {"Content-Type": "application/yaml"}
    text = "# why\r\n" + ADDS.replace("name: adds", "name: told, path: tests/told")
    made = api.put("/playbooks/tests/told", content=text.encode(), headers=yaml)
    assert (made.status_code, api.get("/playbooks/tests/told").json()["text"]) == (201, text)
    tag = {**yaml, "If-Match": made.headers["etag"]}
    better = text + "# é, and why not\n" + "# more\n" * 10_000
    again = api.put("/playbooks/tests/told", content=better.encode(), headers=tag)
    assert (again.status_code, again.json()["unchanged"]) == (200, True)
    shown = api.get("/playbooks/tests/told")
    assert (shown.json()["text"], shown.headers["etag"]) == (better, made.headers["etag"])
    assert len(api.get("/playbooks/tests/told/versions").json()["items"]) == 1
    run = api.get(f"/definitions/{made.json()['digest']}").json()
    assert "why" not in run["text"]
    stale = api.put(
        "/playbooks/tests/told", content=text.encode(), headers={**yaml, "If-Match": '"other"'}
    )
    assert stale.status_code == 412
    assert api.get("/playbooks/tests/told").json()["text"] == better
    assert api.post("/playbooks", json={"text": run["text"]}).status_code == 200
    assert api.get("/playbooks/tests/told").json()["text"] == run["text"]


def test_a_playbook_says_what_it_is_started_with(api: httpx2.Client) -> None:
    demands = "executor: {spec: {input_schema: {required: [n]}}}\n"
    text = ADDS.replace("workload:", f"{demands}workload:", 1)
    digest = api.post("/playbooks", json={"text": text}).json()["digest"]
    for shown in (
        api.get("/playbooks/adds").json(),
        api.get(f"/definitions/{digest}").json(),
        api.post("/check", json={"text": text}).json(),
    ):
        assert (shown["workload"], shown["input_schema"]) == ({"n": 1}, {"required": ["n"]})
    broken = api.post("/check", json={"text": "workflow: ["}).json()
    assert (broken["workload"], broken["input_schema"]) == ({}, None)


def test_a_text_is_checked_proved_and_migrated(api: httpx2.Client) -> None:
    good = api.post("/check", json={"text": ADDS}).json()
    assert (good["ok"], good["soundness"]["verdict"]) == (True, "sound")
    bad = api.post("/check", json={"text": ADDS.replace("step: two}", "step: tow}")}).json()
    assert not bad["ok"]
    assert bad["problems"][0]["line"] == 6
    assert api.post("/migrate", json={"text": ADDS}).json()["problems"] == []
    assert api.get("/schema").json()["$schema"]
