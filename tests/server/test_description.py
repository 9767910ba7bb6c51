"""The description of the API says what the server does: what made-up requests (``make fuzz``) found otherwise."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest
from bare_app import bare_description
from server.books import WAITS
from server.conftest import Served

from petra.server.links import LEADS
from petra.server.openapi import operations

BASE = "/api/v1"


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return bare_description()


def _call(described: dict[str, Any], method: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = described["paths"][path][method]
    return found


def _parameter(call: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one["schema"] for one in call["parameters"] if one["name"] == name)
    assert isinstance(found, dict)
    return found


def test_the_bounds_of_numbers_and_the_words_of_choices_are_described(
    described: dict[str, Any],
) -> None:
    listed = _call(described, "get", f"{BASE}/executions")
    limit = _parameter(listed, "limit")
    assert (limit["minimum"], limit["maximum"]) == (1, 500)
    assert _parameter(listed, "sort")["enum"] == ["started", "-started"]
    assert _parameter(listed, "since") == {"type": "string", "format": "date-time"}
    assert _parameter(listed, "status") == {"type": "array", "items": {"type": "string"}}
    frames = _call(described, "get", f"{BASE}/executions/{{execution}}/frames")
    assert _parameter(frames, "bins")["maximum"] == 10_000


def test_that_nothing_is_there_is_all_that_if_none_match_can_ask_of_a_change(
    described: dict[str, Any], api: httpx2.Client
) -> None:
    for path in ("playbooks/{path}", "schedules/{name}"):
        put = _call(described, "put", f"{BASE}/{path}")
        assert _parameter(put, "If-None-Match")["enum"] == ["*"]
    both = {"If-None-Match": "*", "If-Match": '"x"', "Content-Type": "application/yaml"}
    answer = api.put("/playbooks/waits", content=WAITS, headers=both)
    assert (answer.status_code, answer.json()["code"]) == (412, "stale")


def test_an_arc_is_described_as_a_step_and_a_number(described: dict[str, Any]) -> None:
    for path in ("events", "events/counts"):
        call = _call(described, "get", f"{BASE}/executions/{{execution}}/{path}")
        assert re.search(_parameter(call, "arc")["pattern"], "pay/0")


def test_as_many_labels_are_asked_for_as_a_store_can_look_for(
    described: dict[str, Any], api: httpx2.Client
) -> None:
    for path in ("executions", "executions/counts"):
        most = _parameter(_call(described, "get", f"{BASE}/{path}"), "label")["maxItems"]
        asked: list[tuple[str, Any]] = [("label", f"k{n}:v") for n in range(most)]
        assert api.get(f"/{path}", params=asked).status_code == 200
        answer = api.get(f"/{path}", params=[*asked, ("label", "one:more")])
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")


def test_calls_for_strangers_want_no_token_and_all_others_do(described: dict[str, Any]) -> None:
    free = {path for _, path, one in operations(described) if one.get("security") == []}
    own = {"/livez", "/readyz", "/version", "/metrics", f"{BASE}/meta"}
    assert free == own | {f"{BASE}/session", "/hooks/{path}"}
    assert described["security"] == [{"token": []}]


def test_a_body_that_may_be_left_out_is_not_required(described: dict[str, Any]) -> None:
    pause = _call(described, "post", f"{BASE}/executions/{{execution}}/pause")
    assert not pause["requestBody"]["required"]
    assert _call(described, "post", f"{BASE}/executions")["requestBody"]["required"]


def test_a_text_is_described_as_yaml_of_any_kind(described: dict[str, Any]) -> None:
    content = _call(described, "post", f"{BASE}/check")["requestBody"]["content"]
    assert content["application/yaml"]["schema"] == {}


def test_links_lead_to_calls_and_fill_their_addresses(described: dict[str, Any]) -> None:
    paths = {one["operationId"]: path for _, path, one in operations(described)}
    for lead in LEADS:
        responses = _call(described, lead.method, BASE + lead.path)["responses"]
        good = [one for status, one in responses.items() if status.startswith("2")]
        assert good
        for response in good:
            assert response["links"], lead
            for link in response["links"].values():
                wanted = re.findall(r"\{(\w+)\}", paths[link["operationId"]])
                assert sorted(link["parameters"]) == sorted(wanted)
    begun = _call(described, "post", f"{BASE}/executions")["responses"]["201"]["links"]
    led = {paths[one["operationId"]].removeprefix(f"{BASE}/executions/") for one in begun.values()}
    assert {
        "{execution}",
        "{execution}/events",
        "{execution}/cancel",
        "{execution}/at/{seq}",
    } <= led


def test_the_links_of_a_start_hold_for_a_real_one(api: httpx2.Client, described: Any) -> None:
    begun = api.post("/executions", json={"playbook": {"text": WAITS}}).json()
    links = _call(described, "post", f"{BASE}/executions")["responses"]["201"]["links"]
    paths = {one["operationId"]: (m, path) for m, path, one in operations(described)}
    asked = 0
    for link in links.values():
        method, path = paths[link["operationId"]]
        if method != "get" or path.endswith(("/stream", "/result")):
            continue
        for name, words in link["parameters"].items():
            path = path.replace(f"{{{name}}}", str(begun[words.rpartition("/")[2]]))
        assert api.get(path.removeprefix(BASE)).status_code == 200, path
        asked += 1
    assert asked > 8


def test_another_method_is_answered_with_those_there_are(server: Served) -> None:
    answer = httpx2.request("PUT", f"{server.url}{BASE}/executions")
    assert answer.status_code == 405
    assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        pytest.param(
            {"page": "executions", "query": "", "shared": 0}, "/shared", id="0 is no 'no'"
        ),
        pytest.param({"page": "executions", "query": 1}, "/query", id="1 is no text"),
        pytest.param([], "", id="a list is no object"),
    ],
)
def test_a_body_is_of_the_types_of_json(api: httpx2.Client, body: Any, pointer: str) -> None:
    answer = api.put("/views/typed", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
    (place,) = answer.json()["errors"]
    assert place["pointer"] == pointer
    assert place["message"].startswith("Expected `")


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        pytest.param(
            {"wrong": 1, "playbok": "x", "playbook": "y"},
            [("/wrong", "unknown-field"), ("/playbok", "unknown-field")],
            id="all that are unknown",
        ),
        pytest.param({}, [("/playbook", "missing-field")], id="one is missing"),
        pytest.param({"playbook": "x", "id": 1}, [("/id", "wrong-value")], id="of another type"),
        pytest.param(
            {"playbook": {"text": "x", "path": "y"}},
            [("/playbook/path", "unknown-field")],
            id="within another",
        ),
    ],
)
def test_what_is_wrong_in_a_body_is_named_with_its_code(
    api: httpx2.Client, body: Any, faults: list[tuple[str, str]]
) -> None:
    answer = api.post("/executions", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
    told = answer.json()["errors"]
    assert [(one["pointer"], one["code"]) for one in told] == faults
    assert all(one["message"] and one["hint"] for one in told)
    assert all(pointer in answer.json()["detail"] for pointer, _ in faults)


def test_all_parameters_that_are_unknown_are_named(api: httpx2.Client) -> None:
    answer = api.get("/executions", params={"lmit": 1, "statsu": "failed"})
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown-parameter")
    assert {"'lmit'", "'statsu'", "'limit'?"} <= set(
        answer.json()["detail"].replace(";", "").split()
    )


@pytest.mark.parametrize("name", ["since", "until", "ended_before"])
@pytest.mark.parametrize("given", ["0.5", "1700000000", "yesterday"])
def test_a_time_is_a_time_and_no_number(api: httpx2.Client, name: str, given: str) -> None:
    answer = api.get("/executions", params={name: given})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
    assert f"'{name}={given}'" in answer.json()["detail"]


HUGE = 10**30


@pytest.mark.parametrize(
    "path",
    [
        f"/executions/{{id}}/records?cursor={HUGE}",
        f"/executions/{{id}}/records?after=-{HUGE}",
        f"/executions/{{id}}/events?after={HUGE}",
        f"/executions/{{id}}/events?before={HUGE}",
        f"/executions/{{id}}/events/{HUGE}",
        f"/executions/{{id}}/frames?until={HUGE}",
        f"/executions/{{id}}/at/{HUGE}",
        f"/executions/{{id}}/at/{HUGE}/tokens",
        f"/executions/{{id}}/at/{HUGE}/explain",
        f"/executions/{{id}}/runs/{HUGE}",
        f"/executions/{{id}}/runs/{HUGE}/iterations",
        f"/executions/{{id}}/runs?cursor={HUGE}",
        f"/executions/{{id}}/logs?run={HUGE}",
        f"/executions/{{id}}/stream?after={HUGE}",
        f"/executions/{{id}}/values/ctx.x?offset={HUGE}",
        f"/audit?cursor={HUGE}",
    ],
)
def test_a_number_that_no_store_holds_is_refused(api: httpx2.Client, path: str) -> None:
    begun = api.post("/executions", json={"playbook": {"text": WAITS}}).json()["id"]
    assert api.get(path.format(id=begun)).status_code in (400, 404)


@pytest.mark.parametrize("path", ["/audit?cursor=null", "/audit?after=NULL"])
def test_a_number_is_not_the_word_null(api: httpx2.Client, path: str) -> None:
    answer = api.get(path)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
    assert "leave it out" in answer.json()["detail"]
    assert api.get("/executions?playbook=null").json()["items"] == []


def test_what_may_be_said_once_is_not_said_twice(api: httpx2.Client) -> None:
    twice = api.get("/executions?playbook=a&playbook=b")
    assert twice.status_code == 400
    assert twice.json()["detail"] == "'playbook' is given more than once"
    assert api.get("/executions?status=failed&status=running").status_code == 200
