"""Servers that are killed while they keep schedules, on both stores: every nominal time once, whoever is left (S24)."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.conftest import Served, serve
from support.patience import until

pytestmark = [pytest.mark.slow, pytest.mark.spec("S24")]
ROUNDS = 3
BOOKS = {
    "tick": "kind: noop",
    "long": "kind: wait, for_s: 100000",
}


def _book(name: str) -> str:
    head = f"apiVersion: petra/v1\nkind: Playbook\nmetadata: {{name: {name}}}\nworkflow:\n"
    return f"{head}  - step: only\n    tool: {{{BOOKS[name]}}}\n"


def _schedule(name: str, playbook: str, overlap: str) -> str:
    head = f"apiVersion: petra/v1\nkind: Schedule\nmetadata: {{name: {name}}}\n"
    return f"{head}playbook: {playbook}\nevery_s: 1\noverlap: {overlap}\n"


def _set_up(api: httpx2.Client) -> None:
    yaml = {"Content-Type": "application/yaml"}
    for name in BOOKS:
        assert api.post("/playbooks", content=_book(name), headers=yaml).status_code == 201
    for name, book, overlap in (("all", "tick", "allow"), ("last", "long", "cancel_running")):
        text = _schedule(name, book, overlap)
        assert api.put(f"/schedules/{name}", content=text, headers=yaml).status_code == 201


def _started(api: httpx2.Client, schedule: str) -> list[dict[str, Any]]:
    """Return all that a schedule has started, oldest time first."""

    def pages() -> Iterator[dict[str, Any]]:
        asked: dict[str, Any] = {"label": f"petra/schedule:{schedule}", "limit": 200}
        while True:
            page = api.get("/executions", params=asked).json()
            yield from page["items"]
            if not page.get("next"):
                return
            asked["cursor"] = page["next"]

    return sorted(pages(), key=_nominal)


def _nominal(execution: dict[str, Any]) -> float:
    return datetime.fromisoformat(execution["schedule"]["nominal"]).timestamp()


def _left(api: httpx2.Client) -> list[dict[str, Any]]:
    return [one for one in _started(api, "last") if one["status"] != "aborted"]


def _await_more(api: httpx2.Client, schedule: str, than: int) -> int:
    until(lambda: len(_started(api, schedule)) > than)
    return len(_started(api, schedule))


def _judge(api: httpx2.Client) -> None:
    for schedule in ("all", "last"):
        assert api.post(f"/schedules/{schedule}/pause").status_code == 200
        fired = api.get(f"/schedules/{schedule}").json()["started"]
        until(lambda: len(_started(api, schedule)) >= fired)  # noqa: B023 - letters that start are on their way
    every = [_nominal(one) for one in _started(api, "all")]
    assert every == [every[0] + number for number in range(len(every))]
    times = [_nominal(one) for one in _started(api, "last")]
    assert len(times) == len(set(times))
    until(lambda: len(_left(api)) <= 1)  # letters that cancel are on their way
    assert [_nominal(one) for one in _left(api)] == times[-1:]
    for schedule in ("all", "last"):
        keeper = api.get(f"/schedules/{schedule}").json()["execution"]
        assert api.post(f"/executions/{keeper}/verify").json()["ok"]


def test_a_server_on_sqlite_that_is_killed_over_and_over(tmp_path: Path) -> None:
    count = 0
    for number in range(ROUNDS):
        with serve(tmp_path, "--workers", "0") as served, served.client() as api:
            if number == 0:
                _set_up(api)
            count = _await_more(api, "all", count + 1)
            served.end(signal.SIGKILL)
    with serve(tmp_path, "--workers", "0") as served, served.client() as api:
        _await_more(api, "all", count)
        _judge(api)


def test_two_servers_on_postgresql_of_which_one_is_killed_in_turn(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    store = ("--store", new_database(), "--workers", "0")

    def begin(stack: ExitStack, number: int) -> Served:
        return stack.enter_context(serve(tmp_path / str(number), *store))

    with ExitStack() as stack:
        standing, other = begin(stack, 0), begin(stack, 1)
        with standing.client() as api:
            _set_up(api)
        count = 0
        for number in range(ROUNDS):
            with other.client() as api:
                count = _await_more(api, "all", count + 1)
            standing.end(signal.SIGKILL)
            standing, other = other, begin(stack, number + 2)
        with other.client() as api:
            _await_more(api, "all", count)
            _judge(api)
