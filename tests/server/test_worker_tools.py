"""What workers elsewhere know of tools, over a real server: who has a run waits for one that knows them, and everybody is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.processes import petra
from server.conftest import serve
from server.test_executions import started
from server.test_workers import _address, ended, heard, worker
from support.patience import until
from websockets.sync.client import connect

from petra import __version__
from petra.wire import frames as f

pytestmark = pytest.mark.slow

DUCK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: duck, path: duck}
workflow:
  - step: load
    spec: {pool: etl}
    tool: {kind: duckdb, command: "select 40 + 2 as n"}
"""


@pytest.mark.spec("S11")
def test_a_run_waits_for_a_worker_with_its_tool_and_every_page_says_so(tmp_path: Path) -> None:
    with (
        serve(tmp_path / ".petra") as served,
        served.client() as api,
        connect(**_address(served)) as without,
    ):
        hello = f.Hello(worker="w", pool="etl", slots=4, credit=4, kinds=["http", "python"])
        without.send(f.encode(hello))
        until(lambda: any(one["name"] == "w" for one in api.get("/workers").json()["items"]))
        execution = started(api, DUCK, wait=0)["id"]
        words = "no worker of pool 'etl' knows 'duckdb'; 1 worker is there; 1 run waits"
        until(lambda: words in api.get(f"/executions/{execution}/explain").text)
        assert words in petra(tmp_path, "explain", execution, "--home", str(served.home))
        [pool] = [one for one in api.get("/pools").json()["items"] if one["pool"] == "etl"]
        assert words in pool["trouble"]
        assert pool["first"] == execution
        with worker(served, "--label", "zone=north") as process:
            heard(process, "works for")
            assert ended(served, execution)["output"] == {"rows": [{"n": 42}], "count": 1}
            found = {one["name"]: one for one in api.get("/workers").json()["items"]}
            [able] = [one for one in found.values() if one["labels"]]
            assert (able["labels"], able["version"]) == ({"zone": "north"}, __version__)
            assert "duckdb" in able["kinds"]
            assert found["w"]["kinds"] == ["http", "python"]
            [pool] = [one for one in api.get("/pools").json()["items"] if one["pool"] == "etl"]
            assert (pool["trouble"], pool["first"]) == (None, None)


def test_of_a_worker_it_is_said_which_executions_it_has_runs_of(tmp_path: Path) -> None:
    with (
        serve(tmp_path / ".petra") as served,
        served.client() as api,
        connect(**_address(served)) as there,
    ):
        assert api.post("/namespaces", json={"name": "another"}).status_code == 201
        there.send(f.encode(f.Hello(worker="w", pool="etl", slots=4, credit=4)))
        execution = started(api, DUCK, wait=0)["id"]

        def has(namespace: str) -> list[list[str]]:
            items = api.get("/workers", params={"namespace": namespace}).json()["items"]
            return [one["executions"] for one in items if one["name"] == "w"]

        until(lambda: has("default") == [[execution]])
        assert has("another") == [[]]


def test_the_worker_of_a_server_says_its_version_too(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        until(lambda: bool(api.get("/workers").json()["items"]))
        (own,) = api.get("/workers").json()["items"]
        assert own["version"] == __version__
