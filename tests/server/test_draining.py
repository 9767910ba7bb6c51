"""A server that is told to end lets its own worker finish what it has, within its grace."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from server.conftest import Served, serve
from server.test_engines import all_held_by, shards
from server.test_workers import begun, ended
from support.patience import until

from petra.store.rows import shard_of

pytestmark = [pytest.mark.slow, pytest.mark.spec("S20")]

TWO = """
kind: Playbook
apiVersion: petra/v1
metadata: {name: two}
workflow:
  - step: work
    tool:
      kind: python
      code: |
        def main(workload):
            with open(workload["tell"], "a") as tell:
                tell.write("begun\\n")
            with open(workload["go"]) as go:
                return go.read()
    next:
      arcs: [{step: after}]
  - step: after
    tool: {kind: python, code: "result = work"}
"""


def _working(served: Served, folder: Path) -> str:
    """Start an execution whose first step waits at a gate; return its id."""
    os.mkfifo(folder / "go")
    workload = {"tell": str(folder / "tell"), "go": str(folder / "go")}
    with served.client() as api:
        started = api.post("/executions", json={"playbook": {"text": TWO}, "workload": workload})
    while not begun(folder / "tell"):
        assert served.process.poll() is None
    return str(started.json()["id"])


def _closed(served: Served) -> None:
    """Wait until a server that was told to end takes no more requests."""
    while True:
        try:
            httpx2.get(f"{served.url}/livez", timeout=300)
        except httpx2.HTTPError:
            return


def test_what_runs_is_finished_and_nothing_more_is_begun(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra", "--grace", "300") as served:
        name = _working(served, tmp_path)
        served.process.send_signal(signal.SIGTERM)
        _closed(served)
        (tmp_path / "go").write_text("went on")
        assert served.process.wait() == 0
    with serve(tmp_path / ".petra", "--workers", "0") as served, served.client() as api:
        log = api.get(f"/executions/{name}/records").text
        assert "run.redelivered" not in log
    with serve(tmp_path / ".petra") as served:
        assert ended(served, name)["output"] == "went on"
    assert (tmp_path / "tell").read_text() == "begun\n"


def test_the_workers_of_all_engines_finish_what_they_have(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    dsn, folder = new_database(), tmp_path / ".petra"
    with serve(folder, "--store", dsn, "--engines", "2", "--grace", "400") as served:
        until(lambda: all_held_by(dsn, 2))
        names, owners = list[str](), set[str]()
        while len(owners) < 2:
            names.append(_working(served, _made(tmp_path / str(len(names)))))
            owners.add(shards(dsn)[shard_of(names[-1])].holder)
        served.process.send_signal(signal.SIGTERM)
        _closed(served)
        for number in range(len(names)):
            (tmp_path / str(number) / "go").write_text("went on")
        assert served.process.wait() == 0
    with serve(folder, "--store", dsn) as served, served.client() as api:
        for number, name in enumerate(names):
            assert ended(served, name)["output"] == "went on"
            assert "run.redelivered" not in api.get(f"/executions/{name}/records").text
            assert (tmp_path / str(number) / "tell").read_text() == "begun\n"


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_who_sends_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra", "--grace", "3600") as served:
        _working(served, tmp_path)
        served.process.send_signal(signal.SIGTERM)
        _closed(served)
        assert served.end(signal.SIGTERM) == 0


def test_what_outlasts_the_grace_is_taken_back_and_runs_again(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra", "--grace", "0.2") as served:
        name = _working(served, tmp_path)
        assert served.end() == 0
    with serve(tmp_path / ".petra") as served:
        (tmp_path / "go").write_text("at last")
        assert ended(served, name)["output"] == "at last"
    assert (tmp_path / "tell").read_text() == "begun\nbegun\n"
