"""Triggers and webhooks over HTTP, and by the verbs of the command line at a server (S24)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from server.conftest import TRUSTED, Served, serve
from server.newcomers import acting_as, user
from support import forks

from petra.clock import SystemClock
from petra.desk.trigger_views import watch_data
from petra.notify.signing import signed
from petra.server.metrics import TRIGGERS_MAX, events_in_numbers

pytestmark = pytest.mark.spec("S24")
SECRET = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ="
BOOK = """
apiVersion: petra/v1
kind: Playbook
metadata: {name: hooked}
executor: {spec: {output: {sum: "{{ workload.a | default(0) + workload.b | default(0) }}"}}}
workflow:
  - step: done
    tool: {kind: noop}
"""


def _text(name: str, hook: str, more: str = "") -> str:
    head = f"apiVersion: petra/v1\nkind: Trigger\nmetadata: {{name: {name}}}\nplaybook: hooked\n"
    return f"{head}webhook: {{path: {name}, {hook}}}\n{more}"


def _put(api: httpx2.Client, name: str, text: str, **headers: str) -> httpx2.Response:
    given = {"Content-Type": "application/yaml", **headers}
    return api.put(f"/triggers/{name}", content=text.encode(), headers=given)


def _applied(api: httpx2.Client, name: str, hook: str = "verify: none", more: str = "") -> None:
    made = _put(api, name, _text(name, hook, more))
    assert made.status_code in (200, 201), made.text


def _signed(body: bytes, name: str = "msg_1", at: int | None = None, secret: str = SECRET) -> Any:
    now = int(SystemClock().now()) if at is None else at
    return {
        "webhook-id": name,
        "webhook-timestamp": str(now),
        "webhook-signature": signed(secret, name, now, body),
        "content-type": "application/json",
    }


@pytest.fixture(scope="module", autouse=True)
def _book(server: Served) -> None:
    with server.client() as api:
        made = api.put(
            "/playbooks/hooked", content=BOOK.encode(), headers={"Content-Type": "application/yaml"}
        )
        assert made.status_code in (200, 201), made.text
        assert api.put("/secrets/hook", json={"value": SECRET}).status_code < 300


@pytest.fixture
def hooks(server: Served) -> Iterator[httpx2.Client]:
    """Somebody who has no account here."""
    with httpx2.Client(base_url=f"{server.url}/hooks", timeout=300, verify=TRUSTED) as client:
        yield client


def test_a_trigger_is_put_listed_changed_and_removed(api: httpx2.Client) -> None:
    made = _put(api, "first", _text("first", "verify: none"))
    assert (made.status_code, made.json()["kind"]) == (201, "Trigger")
    assert _put(api, "first", _text("first", "verify: none")).status_code == 200
    shown = api.get("/triggers/first")
    assert shown.headers["etag"] == f'"{made.json()["digest"]}"'
    assert shown.json()["words"] == "POST /hooks/first (none)"
    stale = _put(api, "first", _text("first", "secret: hook"), **{"If-Match": '"old"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    assert _put(api, "first", _text("first", "secret: hook")).status_code == 201
    assert "first" in [one["name"] for one in api.get("/triggers").json()["items"]]
    wrong = _put(api, "first", _text("second", "verify: none"))
    assert wrong.json()["code"] == "invalid-input"
    bad = _put(api, "first", _text("first", "secret: hook, verify: hmac"))
    assert (bad.status_code, "header" in bad.json()["errors"][0]["message"]) == (422, True)
    assert api.delete("/triggers/first").json() == {"removed": "first"}
    assert api.get("/triggers/first").json()["code"] == "not-found"


def test_a_signed_request_starts_one_execution_however_often_it_comes(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    _applied(api, "signed", "secret: hook", "workload: '{{ event.body }}'\n")
    body = b'{"a": 1, "b": 2}'
    first = hooks.post("/signed", content=body, headers=_signed(body))
    assert (first.status_code, first.json()["state"]) == (202, "started")
    again = hooks.post("/signed", content=body, headers=_signed(body))
    assert (again.status_code, again.json()["state"]) == (200, "duplicate")
    assert first.json()["execution"] == again.json()["execution"]
    with ThreadPoolExecutor(8) as pool:
        many = list(
            pool.map(
                lambda _: hooks.post("/signed", content=body, headers=_signed(body, "two")),
                range(16),
            )
        )
    assert sorted(one.json()["state"] for one in many) == ["duplicate"] * 15 + ["started"]
    assert len({one.json()["execution"] for one in many}) == 1
    listed = api.get("/executions", params={"label": "petra/trigger:signed"}).json()["items"]
    assert len(listed) == 2


def test_what_is_not_signed_or_too_old_is_refused_and_noted(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    _applied(api, "guarded", "secret: hook")
    body = b"{}"
    refused = [
        hooks.post("/guarded", content=body),
        hooks.post("/guarded", content=b"[]", headers=_signed(body)),
        hooks.post("/guarded", content=body, headers=_signed(body, secret="another")),
        hooks.post(
            "/guarded", content=body, headers=_signed(body, at=int(SystemClock().now()) - 3_600)
        ),
        hooks.post(
            "/guarded", content=body, headers=_signed(body, at=int(SystemClock().now()) + 3_600)
        ),
    ]
    assert {(one.status_code, one.json()["code"]) for one in refused} == {(401, "unverified")}
    assert api.get("/executions", params={"label": "petra/trigger:guarded"}).json()["items"] == []
    noted = api.get("/audit", params={"limit": 500}).json()["items"]
    assert any(one["act"] == "POST /hooks/guarded" and one["outcome"] == "refused" for one in noted)
    assert hooks.post("/nowhere", content=body).status_code == 404
    assert hooks.get("/guarded").status_code == 405


def test_a_body_is_bounded_and_must_be_readable(api: httpx2.Client, hooks: httpx2.Client) -> None:
    _applied(api, "bounded", "verify: none, max_bytes: 1000")
    large = hooks.post("/bounded", content=b'"' + b"x" * 1_000 + b'"')
    assert (large.status_code, large.json()["code"]) == (413, "too-large")
    chunks = hooks.post("/bounded", content=iter([b"x" * 600, b"x" * 600]))
    assert chunks.status_code == 413
    assert hooks.post("/bounded", content=b"{").json()["code"] == "bad-request"
    assert hooks.post("/bounded", content=b"{}").status_code == 202


def test_a_webhook_is_answered_with_the_result_when_it_waits(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    more = "workload: '{{ event.body }}'\n"
    _applied(api, "plain", "verify: none, respond: {wait: 60}", more)
    found = hooks.post("/plain", json={"a": 3, "b": 4})
    assert (found.status_code, found.json()) == (200, {"sum": 7})
    respond = """respond: {wait: 60, status: "{{ 201 if execution.status == 'completed' else 502 }}",
      headers: {X-Sum: "{{ execution.output.sum }}"}, body: "Sum: {{ execution.output.sum }}, {{ event.body.a }}"}"""
    _applied(api, "worded", f"verify: none, {respond}", more)
    worded = hooks.post("/worded", json={"a": 3, "b": 4})
    assert (worded.status_code, worded.text, worded.headers["x-sum"]) == (201, "Sum: 7, 3", "7")
    assert worded.headers["content-type"].startswith("text/plain")
    again = hooks.post("/worded", json={"a": 3, "b": 4}, headers={"Idempotency-Key": "k"})
    same = hooks.post("/worded", json={"a": 9, "b": 4}, headers={"Idempotency-Key": "k"})
    assert again.text == "Sum: 7, 3"
    assert same.text == "Sum: 7, 9"


def test_an_event_whose_execution_is_removed_is_a_duplicate_still(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    _applied(api, "removed", "verify: none, respond: {wait: 60}")
    key = {"Idempotency-Key": "r"}
    assert hooks.post("/removed", json={}, headers=key).json() == {"sum": 0}
    [one] = api.get("/executions", params={"label": "petra/trigger:removed"}).json()["items"]
    gone = api.post(
        "/requests", json={"type": "remove", "id": "r1", "execution": "", "executions": [one["id"]]}
    )
    assert gone.status_code == 200, gone.text
    again = hooks.post("/removed", json={}, headers=key)
    assert (again.status_code, again.json()["state"]) == (200, "duplicate")


def test_a_waiting_answer_says_that_the_execution_goes_on(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    slow = BOOK.replace("hooked", "slow-hook").replace(
        "kind: noop", "kind: wait, signal: {name: go}"
    )
    api.put(
        "/playbooks/slow-hook", content=slow.encode(), headers={"Content-Type": "application/yaml"}
    )
    text = _text("slow", "verify: none, respond: {wait: 0.05}").replace(
        "playbook: hooked", "playbook: slow-hook"
    )
    assert _put(api, "slow", text).status_code == 201
    found = hooks.post("/slow", json={})
    assert (found.status_code, found.json()["state"]) == (202, "started")
    assert found.headers["location"].endswith(found.json()["execution"])
    api.post(f"/executions/{found.json()['execution']}/cancel", json={})


def test_senders_find_out_whether_the_address_is_meant(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    _applied(api, "slacked", "secret: hook, verify: standard, challenge: slack")
    body = json.dumps({"type": "url_verification", "challenge": "<b>abc"}).encode()
    asked = hooks.post("/slacked", content=body, headers=_signed(body, "c"))
    assert (asked.status_code, asked.text) == (200, "<b>abc")
    assert asked.headers["content-type"].startswith("text/plain")
    assert hooks.post("/slacked", content=body).status_code == 401
    _applied(api, "met", "secret: hook, verify: github, challenge: meta")
    given = {"hub.mode": "subscribe", "hub.challenge": "42", "hub.verify_token": SECRET}
    assert hooks.get("/met", params=given).text == "42"
    assert hooks.get("/met", params={**given, "hub.verify_token": "no"}).status_code == 401
    _applied(api, "graphed", "verify: none, challenge: microsoft")
    assert hooks.post("/graphed", params={"validationToken": "a b"}).text == "a b"
    _applied(api, "clouded", "verify: none, format: cloudevents")
    allowed = hooks.options("/clouded", headers={"WebHook-Request-Origin": "shop.example"})
    assert allowed.headers["webhook-allowed-origin"] == "shop.example"
    assert hooks.options("/met", headers={"WebHook-Request-Origin": "x"}).status_code == 405
    assert api.get("/executions", params={"label": "petra/trigger:slacked"}).json()["items"] == []


def test_a_batch_of_cloud_events_starts_one_execution_for_each(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    _applied(
        api,
        "cloud",
        "verify: none, format: cloudevents",
        "when: \"{{ event.type == 'placed' }}\"\n",
    )
    made = [
        {
            "specversion": "1.0",
            "id": str(n % 40),
            "source": "/shop",
            "type": "placed" if n else "other",
        }
        for n in range(50)
    ]
    kind = {"content-type": "application/cloudevents-batch+json"}
    found = hooks.post("/cloud", content=json.dumps(made).encode(), headers=kind)
    states = [one["state"] for one in found.json()["events"]]
    assert (found.status_code, states[0]) == (202, "passed")
    assert (states.count("started"), states.count("duplicate")) == (40, 9)
    one = hooks.post(
        "/cloud",
        content=json.dumps(made[7]).encode(),
        headers={"content-type": "application/cloudevents+json"},
    )
    assert (one.status_code, one.json()["state"]) == (200, "duplicate")


def test_a_paused_webhook_tells_its_sender_to_come_again(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    _applied(api, "resting")
    assert api.post("/triggers/resting/pause", json={"reason": "night"}).json()["done"] == "pause"
    found = hooks.post("/resting", json={})
    assert (found.status_code, "retry-after" in found.headers) == (503, True)
    assert api.post("/triggers/resting/pause").status_code == 409
    api.post("/triggers/resting/resume")
    assert hooks.post("/resting", json={}).status_code == 202


def test_a_secret_that_is_missing_is_told_as_our_trouble(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    _applied(api, "lacking", "secret: nowhere")
    assert hooks.post("/lacking", content=b"{}", headers=_signed(b"{}")).status_code == 503


def test_what_came_of_events_is_counted(
    server: Served, api: httpx2.Client, hooks: httpx2.Client
) -> None:
    _applied(api, "counted", more='when: "{{ event.body.a > 1 }}"\nkey: "{{ event.body.order }}"\n')
    for number in (0, 1, 2, 2):
        hooks.post("/counted", json={"a": number, "order": "7"})
    hooks.post("/counted", json={"a": 2})
    shown = httpx2.get(f"{server.url}/metrics").text
    for outcome, count in (("passed", 2), ("started", 1), ("duplicate", 1), ("dead", 1)):
        labels = f'namespace="default",trigger="counted",outcome="{outcome}"'
        assert f"petra_trigger_events_total{{{labels}}} {count}\n" in shown


def test_of_more_triggers_than_can_be_shown_all_others_are_one() -> None:
    outcomes = {("n", f"{number:03}", "started"): 2 for number in range(TRIGGERS_MAX + 3)}
    shown = events_in_numbers(outcomes)
    assert len(shown) == TRIGGERS_MAX + 1
    other = (("namespace", ""), ("trigger", "other"), ("outcome", "started"))
    assert (shown[other], sum(shown.values())) == (6, 2 * len(outcomes))


def test_dead_letters_are_listed_and_tried_again(api: httpx2.Client, hooks: httpx2.Client) -> None:
    _applied(api, "dying", more='key: "{{ event.body.order }}"\n')
    found = hooks.post("/dying", json={})
    assert (found.status_code, found.json()) == (202, {"state": "dead"})
    [letter] = api.get("/triggers/dying/dead").json()["items"]
    assert "order" in letter["error"]
    assert msgspec.convert([letter["created"], letter["updated"]], list[datetime])
    _applied(api, "dying", more="key: \"{{ event.body.order | default('none') }}\"\n")
    assert api.post("/triggers/dying/replay", json={"ids": ["x"]}).json()["code"] == "not-found"
    assert api.post("/triggers/dying/replay").json() == {"name": "dying", "replayed": 1}
    tried = api.post("/triggers/dying/test", json={"event": {"body": {"order": 7}}}).json()
    assert (tried["counts"], tried["key"]) == (True, "7")
    assert hooks.post("/dying", json={}).json()["state"] in ("waiting", "duplicate", "started")


def test_what_a_trigger_started_last_is_told_with_its_time(
    api: httpx2.Client, hooks: httpx2.Client
) -> None:
    _applied(api, "timed")
    begun = hooks.post("/timed", json={}).json()["execution"]
    api.get(f"/executions/{begun}", headers={"Prefer": "wait=60"})
    [last] = api.get("/triggers/timed").json()["last"]
    shown = api.get(f"/executions/{begun}").json()
    told = msgspec.convert([last["started"], last["ended"]], list[datetime])
    assert told == msgspec.convert([shown["started"], shown["ended"]], list[datetime])


def test_when_nobody_listened_is_told_as_times() -> None:
    watch = {
        "trouble": "",
        "until": 20.5,
        "listening_since": None,
        "missed": [{"since": 1.0, "until": 2.0}],
    }
    assert watch_data(watch) == {
        "trouble": "", "until": "1970-01-01T00:00:20.500+00:00", "listening_since": None,
        "missed": [{"since": "1970-01-01T00:00:01+00:00", "until": "1970-01-01T00:00:02+00:00"}],
    }  # fmt: skip


def test_who_may_do_what_with_triggers(server: Served, api: httpx2.Client) -> None:
    _applied(api, "owned")
    author, viewer = user(api, "author"), user(api, "viewer")
    with acting_as(server, api, author) as his:
        assert _put(his, "mine", _text("mine", "verify: none")).status_code == 201
        files = "apiVersion: petra/v1\nkind: Trigger\nmetadata: {name: f}\nplaybook: hooked\nfiles: {folder: /}\n"
        assert _put(his, "f", files).status_code == 403
        assert his.post("/triggers/owned/pause").status_code == 403
    with acting_as(server, api, viewer) as hers:
        assert hers.get("/triggers/owned").status_code == 200
        assert _put(hers, "owned", _text("owned", "secret: hook")).status_code == 403
        assert hers.post("/triggers/owned/replay").status_code == 403


def test_the_example_answers_with_a_price(
    api: httpx2.Client, hooks: httpx2.Client, root: Path
) -> None:
    yaml = {"Content-Type": "application/yaml"}
    book = (root / "examples/quote.yaml").read_bytes()
    assert api.put("/playbooks/quote", content=book, headers=yaml).status_code < 300
    assert api.put("/secrets/shop-hook", json={"value": SECRET}).status_code < 300
    made = _put(api, "quotes", (root / "examples/quote.trigger.yaml").read_text("utf-8"))
    assert made.status_code == 201, made.text
    body = b'{"weight": 10, "to": "ch"}'
    found = hooks.post("/shop/quotes", content=body, headers=_signed(body, "q1"))
    assert (found.status_code, found.json()) == (200, {"price": 50, "text": "10 kg to CH"})
    none = b'{"weight": 0, "to": "ch"}'
    passed = hooks.post("/shop/quotes", content=none, headers=_signed(none, "q2"))
    assert (passed.status_code, passed.json()) == (200, {"state": "passed"})


def _petra(served: Served, *words: str, code: int = 0) -> Any:
    env = {"PETRA_TOKEN": served.said["token"], "PATH": "/usr/bin", "NO_COLOR": "1"}
    done = forks.PETRA.run(
        Path.cwd(), *words, "--server", served.url, "-o", "json", environment=env
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_verbs_do_at_a_server_what_they_do_in_a_folder(server: Served, tmp_path: Path) -> None:
    file = tmp_path / "verbs.yaml"
    file.write_text(_text("verbs", "verify: none"))
    [done] = _petra(server, "trigger", "apply", str(file))["applied"]
    assert (done["kind"], done["path"], done["unchanged"]) == ("Trigger", "verbs", False)
    assert "verbs" in [one["name"] for one in _petra(server, "trigger", "list")]
    assert _petra(server, "trigger", "test", "verbs", "--event", "{}")["counts"]
    assert _petra(server, "trigger", "pause", "verbs") == {"name": "verbs", "done": "pause"}
    assert _petra(server, "trigger", "get", "verbs")["paused"]
    assert _petra(server, "trigger", "dead", "verbs") == []
    assert _petra(server, "trigger", "rm", "verbs") == {"removed": "verbs"}


@pytest.mark.slow
def test_an_event_starts_one_execution_when_the_server_is_killed_again_and_again(
    tmp_path: Path,
) -> None:
    """Whoever gets no answer sends again, also while others do: in the end each event has one execution."""
    home, events = tmp_path / ".petra", [f"e{n}" for n in range(60)]
    answered: set[str] = set()
    for round_ in range(3):
        with serve(home) as served:
            with served.client() as api:
                if not round_:
                    api.put(
                        "/playbooks/hooked",
                        content=BOOK.encode(),
                        headers={"Content-Type": "application/yaml"},
                    )
                    _applied(api, "killed")
            asyncio.run(_storm(served, events, answered, kill=round_ < 2))
    assert answered == set(events)
    with serve(home) as served, served.client() as api:
        listed = api.get(
            "/executions", params={"label": "petra/trigger:killed", "limit": 500}
        ).json()["items"]
        assert sorted(one["labels"]["petra/event"] for one in listed) == sorted(
            f"idempotency-key:{one}" for one in events
        )


async def _storm(served: Served, events: list[str], answered: set[str], *, kill: bool) -> None:
    """Send every event three times at once; kill the server after some answers."""

    async def send(client: httpx2.AsyncClient, name: str) -> None:
        try:
            found = await client.post(
                f"{served.url}/hooks/killed", json={}, headers={"Idempotency-Key": name}
            )
        except httpx2.TransportError:
            return
        if found.status_code in (200, 202):
            answered.add(name)
            if kill and len(answered) % 20 == 7:
                served.process.kill()

    async with httpx2.AsyncClient(timeout=300, limits=httpx2.Limits(max_connections=16)) as client:
        await asyncio.gather(*(send(client, name) for name in events for _ in range(3)))
