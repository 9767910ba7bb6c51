"""``petra serve`` as a process: it ends in order, comes back after a kill, and says who holds a folder."""

from __future__ import annotations

import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from server.books import ADDS, WAITS
from server.conftest import PETRA, serve
from server.test_executions import started

pytestmark = pytest.mark.slow


@pytest.mark.spec("S17")
def test_what_was_acknowledged_is_there_after_a_kill_and_keys_hold(tmp_path: Path) -> None:
    body = {"playbook": {"text": WAITS}}
    key = {"Idempotency-Key": "k", "Prefer": "wait=30"}
    with serve(tmp_path / ".petra") as served, served.client() as api:
        first = api.post("/executions", json=body, headers=key).json()
        assert served.end(signal.SIGKILL) == -signal.SIGKILL
    with serve(tmp_path / ".petra") as served, served.client() as api:
        assert api.post("/executions", json=body, headers=key).json()["id"] == first["id"]
        path = f"/executions/{first['id']}/signals/go"
        done = api.post(path, headers={"Prefer": "wait=30"}).json()
        assert done["execution"]["status"] == "completed"
        assert served.end() == 0
    assert stat.S_IMODE((tmp_path / ".petra/owner-token").stat().st_mode) == 0o600


def test_it_drains_and_the_command_line_reaches_the_same_folder(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        shown = started(api, ADDS)
        home = ["--home", str(tmp_path / ".petra")]
        listed = subprocess.run([PETRA, "ps", *home], capture_output=True, text=True, check=True)
        assert shown["id"] in listed.stdout
        second = subprocess.run(
            [PETRA, "serve", "--port", "0", *home], capture_output=True, text=True, check=False
        )
        assert second.returncode == 1
        assert served.url in second.stderr
        assert httpx2.get(f"{served.url}/readyz").status_code == 200
        assert served.end() == 0


def test_a_place_that_is_taken_or_open_to_others_is_refused(tmp_path: Path) -> None:
    def refused(*where: str) -> str:
        home = ["--home", str(tmp_path / "b")]
        done = subprocess.run(
            [PETRA, "serve", *where, *home], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        return done.stderr

    with serve(tmp_path / "a") as served:
        assert "--port 0" in refused("--port", served.url.rpartition(":")[2])
    assert "127.0.0.1" in refused("--host", "0.0.0.0", "--port", "0")


def test_the_program_of_the_how_to_runs_as_written(root: Path, tmp_path: Path) -> None:
    page = (root / "docs/how-to/run-a-server.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "examples").symlink_to(root / "examples")
    with serve(tmp_path / ".petra") as served:
        text = program.replace("http://127.0.0.1:7777", served.url)
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True
        )
    assert done.stdout.startswith("completed ")


def test_whoever_reads_a_stream_is_told_that_the_server_closes(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        shown = started(api, WAITS)
        with api.stream("GET", f"/executions/{shown['id']}/stream") as answer:
            lines = answer.iter_lines()
            while next(lines) != "event: head":
                pass
            served.process.terminate()
            assert "event: bye" in list(lines)
        assert served.process.wait() == 0
