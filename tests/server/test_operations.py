"""Operations on many executions: counted beforehand, carried out once each, stopped, and gone on with after a kill."""

from __future__ import annotations

import asyncio
import secrets
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace
from server.books import ADDS, WAITS
from server.conftest import Served, serve
from server.newcomers import acting_as, user
from server.test_executions import started

from petra.server.operation_rows import DONE, OPERATION, RUNNING, account_of, operation_in
from petra.store.accounts import ACCOUNTS_MAX
from petra.store.sqlite import SqliteStore


def over(api: httpx2.Client, operation: str) -> dict[str, Any]:
    """Return an operation that is over: it is asked for until it is."""
    while True:
        found: dict[str, Any] = api.get(f"/operations/{operation}").json()
        if found["status"] != "running":
            return found


def some(api: httpx2.Client, count: int, text: str = WAITS) -> tuple[str, list[str]]:
    mark = secrets.token_hex(6)
    return f"mark:{mark}", [started(api, text, labels={"mark": mark})["id"] for _ in range(count)]


def test_a_dry_run_counts_and_does_nothing(api: httpx2.Client) -> None:
    label, ids = some(api, 3)
    body = {"act": "cancel", "filter": {"label": label, "status": "waiting"}}
    told = api.post("/operations", json=body, params={"dry_run": "1"})
    assert (told.status_code, told.json()["total"], told.json()["id"]) == (200, 3, None)
    assert api.get(f"/executions/{ids[0]}").json()["status"] == "waiting"


def test_all_that_a_filter_finds_are_cancelled_and_failures_are_named(api: httpx2.Client) -> None:
    label, ids = some(api, 3)
    (ended,) = [started(api, ADDS, labels={"mark": label.partition(":")[2]})["id"]]
    begun = api.post(
        "/operations", json={"act": "cancel", "filter": {"label": label}, "reason": "too many"}
    )
    assert begun.status_code == 202
    shown = begun.json()
    assert begun.headers["location"].endswith(shown["id"])
    assert (shown["status"], shown["total"]) == ("running", 4)
    found = over(api, shown["id"])
    assert (found["status"], found["done"], found["failed"]) == ("done", 3, 1)
    assert [one["id"] for one in found["failures"]] == [ended]
    assert {api.get(f"/executions/{one}").json()["status"] for one in ids} == {"aborted"}
    assert shown["id"] in [one["id"] for one in api.get("/operations").json()["items"]]
    stopped = api.post(f"/operations/{shown['id']}/stop").json()
    assert stopped["status"] == "done"


def test_named_executions_are_paused_and_resumed(server: Served, api: httpx2.Client) -> None:
    _, ids = some(api, 2)
    made: dict[str, Any] = {}
    for act, status in (("pause", "paused"), ("resume", "waiting")):
        made = api.post("/operations", json={"act": act, "ids": [*ids, "nobody"]}).json()
        found = over(api, made["id"])
        assert (found["done"], found["failures"][0]["id"]) == (2, "nobody")
        assert {api.get(f"/executions/{one}").json()["status"] for one in ids} == {status}
    bad = api.post("/operations", json={"act": "pause"})
    assert (bad.status_code, bad.json()["code"]) == (400, "bad-request")
    with acting_as(server, api, user(api, "viewer@default")) as viewer:
        assert viewer.post("/operations", json={"act": "cancel", "ids": ids}).status_code == 403
        assert viewer.get(f"/operations/{made['id']}").status_code == 200


@pytest.mark.slow
def test_an_operation_goes_on_after_a_kill(tmp_path: Path) -> None:
    home = tmp_path / ".petra"
    with serve(home) as served, served.client() as api:
        label, ids = some(api, 120)
        made = api.post("/operations", json={"act": "cancel", "filter": {"label": label}}).json()
        served.end(signal.SIGKILL)
    with serve(home) as served, served.client() as api:
        found = over(api, made["id"])
        assert (found["status"], found["done"] + found["failed"], found["failed"]) == (
            "done",
            120,
            0,
        )
        for execution in ids:
            records = api.get(f"/executions/{execution}/events", params={"type": "execution.ended"})
            assert len(records.json()["items"]) == 1


@pytest.mark.slow
def test_of_very_many_operations_every_unfinished_one_goes_on_after_a_kill(tmp_path: Path) -> None:
    home = tmp_path / ".petra"
    with serve(home) as served, served.client() as api:
        label, ids = some(api, 60)
        made = api.post("/operations", json={"act": "cancel", "filter": {"label": label}}).json()
        served.end(signal.SIGKILL)
    begun = asyncio.run(_bury(home, made["id"]))
    with serve(home) as served, served.client() as api:
        found = over(api, begun)  # the first one goes on beside it
        assert (found["status"], found["done"] + found["failed"]) == ("done", len(ids))
        page = api.get("/operations", params={"limit": 5}).json()
        assert [one["id"] for one in page["items"][:2]] == [made["id"], begun]


async def _bury(home: Path, operation: str) -> str:
    """Put an operation behind more of them than are read at once, as it was before any of it was done; return its name."""
    store = await SqliteStore.open(home / "petra.db")
    try:
        known = await store.accounts.account(OPERATION, operation)
        assert known is not None
        asked = operation_in(known)
        for number in range(ACCOUNTS_MAX + 1):
            old = replace(asked, id=f"0-{number:05}", status=DONE, created=0.0, ended=asked.created)
            await store.accounts.keep(account_of(old, 1))
        last = replace(
            asked, id=f"zz-{operation}", status=RUNNING, cursor=None, done=0, failed=0, ended=None
        )
        await store.accounts.keep(account_of(last, 1))
        return last.id
    finally:
        await store.close()
