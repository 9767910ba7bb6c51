"""Servers that are killed while executions stand in line for a limit, on both stores: never too many, none lost (S15).

A step waits at a gate, a named pipe of its own: that a gate can be opened shows that its step is there.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.conftest import Served, serve
from support.patience import until

pytestmark = [pytest.mark.slow, pytest.mark.spec("S15")]
ROUNDS = 3
LIMIT = 2
KEYS = ("acme", "bolt", "cog")
FOR_EACH = ROUNDS + LIMIT + 1
"""So many executions for each key that somebody still waits when the last server is killed."""
BOOK = f"""\
apiVersion: petra/v1
kind: Playbook
metadata: {{name: gated}}
workload: {{key: "", gate: ""}}
executor: {{spec: {{concurrency: {{key: "{{{{ workload.key }}}}", limit: {LIMIT}}}}}}}
workflow:
  - step: pass
    tool:
      kind: python
      args: {{gate: "{{{{ workload.gate }}}}"}}
      code: |
        open(gate).close()
        result = 1
"""


@dataclass
class Crowd:
    """Executions under several keys, each with a gate that lets its step end."""

    folder: Path
    keys: dict[str, str] = field(default_factory=dict)
    """By execution."""
    gates: dict[str, Path] = field(default_factory=dict)

    def start(self, api: httpx2.Client) -> None:
        text = {"Content-Type": "application/yaml"}
        assert api.post("/playbooks", content=BOOK, headers=text).status_code == 201
        for number in range(FOR_EACH):
            for key in KEYS:
                gate = self.folder / f"{key}{number}"
                os.mkfifo(gate)
                given = {"playbook": "gated", "workload": {"key": key, "gate": str(gate)}}
                made = api.post("/executions", json=given)
                assert made.status_code == 201, made.text
                execution = made.json()["id"]
                self.keys[execution], self.gates[execution] = key, gate

    def pass_one_of_each(self, api: httpx2.Client) -> None:
        """Once as many of every key are at work as may be, let one of each go on."""
        for key in KEYS:
            until(partial(self._pass_one, api, key))

    def _pass_one(self, api: httpx2.Client, key: str) -> bool:
        """Let one go on, unless it is not let in yet, its step begins, or it is on its way out."""
        inside = self._at_work(api, key)
        return len(inside) >= LIMIT and self._opened(inside[0])

    def pass_all(self, api: httpx2.Client) -> None:
        """Open the gates until everything has ended."""
        until(lambda: not self._left(api))

    def _left(self, api: httpx2.Client) -> Collection[str]:
        """Open the gates of all that have not ended, and return those."""
        left = self.keys.keys() - _with_status(api, "completed")
        for execution in left:
            self._opened(execution)
        return left

    def _at_work(self, api: httpx2.Client, key: str) -> list[str]:
        running = _with_status(api, "running")
        return [one for one, own in self.keys.items() if own == key and one in running]

    def _opened(self, execution: str) -> bool:
        """Open a gate, if a step stands there."""
        try:
            os.close(os.open(self.gates[execution], os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    def judge(self, api: httpx2.Client) -> None:
        """Hold the logs against the limit: nobody too many, nobody missing, nothing left behind."""
        listed = api.get("/executions", params={"limit": 200}).json()["items"]
        assert {one["id"]: one["status"] for one in listed} == dict.fromkeys(self.keys, "completed")
        stays: dict[str, list[tuple[float, float]]] = {key: [] for key in KEYS}
        for execution, key in self.keys.items():
            stays[key].append(_stay(_records(api, execution)))
            assert api.post(f"/executions/{execution}/verify").json()["ok"]
        assert {key: most_at_once(times) for key, times in stays.items()} == dict.fromkeys(
            KEYS, LIMIT
        )
        assert api.get("/limits").json()["lines"] == []


def _with_status(api: httpx2.Client, status: str) -> Collection[str]:
    page = api.get("/executions", params={"status": status, "limit": 200}).json()
    return {one["id"] for one in page["items"]}


def _records(api: httpx2.Client, execution: str) -> list[dict[str, Any]]:
    page = api.get(f"/executions/{execution}/records", params={"limit": 200}).json()
    assert page["next"] is None
    return list(page["items"])


def _stay(records: Iterable[dict[str, Any]]) -> tuple[float, float]:
    """Return from when to when an execution was in, after the order of its own log."""
    at = {one["event"]["type"]: one for one in records}
    given, begun, ended = (at[word] for word in ("permit.given", "step.started", "execution.ended"))
    assert given["seq"] < begun["seq"] < ended["seq"]
    return given["at"], ended["at"]


def most_at_once(stays: Iterable[tuple[float, float]]) -> int:
    """Return how many were in at most; who ends when another begins makes room for it."""
    moves = sorted((at, step) for stay in stays for at, step in zip(stay, (1, -1), strict=True))
    now = most = 0
    for _, step in moves:
        now += step
        most = max(most, now)
    return most


def test_a_server_on_sqlite_that_is_killed_over_and_over(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path)
    for number in range(ROUNDS):
        with serve(tmp_path / ".petra") as served, served.client() as api:
            if number == 0:
                crowd.start(api)
            crowd.pass_one_of_each(api)
            served.end(signal.SIGKILL)
    with serve(tmp_path / ".petra") as served, served.client() as api:
        crowd.pass_all(api)
        crowd.judge(api)


def test_two_servers_on_postgresql_of_which_one_is_killed_in_turn(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    store, crowd = ("--store", new_database()), Crowd(tmp_path)

    def begin(stack: ExitStack, number: int) -> Served:
        return stack.enter_context(serve(tmp_path / f".petra{number}", *store))

    with ExitStack() as stack:
        standing, other = begin(stack, 0), begin(stack, 1)
        with standing.client() as api:
            crowd.start(api)
        for number in range(ROUNDS):
            with other.client() as api:
                crowd.pass_one_of_each(api)
            standing.end(signal.SIGKILL)
            standing, other = other, begin(stack, number + 2)
        with other.client() as api:
            crowd.pass_all(api)
            crowd.judge(api)
