"""The examples of the API's description are there for every body and every answer, and are of the shapes they stand beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from bare_app import bare_description
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from msgspec import convert, json
from server.conforming import _description
from server.conftest import Served

from petra.server.answers.streams import ExecutionMessage, ListMessage
from petra.server.examples import TEXTS, kept
from petra.server.openapi import ProblemDocument, operations
from petra.server.problem_codes import CODES
from petra.wire.frames import LogLine

BASE = "/api/v1"
WITHOUT = frozenset(
    {
        f"get {BASE}/schema 200",
        f"get {BASE}/objects/{{execution}}/{{name}} 200",
        f"post {BASE}/objects/joined sent",
        f"post {BASE}/objects/joined 201",
        f"get {BASE}/executions/{{execution}}/objects/{{owner}}/{{name}} 200",
    }
)
"""A schema is too large for an example; only workers ask the others, and record nothing."""


def _places(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every body, and every answer that went well, in JSON."""
    for method, path, call in operations(description):
        bodies = {"sent": call.get("requestBody", {})}
        bodies |= {code: one for code, one in call["responses"].items() if code.startswith("2")}
        for name, body in bodies.items():
            if "application/json" in body.get("content", {}):
                yield f"{method} {path} {name}", body["content"]["application/json"]


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return bare_description()


@pytest.fixture(scope="module")
def places(description: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return dict(_places(description))


def test_there_is_one_for_every_body_and_every_answer(places: dict[str, dict[str, Any]]) -> None:
    missing = {where for where, place in places.items() if "example" not in place}
    assert missing == WITHOUT, "scripts/api_examples.py says how they are made"
    assert len(places) - len(missing) > 150


def test_what_no_other_test_asks_is_asked_here_so_that_it_is_recorded(
    server: Served, api: httpx2.Client
) -> None:
    for path in ("livez", "readyz", "version"):
        assert api.get(f"{server.url}/{path}").status_code == 200
    for path in ("/stats", "/schema", "/work-items/counts", "/roles"):
        assert api.get(path).status_code == 200
    head = "apiVersion: petra/v1\nkind: {}\nmetadata: {{name: {}}}\n{}"
    for path, kind, rest in (
        ("/schedules", "Schedule", "playbook: adds\ncron: '0 3 * * *'\n"),
        ("/triggers", "Trigger", "playbook: adds\nwebhook: {path: seen, verify: none}\n"),
        ("/limits/resources", "Resource", "units: 2\n"),
    ):
        text = head.format(kind, "seen", rest)
        assert api.put(f"{path}/seen", json={"text": text}).status_code in (200, 201)
    assert api.get("/triggers/seen/explain").status_code == 200
    assert api.post("/triggers/seen/replay", json={"ids": []}).status_code == 202
    password = "correct horse battery staple"
    api.post("/users", json={"name": "seen", "roles": ["viewer"], "password": password})
    with server.client() as nobody:
        nobody.headers.pop("Authorization")
        begun = nobody.post("/session", json={"name": "seen", "password": password})
        assert begun.status_code == 201


def test_an_example_is_of_the_shape_it_stands_beside(places: dict[str, dict[str, Any]]) -> None:
    parts = {"schemas": _description()["components"]["schemas"]}  # which allow nothing further
    wrong = [
        f"{where}: {error.message[:300]}"
        for where in places.keys() - WITHOUT
        for error in Draft202012Validator(
            {**places[where]["schema"], "components": parts}
        ).iter_errors(places[where].get("example"))
    ]
    assert wrong == []


def test_every_example_is_of_a_call_that_there_is(description: dict[str, Any]) -> None:
    calls = {f"{method} {path}" for method, path, _ in operations(description)}
    assert kept().keys() <= calls


def test_what_is_no_json_has_an_example_too(description: dict[str, Any]) -> None:
    missing = {
        f"{method} {path} {media}"
        for method, path, call in operations(description)
        for place in (call.get("requestBody", {}), *call["responses"].values())
        for media, told in place.get("content", {}).items()
        if media != "application/json" and "example" not in told
    }
    assert missing == set()


def test_a_text_that_stands_as_an_example_is_a_good_one(api: httpx2.Client) -> None:
    text = TEXTS["application/yaml"]
    checked = api.post("/check", content=text, headers={"Content-Type": "application/yaml"}).json()
    assert (checked["ok"], checked["problems"]) == (True, [])
    convert(TEXTS["text/event-stream"], ExecutionMessage)
    convert(TEXTS["text/event-stream"], ListMessage)
    for line in TEXTS["application/x-ndjson"].splitlines():
        convert({**json.decode(line), "execution": "of the file"}, LogLine)


def test_every_problem_has_an_example_of_its_status(description: dict[str, Any]) -> None:
    problems = description["components"]["responses"]
    shown = {}
    for name, response in problems.items():
        told = response["content"]["application/problem+json"]["examples"]
        for code, example in told.items():
            shown[code] = convert(example["value"], ProblemDocument)
            assert name == f"Problem{shown[code].status}"
    assert {code: one.code for code, one in shown.items()} == {code: code for code in CODES}
