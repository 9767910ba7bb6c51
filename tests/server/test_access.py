"""The access table, walked: every call, by every role, in its own namespace and from another one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import httpx2
import pytest
from access_page import GROUP, Call, access_page, calls, may
from server.books import WAITS
from server.conftest import Served
from server.newcomers import acting_as, user
from server.test_executions import started

from petra.desk.principal import POWERS, May
from petra.server.needs import Where

ROLES = (*POWERS, GROUP)
EACH_ROLE = [
    role if role == "viewer" else pytest.param(role, marks=pytest.mark.slow) for role in ROLES
]
FILLED = {
    "item": "none", "act": "comment", "seq": "1", "digest": "none", "path": "none", "token": "none",
    "session": "none", "name": "none", "step": "none", "group": "none", "n": "1", "owner": "none",
    "key": "none", "ref": "none", "operation": "none", "notification": "none",
}  # fmt: skip


@cache
def api_calls() -> list[Call]:
    """Return the calls of the API; an application is built to know them."""
    return [call for call in calls() if call.path.startswith("/api/v1")]


def asked(client: httpx2.Client, call: Call, execution: str, space: str = "") -> tuple[int, str]:
    """Call, with a body that nobody can read; return the status and the code of the problem."""
    values = {**FILLED, "execution": execution, "other": execution}
    path = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], call.path)
    content = None if call.method == "GET" else b"{"
    headers = {"Content-Type": "application/json"}
    url = path.removeprefix("/api/v1") + (f"?namespace={space}" if space and call.spaced else "")
    with client.stream(call.method, url, content=content, headers=headers) as answer:
        if answer.status_code < 400:
            return answer.status_code, ""  # a stream goes on for ever
        answer.read()
        return answer.status_code, answer.json()["code"]


def is_about_one(call: Call) -> bool:
    """Tell whether a call is about an execution that one must be allowed to see; workers see nothing, and have leases."""
    return "{execution}" in call.path and not call.path.startswith("/api/v1/objects/")


def test_every_call_says_what_it_needs() -> None:
    assert [call for call in calls() if call.need is None] == []
    assert len(api_calls()) > 40
    open_to_all = {
        (call.method, call.path) for call in api_calls() if call.need and not call.need.known
    }
    assert open_to_all == {("POST", "/api/v1/session"), ("GET", "/api/v1/meta")}


def test_the_page_is_as_the_table_is(root: Path) -> None:
    assert (root / "docs/reference/access.md").read_text("utf-8") == access_page()


@pytest.mark.slow
def test_nobody_gets_in_without_being_known(server: Served, api: httpx2.Client) -> None:
    execution = started(api, WAITS)["id"]
    with httpx2.Client(base_url=f"{server.url}/api/v1", timeout=60) as stranger:
        for call in api_calls():
            assert call.need is not None
            if call.need.known:
                assert asked(stranger, call, execution) == (401, "no-credentials"), call


@pytest.mark.slow
@pytest.mark.parametrize("role", EACH_ROLE)
def test_a_role_may_call_what_the_table_says(server: Served, api: httpx2.Client, role: str) -> None:
    execution = started(api, WAITS)["id"]
    sees = May.SEE in POWERS.get(role, frozenset())
    with acting_as(server, api, user(api, f"{role}@default")) as somebody:
        for call in api_calls():
            status, code = asked(somebody, call, execution)
            if is_about_one(call) and not sees:
                assert (status, code) == (404, "unknown-execution"), call
            elif may(call, role):
                assert status not in (401, 403), (call, code)
                assert code not in ("unknown-execution", "internal"), call
            else:
                assert (status, code) == (403, "forbidden"), call


@pytest.mark.parametrize("role", EACH_ROLE)
def test_a_role_in_another_namespace_is_none_here(
    server: Served, api: httpx2.Client, role: str
) -> None:
    execution = started(api, WAITS)["id"]
    with acting_as(server, api, user(api, f"{role}@elsewhere")) as somebody:
        for call in api_calls():
            assert call.need is not None
            status, code = asked(somebody, call, execution)
            if is_about_one(call):
                assert (status, code) == (404, "unknown-execution"), call
            elif not may(call, role) or (
                call.need.one_of and call.need.where is not Where.SOMEWHERE
            ):
                assert (status, code) == (403, "forbidden"), call
            else:
                assert status not in (401, 403), (call, code)


@pytest.fixture(scope="module")
def space(server: Served) -> str:
    with server.client() as api:
        assert api.post("/namespaces", json={"name": "walked"}).status_code == 201
    return "walked"


@pytest.mark.parametrize("role", EACH_ROLE)
def test_a_role_holds_in_the_namespace_that_it_was_granted_in(
    server: Served, api: httpx2.Client, role: str, space: str
) -> None:
    execution = started(api, WAITS, namespace=space)["id"]
    sees = May.SEE in POWERS.get(role, frozenset())
    with acting_as(server, api, user(api, f"{role}@{space}")) as somebody:
        for call in api_calls():
            status, code = asked(somebody, call, execution, space)
            if is_about_one(call) and not sees:
                assert (status, code) == (404, "unknown-execution"), call
            elif is_about_one(call) or call.spaced:
                assert (status in (401, 403)) != may(call, role), (call, code)
                assert code not in ("unknown-execution", "internal"), call
    with acting_as(server, api, user(api, f"{role}@default")) as somebody:
        for call in api_calls():
            if is_about_one(call):
                assert asked(somebody, call, execution) == (404, "unknown-execution"), call
            elif call.spaced:
                assert asked(somebody, call, execution, space) == (404, "not-found"), call


def test_who_administers_everything_may_call_everything(server: Served, api: httpx2.Client) -> None:
    execution = started(api, WAITS)["id"]
    with acting_as(server, api, user(api, "admin@*")) as chief:
        for call in api_calls():
            assert call.need is not None
            status, code = asked(chief, call, execution)
            if May.WORK in call.need.one_of:
                assert (status, code) == (403, "forbidden"), call
                continue
            assert status not in (401, 403), (call, code)
            assert code not in ("unknown-execution", "internal"), call
