"""Two servers on one database, and a worker elsewhere: whoever dies, what runs there runs once."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from server.conftest import launch, serve
from server.test_workers import LONG, begun, ended, heard

pytestmark = [pytest.mark.slow, pytest.mark.spec("S22")]
COUNT = 4


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_a_run_goes_on_at_its_worker_when_its_server_is_gone_and_another_takes_over(
    tmp_path: Path, new_database: Callable[[], str], number: int
) -> None:
    store = ("--store", new_database(), "--workers", "0", "--lease", "60")
    tells = [tmp_path / f"tell{index}" for index in range(COUNT)]
    gates = [tmp_path / f"go{index}" for index in range(COUNT)]
    for gate in gates:
        os.mkfifo(gate)
    with serve(tmp_path / "a", *store) as one, serve(tmp_path / "b", *store) as other:
        with one.client() as api:
            token = api.post("/tokens", json={"role": "worker", "pool": "etl"}).json()["token"]
        with launch(
            "worker", "--server", one.url, "--server", other.url, "--pool", "etl",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PETRA_TOKEN": token},
        ) as worker:  # fmt: skip
            try:
                heard(worker, f"works for {one.url}")
                with one.client() as api:  # ids that it makes are of its own shards
                    names = [
                        api.post(
                            "/executions",
                            json={"playbook": {"text": LONG}, "workload": {"tell": str(tell), "go": str(gate)}},
                        ).json()["id"]
                        for tell, gate in zip(tells, gates, strict=True)
                    ]  # fmt: skip
                while not all(begun(tell) for tell in tells):
                    assert worker.poll() is None
                one.end(number)
                heard(worker, f"works for {other.url}")
                for gate in gates:
                    gate.write_text("went on")
                for name in names:
                    done = ended(other, name)
                    assert (done["status"], done["output"]) == ("completed", "went on")
                    with other.client() as api:
                        log = api.get(f"/executions/{name}/records").text
                    assert "run.redelivered" not in log
            finally:
                worker.kill()
        assert [tell.read_text() for tell in tells] == ["begun\n"] * COUNT
