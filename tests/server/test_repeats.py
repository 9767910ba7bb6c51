"""Requests that come again under their Idempotency-Key."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest
from engine_support import local, playbook
from server.books import ADDS, WAITS, WAITS_TWICE
from server.test_executions import started

from petra.clock import SystemClock
from petra.desk.principal import owner
from petra.engine.answers import ReusedError
from petra.server.repeats import Keyed, asked_under, command_id
from petra.server.service import AnyHttpRequest, Service
from petra.store.memory import MemoryStore


def applied(api: httpx2.Client, text: str) -> None:
    answer = api.post("/playbooks", content=text, headers={"Content-Type": "application/yaml"})
    assert answer.status_code in (200, 201), answer.text


@pytest.fixture
def key() -> dict[str, str]:
    return {"Idempotency-Key": secrets.token_hex(8)}


@pytest.fixture
def waiting(api: httpx2.Client) -> Iterator[dict[str, Any]]:
    shown = started(api, WAITS)
    yield shown
    api.post(f"/executions/{shown['id']}/cancel")


@pytest.mark.spec("S17")
def test_the_same_start_is_answered_alike_though_its_playbook_has_a_new_version(
    api: httpx2.Client, key: dict[str, str]
) -> None:
    applied(api, ADDS.replace("name: adds", "name: renewed"))
    first = api.post("/executions", json={"playbook": "renewed"}, headers=key)
    applied(api, ADDS.replace("name: adds", "name: renewed").replace("n * 2", "n * 3"))
    again = api.post("/executions", json={"playbook": "renewed"}, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json()["id"] == first.json()["id"]


@pytest.mark.spec("S17")
@pytest.mark.parametrize(
    "more",
    [{"id": "another-1"}, {"business_key": "b"}, {"allow_unsound": True}, {"playbook": "unknown"}],
    ids=lambda more: str(*more),
)
def test_another_question_under_the_same_key_is_refused(
    api: httpx2.Client, key: dict[str, str], more: dict[str, Any]
) -> None:
    body = {"playbook": {"text": ADDS}}
    assert api.post("/executions", json=body, headers=key).status_code == 201
    other = api.post("/executions", json={**body, **more}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "key-reused")


def test_how_a_body_is_written_is_no_part_of_the_question(
    api: httpx2.Client, key: dict[str, str]
) -> None:
    body = {"playbook": {"text": ADDS}, "workload": {"n": 1}}
    turned = dict(reversed(body.items()))
    first, again = (api.post("/executions", json=one, headers=key) for one in (body, turned))
    assert first.json()["id"] == again.json()["id"]


@pytest.mark.spec("S23")
def test_the_same_move_is_answered_alike_though_its_playbook_has_a_new_version(
    api: httpx2.Client, key: dict[str, str], waiting: dict[str, Any]
) -> None:
    path, body = f"/executions/{waiting['id']}/migrate", {"playbook": "moved_to"}
    for step in ("after", "later"):
        applied(api, WAITS_TWICE.replace("waits_twice", "moved_to").replace("end", step))
        moved = api.post(path, json=body, headers=key)
        assert moved.status_code == 200, moved.text
        assert moved.json()["version"] == waiting["version"] + 1


class Body:
    """A request, as far as it is compared."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def body(self) -> bytes:
        return self._body


@pytest.mark.spec("S17")
def test_an_answer_that_an_older_version_stored_is_found() -> None:
    """Its question was made of what starts; so it is made again, once the playbook is known."""
    who, text = owner("ann"), playbook("  - {step: a, tool: {kind: noop}}\n")

    async def repeated() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as home:
            begin, command = home.desk.begin, command_id(who, "k", "start")
            first = await begin(who, text, {}, execution="one", command=command)
            service = cast("Service", SimpleNamespace(engine=home.engine))
            request = cast("AnyHttpRequest", Body(b"{}"))
            asked = await asked_under(service, request, who, "k", "start")
            assert asked == Keyed(command)
            again = await begin(who, text, {}, execution="two", command=command, sent=asked.sent)
            assert again.execution == first.execution == "one"
            with pytest.raises(ReusedError):
                await begin(who, text, {"n": 1}, execution="two", command=command, sent=asked.sent)

    asyncio.run(repeated())
