"""The calls as the design describes them: every call that edits heeds its condition, every list has a cursor, streams say all."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx2
import pytest
from server.books import ADDS, ASKS, WAITS, book
from server.conftest import Served, get
from server.test_executions import started

from petra.server.resources.streams import DELAY_MAX_S, _live, _printed
from petra.wire import Attempt, Error
from petra.wire.frames import LogLine, Retrying

YAML = {"Content-Type": "application/yaml"}
JSON = {"Content-Type": "application/json"}
HEAD = "apiVersion: petra/v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
DOCUMENTS = {
    "schedules": HEAD.format(kind="Schedule", name="conditional")
    + "playbook: some\nevery_s: 86400\n",
    "triggers": HEAD.format(kind="Trigger", name="conditional")
    + "playbook: some\nwebhook: {path: conditional, verify: none}\n",
    "limits/resources": HEAD.format(kind="Resource", name="conditional") + "units: 2\n",
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_is_put_and_removed_on_the_condition_that_was_sent(
    api: httpx2.Client, kind: str
) -> None:
    path, text = f"/{kind}/conditional", DOCUMENTS[kind].encode()
    none = {"If-None-Match": "*"}
    made = api.put(path, content=text, headers=YAML | none)
    assert made.status_code == 201, made.text
    refused = api.put(path, content=text, headers=YAML | none)
    assert (refused.status_code, refused.json()["code"]) == (412, "stale")
    stale = api.delete(path, headers={"If-Match": '"of-yesterday"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    assert api.get(path).status_code == 200, "what is stale removes nothing"
    weak = {"If-Match": f"W/{made.headers['etag']}"}
    assert api.put(path, content=text, headers=YAML | weak).status_code == 200, (
        "as a proxy sends it"
    )
    assert api.delete(path, headers={"If-Match": made.headers["etag"]}).status_code == 200
    assert api.get(path).status_code == 404


@pytest.mark.spec("S14")
def test_an_act_on_a_work_item_is_done_to_what_was_seen(api: httpx2.Client) -> None:
    shown = started(api, ASKS)
    path = f"/work-items/{shown['id']}/approve"
    seen = {"If-Match": api.get(path).headers["etag"]}
    claimed = api.post(f"{path}/claim", headers=seen)
    assert claimed.status_code == 200, claimed.text
    assert claimed.headers["etag"] == api.get(path).headers["etag"] != seen["If-Match"]
    late = api.post(f"{path}/complete", json={"action": "approve"}, headers=seen)
    assert (late.status_code, late.json()["code"]) == (412, "stale")
    tried = api.post(f"{path}/complete", params={"dry_run": "true"}, headers=seen)
    assert "moved on" in tried.json()["refused"]
    now = {"If-Match": claimed.headers["etag"]}
    done = api.post(
        f"{path}/complete", json={"action": "approve"}, headers=now | {"Prefer": "wait=60"}
    )
    assert (done.status_code, done.json()["status"]) == (200, "completed")


def test_an_act_that_needs_no_body_names_what_it_does_not_know_of_one(api: httpx2.Client) -> None:
    path = f"/executions/{started(api, WAITS)['id']}"
    acts = [f"{path}/{act}" for act in ("pause", "resume", "cancel")]
    for kind in ("schedules", "triggers"):
        document = f"/{kind}/conditional"
        assert api.put(document, content=DOCUMENTS[kind].encode(), headers=YAML).status_code == 201
        acts += [f"{document}/pause", f"{document}/resume"]
    for act in acts:
        wrong = api.post(act, json={"why": "so"})
        assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (400, "/why")
        assert api.post(act, json={"reason": "so"}).status_code == 200
    for kind in ("schedules", "triggers"):
        assert api.delete(f"/{kind}/conditional").status_code == 200


@pytest.mark.parametrize(
    ("act", "body", "pointer"),
    [
        ("steps/go/override", {"error": {"kid": "x"}}, "/error/kid"),
        ("steps/go/override", {"error": {"kind": 5}}, "/error/kind"),
        ("rerun", {"from": "go", "set": [1]}, "/set"),
        ("migrate", {"playbook": "p", "renamed": {"a": 5}}, "/renamed"),
    ],
)
def test_what_is_wrong_inside_a_body_is_pointed_at(
    api: httpx2.Client, act: str, body: dict[str, Any], pointer: str
) -> None:
    wrong = api.post(f"/executions/{started(api, WAITS)['id']}/{act}", json=body)
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (400, pointer)


def test_an_element_of_a_list_is_pointed_at_by_its_number(api: httpx2.Client) -> None:
    wrong = api.post("/operations", json={"act": "cancel", "ids": ["a", 5]})
    assert wrong.json()["errors"][0]["pointer"] == "/ids/1"


@pytest.mark.spec("S16")
@pytest.mark.parametrize("path", ["paged", "in/parts"])
def test_versions_go_on_behind_their_cursor(api: httpx2.Client, path: str) -> None:
    url = f"/playbooks/{path}"
    applied = []
    for number in range(5):
        text = book(f"  - {{step: one, desc: '{number}', tool: {{kind: noop}}}}\n", "paged")
        text = text.replace("{name: paged}", f"{{name: paged, path: {path}}}")
        made = api.put(url, content=text, headers=YAML)
        assert made.status_code == 201, made.text
        applied.append(made.json()["digest"])
    seen: list[str] = []
    page: dict[str, Any] = {}
    more: dict[str, str] = {}
    for _ in range(3):
        page = api.get(f"{url}/versions", params={"limit": 2, **more}).json()
        seen += [one["digest"] for one in page["items"]]
        more = {"cursor": str(page["next"])}
    assert (seen, page["next"]) == (applied[::-1], None)
    strange = api.get(f"{url}/versions", params={"cursor": "nonsense"})
    assert (strange.status_code, strange.json()["code"]) == (422, "invalid-input")


@pytest.mark.spec("S20")
def test_a_rerun_goes_on_with_a_playbook_by_its_path_or_as_text(api: httpx2.Client) -> None:
    first = started(api, ADDS, workload={"n": 1})["id"]
    other = ADDS.replace("n * 2", "n * 100").replace("name: adds", "name: adds, path: other/adds")
    assert api.put("/playbooks/other/adds", content=other, headers=YAML).status_code in (200, 201)
    for playbook in ("other/adds", {"text": other}, other):
        body = {"from": "two", "playbook": playbook}
        again = api.post(f"/executions/{first}/rerun", json=body, headers={"Prefer": "wait=60"})
        assert (again.status_code, again.json()["output"]) == (201, 200), again.text
    nowhere = api.post(f"/executions/{first}/rerun", json={"from": "two", "playbook": "no/where"})
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "not-found")


@pytest.mark.spec("S24")
def test_a_backfill_under_a_key_happens_once(api: httpx2.Client) -> None:
    for name in ("filled", "other-filled"):
        text = HEAD.format(kind="Schedule", name=name) + "playbook: some\nevery_s: 3600\n"
        assert api.put(f"/schedules/{name}", content=text.encode(), headers=YAML).status_code == 201
    body = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T03:00:00Z"}
    key = {"Idempotency-Key": "fill-it"}
    first, second = (
        api.post("/schedules/filled/backfill", json=body, headers=key) for _ in range(2)
    )
    assert (first.status_code, first.json()) == (200, second.json()), first.text
    other = api.post("/schedules/filled/backfill", json={**body, "to": "2026-01-02"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "key-reused")
    runs = [
        api.post(f"/schedules/{name}/run", headers=key)
        for name in ("filled", "filled", "other-filled")
    ]
    assert [one.status_code for one in runs] == [201] * 3
    ids = [one.json()["execution"] for one in runs]
    assert ids[0] == ids[1] != ids[2], "a key counts for one schedule"
    for name in ("filled", "other-filled"):
        assert api.delete(f"/schedules/{name}").status_code == 200


def test_an_operation_takes_every_name_of_the_list(api: httpx2.Client) -> None:
    wanted = {"playbook": "no-such", "ended_before": "2020-01-01T00:00:00Z"}
    body = {"act": "cancel", "filter": wanted}
    tried = api.post("/operations", json=body, params={"dry_run": "true"})
    assert (tried.status_code, tried.json()["total"]) == (200, 0), tried.text


def test_the_pools_that_have_workers_are_told_to_who_may_see_them(
    server: Served, api: httpx2.Client
) -> None:
    assert api.get("/meta").json()["pools"] == ["default"]
    stranger = get(f"{server.url}/api/v1/meta")
    assert stranger.json()["pools"] == []


def _data(event: bytes) -> Any:
    return json.loads(event.partition(b"data: ")[2])


def test_a_hint_says_when_the_next_try_comes_and_why() -> None:
    attempt = Attempt(
        task="pay", number=2, status="error", action="retry", delay_s=30.0,
        error=Error(kind="server_error", message="503"),
    )  # fmt: skip
    notice = Retrying(execution="e", run="r", attempt=attempt, of=5)
    told = _live(notice, 1_700_000_000.0)
    assert told["next_at"] == "2023-11-14T22:13:50.000Z"
    assert (told["run"], told["of"], told["attempt"]["number"]) == ("r", 5, 2)
    assert told["note"] == "server_error: 503"


@pytest.mark.parametrize("strange", [-1.0, 1e300, float("inf"), float("nan"), DELAY_MAX_S * 2])
def test_what_a_worker_says_of_a_pause_harms_no_stream(strange: float) -> None:
    attempt = Attempt(task="pay", number=1, status="error", action="retry", delay_s=strange)
    assert _live(Retrying(execution="e", run="r", attempt=attempt), 0.0)["next_at"] is None


def test_what_is_printed_is_told_with_the_run_that_is_listened_to() -> None:
    line = LogLine(at=1.0, execution="e", step="s", task="t", text="hello", run="id")
    assert _data(_printed([line], 3)) == {
        "run": 3,
        "lines": [{**_data(_printed([line]))["lines"][0]}],
    }
    assert _data(_printed([line]))["run"] is None


@pytest.mark.parametrize(
    ("method", "path", "headers", "name"),
    [
        ("GET", "/executions/{id}/runs?state=nope", {}, "state"),
        ("GET", "/executions/{id}/runs/1/iterations?from=x", {}, "from"),
        ("GET", "/executions/{id}/stream?as=cats", {}, "as"),
        ("POST", "/executions/{id}/pause?dry_run=perhaps", {}, "dry_run"),
        ("POST", "/executions/{id}/pause", {"Idempotency-Key": "x" * 201}, "Idempotency-Key"),
    ],
)
def test_what_is_wrong_beside_a_body_is_called_as_it_was_sent(
    api: httpx2.Client, method: str, path: str, headers: dict[str, str], name: str
) -> None:
    execution = started(api, WAITS)["id"]
    wrong = api.request(method, path.format(id=execution), headers=headers)
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (400, f"/{name}")


@pytest.mark.parametrize("path", ["/executions", "/schedules/preview", "/operations"])
def test_that_a_body_is_missing_is_said(api: httpx2.Client, path: str) -> None:
    wrong = api.post(path)
    assert (wrong.status_code, wrong.json()["errors"][0]["code"]) == (400, "missing-field")
    assert "the body is missing" in wrong.json()["detail"]


@pytest.mark.parametrize("what", ["heat", "standing", "versions"])
def test_what_is_read_of_a_playbook_says_that_it_can_only_be_read(
    api: httpx2.Client, what: str
) -> None:
    answer = api.options(f"/playbooks/asks/{what}")
    assert (answer.status_code, answer.headers["Allow"]) == (204, "GET, OPTIONS")
    assert "PUT" in api.options("/playbooks/asks").headers["Allow"]


@pytest.mark.parametrize("name", ["limit", "last"])
def test_a_number_that_is_too_large_is_refused_where_it_would_not_be_used(
    api: httpx2.Client, name: str
) -> None:
    assert (
        api.post(
            "/playbooks", json={"text": book("  - {step: a, tool: {kind: noop}}\n", "counted")}
        ).status_code
        < 300
    )
    assert api.get("/playbooks/counted").status_code == 200
    answer = api.get("/playbooks/counted", params={name: 5_289_083_777})
    assert answer.status_code == 400
    assert f"'{name}' is 5289083777" in answer.json()["detail"]


def test_a_call_that_takes_no_body_names_what_is_in_one(server: Served, api: httpx2.Client) -> None:
    """It was passed over: who had written ``dry_run`` into the body had it done."""
    paths = get(f"{server.url}/openapi.json").json()["paths"]
    id_ = started(api, ADDS)["id"]
    calls = [
        path.removeprefix("/api/v1").replace("{execution}", id_)
        for path, ops in paths.items()
        if "post" in ops and "requestBody" not in ops["post"] and path.startswith("/api/v1")
    ]
    assert f"/executions/{id_}/verify" in calls
    for path in calls:
        wrong = api.post(path, json={"bogus": 1})
        assert wrong.status_code == 400, (path, wrong.text)
        assert wrong.json()["errors"][0]["pointer"] == "/bogus"
        assert api.post(path, json=[]).status_code == 400
    for nothing in (b"", b"null", b"{}"):
        verified = api.post(f"/executions/{id_}/verify", content=nothing, headers=JSON)
        assert verified.status_code == 200, verified.text


def test_a_body_that_is_compressed_is_refused_with_the_reason(api: httpx2.Client) -> None:
    body = gzip.compress(b'{"playbook": "some"}')
    for path in ("/executions", "/check"):
        packed = api.post(path, content=body, headers={"Content-Encoding": "gzip"})
        assert (packed.status_code, packed.json()["code"]) == (400, "bad-request")
        assert "'Content-Encoding: gzip'" in packed.json()["detail"]
    plain = api.post("/check", content=ADDS.encode(), headers=YAML)
    assert plain.status_code == 200, plain.text


def test_a_schedule_is_previewed_as_the_text_that_it_is(api: httpx2.Client) -> None:
    text = DOCUMENTS["schedules"].replace("every_s: 86400", "cron: '30 2 * * *'")
    bare = api.post("/schedules/preview", content=text, headers=YAML)
    assert (bare.status_code, len(bare.json()["next"])) == (200, 10), bare.text
    assert bare.json() == api.post("/schedules/preview", json={"text": text}).json()
    wrong = api.post("/schedules/preview", json={"text": text, "count": 3})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (400, "/count")


@pytest.mark.parametrize("path", ["/check", "/migrate", "/tests", "/simulate", "/playbooks"])
def test_what_is_sent_beside_a_text_is_pointed_at(api: httpx2.Client, path: str) -> None:
    wrong = api.post(path, json={"text": ADDS, "bogus": 1})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (400, "/bogus")


def test_a_playbook_that_is_applied_under_its_own_path_says_where_it_is(
    api: httpx2.Client,
) -> None:
    text = ADDS.replace("name: adds", "name: adds, path: 'where/it is'")
    made = api.post("/playbooks", json={"text": text})
    assert (made.status_code, made.headers["location"]) == (201, "/api/v1/playbooks/where/it%20is")
    assert api.get("/playbooks/where/it%20is").json()["text"] == text


def test_an_id_whose_address_is_that_of_something_else_is_refused(api: httpx2.Client) -> None:
    refused = api.post("/executions", json={"playbook": {"text": ADDS}, "id": "counts"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-input")


def test_a_signal_may_be_called_as_its_playbook_calls_it(api: httpx2.Client) -> None:
    """A slash is one in the address, too, however it is written there."""
    for sent in ("bank/paid", "bank%2Fpaid"):
        path = f"/executions/{started(api, WAITS.replace('signal: go', 'signal: bank/paid'))['id']}"
        done = api.post(f"{path}/signals/{sent}", headers={"Prefer": "wait=60"})
        assert (done.status_code, done.json()["waited"]) == (200, True), done.text
        assert done.json()["execution"]["status"] == "completed"
