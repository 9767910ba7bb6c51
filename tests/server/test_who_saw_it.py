"""``If-Match``: of two who saw the same, one changes it and the other is told; and nets that are refused (S19)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from server.books import WAITS, book
from server.conftest import Served
from server.test_executions import started

ROUNDS, WRITERS = 5, 6
YAML = {"Content-Type": "application/yaml"}
UNSOUND = book(
    "  - {step: out, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}\n"
    "  - {step: a, next: {arcs: [{step: meet}]}}\n"
    "  - {step: b, tool: {kind: noop}}\n"
    "  - {step: meet, spec: {join: {mode: all}}, tool: {kind: noop}}\n",
    name="leaves",
)


def version(number: int) -> str:
    return book(f"  - {{step: one, desc: '{number}', tool: {{kind: noop}}}}\n", name="contested")


@pytest.mark.slow
def test_of_many_who_change_the_ctx_they_saw_one_does(server: Served, api: httpx2.Client) -> None:
    shown = started(api, WAITS)
    path, seen = f"/executions/{shown['id']}/ctx", f'"{shown["version"]}"'
    for number in range(ROUNDS):

        def patch(writer: int, number: int = number, seen: str = seen) -> httpx2.Response:
            with server.client() as own:
                body = {"values": {f"k{number}": writer}}
                return own.patch(path, json=body, headers={"If-Match": seen})

        with ThreadPoolExecutor(WRITERS) as pool:
            answers = list(pool.map(patch, range(WRITERS)))
        assert sorted(one.status_code for one in answers) == [200] + [412] * (WRITERS - 1)
        (won,) = (one for one in answers if one.status_code == 200)
        assert {one.json()["code"] for one in answers if one is not won} == {"stale"}
        ctx = api.get(f"/executions/{shown['id']}").json()["ctx"]
        assert ctx[f"k{number}"] == answers.index(won)
        seen = won.headers["etag"]


def test_a_change_that_is_sent_again_is_the_same_change(api: httpx2.Client) -> None:
    shown = started(api, WAITS)
    path = f"/executions/{shown['id']}/ctx"
    headers = {"If-Match": f'"{shown["version"]}"', "Idempotency-Key": f"patch-{shown['id']}"}
    first, second = (api.patch(path, json={"values": {"a": 1}}, headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.headers["etag"] == second.headers["etag"]


ACTS: dict[str, dict[str, object]] = {
    "signals/other": {}, "pause": {}, "resume": {}, "cancel": {}, "steps/go/override": {"ok": 1},
    "steps/go/retry": {}, "groups/none": {"change": "close"}, "migrate": {"playbook": {"text": WAITS}},
    "rerun": {"from": "go"}, "fork": {"at": 1},
}  # fmt: skip


@pytest.mark.spec("S12")
@pytest.mark.parametrize("act", ACTS)
def test_every_act_is_done_to_what_was_seen(api: httpx2.Client, act: str) -> None:
    shown = started(api, WAITS)
    path, stale = f"/executions/{shown['id']}", {"If-Match": '"1"'}
    refused = api.post(f"{path}/{act}", json=ACTS[act], headers=stale)
    assert (refused.status_code, refused.json()["code"]) == (412, "stale"), refused.text
    assert "its version is 2, not 1" in refused.json()["detail"]
    tried = api.post(f"{path}/{act}", json=ACTS[act], headers=stale, params={"dry_run": "1"})
    assert "moved on" in (tried.json().get("refused") or tried.json()["detail"])
    now = {"If-Match": api.get(path).headers["etag"]}
    assert api.post(f"{path}/{act}", json=ACTS[act], headers=now).status_code != 412
    api.post(f"{path}/cancel", headers={"Prefer": "wait=60"})  # unless the act has ended it
    assert api.get(path).json()["status"] in {"completed", "failed", "aborted"}
    late = api.post(f"{path}/pause", headers=now)
    assert (late.status_code, late.json()["code"]) == (412, "stale"), "though it has ended, too"


def test_an_act_answers_with_the_tag_that_the_next_one_may_name(api: httpx2.Client) -> None:
    path = f"/executions/{started(api, WAITS)['id']}"
    tag = api.get(path).headers["etag"]
    for act in ("pause", "resume", "signals/go"):
        done = api.post(f"{path}/{act}", headers={"If-Match": tag, "Prefer": "wait=60"})
        assert done.status_code == 200, done.text
        tag = done.headers["etag"]
    assert tag == api.get(path).headers["etag"]


def test_an_act_under_a_key_is_answered_by_what_was_sent(api: httpx2.Client) -> None:
    path = f"/executions/{started(api, WAITS)['id']}"
    api.post(f"{path}/pause")
    key = {"Idempotency-Key": f"on-{path}"}
    first, second = (api.post(f"{path}/resume", json={"reason": "a"}, headers=key) for _ in "12")
    assert (first.status_code, first.json()) == (200, second.json())
    other = api.post(f"{path}/resume", json={"reason": "b"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "key-reused"), "its reason differs"
    seen_since = api.post(
        f"{path}/resume", json={"reason": "a"}, headers={**key, "If-Match": '"3"'}
    )
    assert seen_since.status_code == 200, (
        "it was done then: what was seen is no part of the question"
    )


@pytest.mark.parametrize("seen", ["zzz", '"99999999999999999999"', '"-1"'])
def test_a_version_that_cannot_be_is_stale(api: httpx2.Client, seen: str) -> None:
    path = f"/executions/{started(api, WAITS)['id']}/ctx"
    answer = api.patch(path, json={"values": {"a": 1}}, headers={"If-Match": seen})
    assert (answer.status_code, answer.json()["code"]) == (412, "stale")


@pytest.mark.slow
@pytest.mark.spec("S16")
def test_of_many_who_replace_the_playbook_they_saw_one_does(
    server: Served, api: httpx2.Client
) -> None:
    made = api.put("/playbooks/contested", content=version(0), headers=YAML)
    seen = made.headers["etag"]
    for number in range(1, ROUNDS):

        def put(writer: int, number: int = number, seen: str = seen) -> httpx2.Response:
            with server.client() as own:
                text = version(number * WRITERS + writer)
                return own.put(
                    "/playbooks/contested", content=text, headers={**YAML, "If-Match": seen}
                )

        with ThreadPoolExecutor(WRITERS) as pool:
            answers = list(pool.map(put, range(WRITERS)))
        assert sorted(one.status_code for one in answers) == [201] + [412] * (WRITERS - 1)
        (won,) = (one for one in answers if one.status_code == 201)
        assert {one.json()["code"] for one in answers if one is not won} == {"stale"}
        assert api.get("/playbooks/contested").headers["etag"] == won.headers["etag"]
        seen = won.headers["etag"]


@pytest.mark.spec("S16")
def test_a_star_stands_for_any_playbook_that_is_there_and_for_none_that_is_not(
    api: httpx2.Client,
) -> None:
    any_of_them = {**YAML, "If-Match": "*"}
    text = version(0).replace("contested", "starred")
    refused = api.put("/playbooks/starred", content=text, headers=any_of_them)
    assert (refused.status_code, refused.json()["code"]) == (412, "stale")
    assert api.get("/playbooks/starred").status_code == 404
    assert api.put("/playbooks/starred", content=text, headers=YAML).status_code == 201
    assert api.put("/playbooks/starred", content=text, headers=any_of_them).status_code == 200
    other = version(1).replace("contested", "starred")
    assert api.put("/playbooks/starred", content=other, headers=any_of_them).status_code == 201


@pytest.mark.spec("S16")
def test_a_new_playbook_takes_the_place_of_none(api: httpx2.Client) -> None:
    new = {**YAML, "If-None-Match": "*"}
    text, other = (version(n).replace("contested", "newly") for n in (0, 1))
    assert api.put("/playbooks/newly", content=text, headers=new).status_code == 201
    for one in (text, other):
        refused = api.put("/playbooks/newly", content=one, headers=new)
        assert (refused.status_code, refused.json()["code"]) == (412, "stale")
    both = {**new, "If-Match": "*"}
    never = api.put("/playbooks/newly", content=text, headers=both)
    assert (never.status_code, never.json()["code"]) == (412, "stale"), "it is there and is not"
    assert "send 'If-None-Match: *' for what is not there yet" in never.json()["detail"]
    assert api.delete("/playbooks/newly").status_code == 204
    assert api.put("/playbooks/newly", content=other, headers=new).status_code == 201


@pytest.mark.spec("S19")
@pytest.mark.parametrize(("method", "path"), [("PUT", "/playbooks/leaves"), ("POST", "/playbooks")])
def test_a_net_that_gets_stuck_is_refused_with_its_counter_example_unless_it_is_allowed(
    api: httpx2.Client, method: str, path: str
) -> None:
    refused = api.request(method, path, content=UNSOUND, headers=YAML)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-playbook")
    assert "the join 'meet' cannot complete" in refused.json()["detail"]
    (error,) = refused.json()["errors"]
    assert error["code"] == "P301"
    assert "'b'" in error["message"] + error["hint"]  # where the branch goes that never comes
    allowed = api.request(
        method, path, content=UNSOUND, headers=YAML, params={"allow_unsound": "true"}
    )
    assert allowed.status_code in (200, 201)
