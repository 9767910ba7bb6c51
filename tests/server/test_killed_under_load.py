"""A server is killed with -9 while many start executions and ten workers elsewhere work: nothing acknowledged is lost or repeated."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.conftest import Served, serve
from server.test_workers import heard, worker
from support.patience import until
from support.processes import port_to_come_back_to

pytestmark = pytest.mark.slow

WORKERS = 10
RATE = 200
"""Starts a second, whether or not those before were answered."""
STARTS = int(os.environ.get("PETRA_KILLED_STARTS", "200"))
BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: noted, path: noted}
workflow:
  - step: one
    spec: {pool: etl}
    tool:
      kind: python
      args: {ledger: "{{ workload.ledger }}", name: "{{ execution.id }}"}
      code: |
        with open(ledger, "a") as file:
            file.write(name + "\\n")
        result = 1
"""


class Load:
    """Starts of executions under keys, at a fixed rate, at several servers in turn; each is asked again until it is answered."""

    def __init__(self, urls: Sequence[str], token: str, ledger: Path) -> None:
        self._urls, self.ledger = [f"{url}/api/v1" for url in urls], ledger
        self._headers = {"Authorization": f"Bearer {token}"}
        self.answered: dict[str, str] = {}

    async def run(self, *calls: Callable[[], Any]) -> None:
        """Start everything, each at its time; of as many parts as there are calls and one, a call stands between two."""
        async with httpx2.AsyncClient(headers=self._headers, timeout=300) as client:
            begun = asyncio.create_task(self._begin(client))
            for number, call in enumerate(calls, 1):
                while len(self.answered) < STARTS * number // (len(calls) + 2):
                    await asyncio.wait([begun], timeout=0.01)
                await asyncio.to_thread(call)
            await asyncio.gather(*await begun)

    async def _begin(self, client: httpx2.AsyncClient) -> list[asyncio.Task[None]]:
        loop = asyncio.get_running_loop()
        since, starts = loop.time(), []
        for number in range(STARTS):
            await asyncio.sleep(since + number / RATE - loop.time())
            starts.append(asyncio.create_task(self._start(client, number)))
        return starts

    async def _start(self, client: httpx2.AsyncClient, number: int) -> None:
        body = {"playbook": "noted", "workload": {"ledger": str(self.ledger)}}
        key = f"key-{number}"
        for tried in count():
            url = self._urls[(number + tried) % len(self._urls)]
            try:
                found = await client.post(
                    f"{url}/executions", json=body, headers={"Idempotency-Key": key}
                )
            except httpx2.HTTPError:
                await asyncio.sleep(0.05)  # nobody is there; the same again is safe
                continue
            if found.status_code == 201:
                self.answered[key] = found.json()["id"]
                return
            assert found.status_code == 503, found.text
            await asyncio.sleep(0.05)


def _completed(api: httpx2.Client) -> int:
    counts = api.get("/executions/counts", params={"by": "status"}).json()["counts"]
    return int(counts.get("completed", 0))


def _all(api: httpx2.Client, path: str) -> list[dict[str, Any]]:
    found, cursor = [], None
    while True:
        page = api.get(path, params={"limit": 500} | ({"cursor": cursor} if cursor else {})).json()
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found


@pytest.mark.spec("S22")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_was_acknowledged_is_done_once_whoever_is_killed(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home, ledger = tmp_path / ".petra", tmp_path / "ledger"
    store = () if kind == "sqlite" else ("--store", request.getfixturevalue("empty_database")())
    more = ("--port", str(port_to_come_back_to()), "--workers", "0", *store)
    with ExitStack() as stack:
        first = stack.enter_context(serve(home, *more))
        with first.client() as api:
            assert api.post("/playbooks", json={"text": BOOK}).status_code == 201
        for _ in range(WORKERS):
            heard(stack.enter_context(worker(first, "--slots", "2")), "works for")
        load = Load([first.url], first.said["token"], ledger)
        back: list[Served] = []

        def kill() -> None:
            assert first.end(signal.SIGKILL) == -signal.SIGKILL
            back.append(stack.enter_context(serve(home, *more)))

        asyncio.run(load.run(kill))
        (second,) = back
        _held(second, load)
        assert second.end() == 0


def _held(served: Served, load: Load) -> None:
    """Hold what there is now against what was acknowledged: all of it, and each run once."""
    assert len(set(load.answered.values())) == STARTS
    with served.client() as api:
        until(lambda: _completed(api) >= STARTS)
        listed = _all(api, "/executions")
        assert {one["id"] for one in listed} == set(load.answered.values())
        assert not api.post("/audit/verify", json={}).json()["problems"]
        noted = _all(api, "/audit")
    starts = [one for one in noted if one["act"] == "POST /executions" and one["outcome"] == "done"]
    assert len(starts) >= STARTS
    # every run was done by the worker that had it, also across the kill
    assert set(Counter(load.ledger.read_text().split()).values()) == {1}


@pytest.mark.spec("S22")
def test_of_two_servers_on_one_database_each_may_be_killed_in_turn(
    tmp_path: Path, empty_database: Callable[[], str]
) -> None:
    """One dies and comes back, then the other one; keys are asked again at whichever is there, workers go to it."""
    store = ("--store", empty_database(), "--workers", "0")
    ledger = tmp_path / "ledger"
    with ExitStack() as stack:

        def begin(name: str, port: int) -> Served:
            return stack.enter_context(serve(tmp_path / name, *store, "--port", str(port)))

        one = begin("one", port_to_come_back_to())
        other = begin("other", port_to_come_back_to())
        with one.client() as api:
            assert api.post("/playbooks", json={"text": BOOK}).status_code == 201
            asks = {"role": "operator", "name": "load"}
            token = api.post("/tokens", json=asks).json()["token"]
            works = api.post("/tokens", json={"role": "worker", "pool": "etl"}).json()["token"]
        for number in range(WORKERS):
            near, far = (one, other) if number % 2 else (other, one)
            more = ("--server", far.url, "--slots", "2")
            heard(stack.enter_context(worker(near, *more, token=works)), "works for")
        load = Load([one.url, other.url], token, ledger)
        back: list[Served] = []

        def kill(served: Served, name: str) -> None:
            assert served.end(signal.SIGKILL) == -signal.SIGKILL
            back.append(begin(name, int(served.url.rpartition(":")[2])))

        asyncio.run(load.run(lambda: kill(one, "one"), lambda: kill(other, "other")))
        _held(back[0], load)
        assert [served.end() for served in back] == [0, 0]
