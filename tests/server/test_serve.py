"""``petra serve`` as a process: it ends in order, comes back after a kill, and says who holds a folder."""

from __future__ import annotations

import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from server.books import ADDS, WAITS, book
from server.conftest import get, serve
from server.test_executions import started
from support import forks

pytestmark = pytest.mark.slow


@pytest.mark.spec("S17")
def test_what_was_acknowledged_is_there_after_a_kill_and_keys_hold(tmp_path: Path) -> None:
    body = {"playbook": {"text": WAITS}}
    key = {"Idempotency-Key": "k", "Prefer": "wait=60"}
    with serve(tmp_path / ".petra") as served, served.client() as api:
        first = api.post("/executions", json=body, headers=key).json()
        assert served.end(signal.SIGKILL) == -signal.SIGKILL
    with serve(tmp_path / ".petra") as served, served.client() as api:
        assert api.post("/executions", json=body, headers=key).json()["id"] == first["id"]
        path = f"/executions/{first['id']}/signals/go"
        done = api.post(path, headers={"Prefer": "wait=60"}).json()
        assert done["execution"]["status"] == "completed"
        assert served.end() == 0
    assert stat.S_IMODE((tmp_path / ".petra/owner-token").stat().st_mode) == 0o600


def test_it_drains_and_the_command_line_reaches_the_same_folder(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        shown = started(api, ADDS)
        home = ["--home", str(tmp_path / ".petra")]
        listed = forks.PETRA.run(tmp_path, "ps", *home)
        assert shown["id"] in listed.stdout
        second = forks.SERVER.run(tmp_path, "serve", "--port", "0", *home)
        assert second.returncode == 1
        assert served.url in second.stderr
        assert get(f"{served.url}/readyz").status_code == 200
        assert served.end() == 0


def test_a_place_that_is_taken_or_open_to_others_is_refused(tmp_path: Path) -> None:
    def refused(*where: str) -> str:
        home = ["--home", str(tmp_path / "b")]
        done = forks.SERVER.run(tmp_path, "serve", *where, *home)
        assert done.returncode == 1
        return done.stderr

    with serve(tmp_path / "a") as served:
        assert "--port 0" in refused("--port", served.url.rpartition(":")[2])
    assert "petra user add" in refused("--host", "0.0.0.0", "--port", "0")


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
        with api.stream(
            "GET", f"/executions/{shown['id']}/stream", params={"as": "records"}
        ) as answer:
            lines = answer.iter_lines()
            while next(lines) != "event: head":
                pass
            served.process.terminate()
            assert "event: bye" in list(lines)
        assert served.process.wait() == 0


def test_an_address_that_a_killed_server_left_is_not_given_out(tmp_path: Path) -> None:
    home = tmp_path / ".petra"
    with serve(home) as served:
        assert served.end(signal.SIGKILL) == -signal.SIGKILL
    assert served.url in (home / "petra.address").read_text()
    holds = (
        "import asyncio, sys, petra\n"
        "async def main():\n"
        "    async with petra.open(sys.argv[1]):\n"
        "        print('open', flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", holds, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "open\n"
            second = forks.SERVER.run(tmp_path, "serve", "--port", "0", "--home", str(home))
        finally:
            holder.terminate()
    assert second.returncode == 1
    assert f"process {holder.pid}" in second.stderr
    assert served.url not in second.stderr


def test_everything_lies_behind_a_prefix(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra", "--prefix", "/flows/") as served:
        assert served.url.endswith("/flows")
        root = served.url.removesuffix("/flows")
        assert get(f"{served.url}/livez").status_code == 200
        assert get(f"{root}/livez").status_code == 404
        with served.client() as api:
            shown = api.post("/executions", json={"playbook": {"text": ADDS}})
            assert shown.status_code == 201
            assert get(f"{root}{shown.headers['location']}").status_code == 401
            assert api.get(f"{root}{shown.headers['location']}").status_code == 200
        with httpx2.Client(follow_redirects=True, timeout=300) as browser:
            assert browser.get(served.said["login_url"]).status_code == 200
            assert browser.get(f"{served.url}/api/v1/me").status_code == 200
            (cookie,) = browser.cookies.jar
            assert cookie.path == "/flows"


def test_a_workload_of_ten_megabytes_comes_and_goes(tmp_path: Path) -> None:
    text = book("  - {step: one, tool: {kind: noop}}\n", name="large").replace(
        "workflow:", "executor: {spec: {output: '{{ workload.rows }}'}}\nworkflow:", 1
    )
    rows = ["x" * 1_000] * 10_000
    with serve(tmp_path / ".petra") as served, served.client() as api:
        body = {"playbook": {"text": text}, "workload": {"rows": rows}}
        made = api.post("/executions", json=body, headers={"Prefer": "wait=60"})
        assert made.status_code == 201, made.text[:500]
        assert api.get(f"/executions/{made.json()['id']}/result").json() == rows
        assert served.end() == 0


@pytest.mark.spec("S17")
def test_a_server_on_postgresql_goes_on_where_another_one_was_killed(
    tmp_path: Path, empty_database: Callable[[], str]
) -> None:
    store = ("--store", empty_database())
    with serve(tmp_path / "a", *store) as served, served.client() as api:
        shown = started(api, WAITS)
        assert served.end(signal.SIGKILL) == -signal.SIGKILL
    with serve(tmp_path / "b", *store) as served, served.client() as api:
        path = f"/executions/{shown['id']}/signals/go"
        done = api.post(path, headers={"Prefer": "wait=60"}).json()
        assert done["execution"]["status"] == "completed"
        assert served.end() == 0


def test_a_long_text_is_read_beside_the_loop_and_its_errors_have_places(tmp_path: Path) -> None:
    steps = "".join(f"  - {{step: s{n}, tool: {{kind: noop}}}}\n" for n in range(300))
    with serve(tmp_path / ".petra") as served, served.client() as api:
        text = book(steps, name="long")
        assert started(api, text)["playbook"] == "long"
        wrong = text + "  - {step: s0, tool: {kind: nop}}\n"
        answer = api.post("/executions", json={"playbook": {"text": wrong}})
        assert answer.status_code == 422
        assert {one["line"] for one in answer.json()["errors"] if one["severity"] == "error"} == {
            305
        }
        assert api.post("/playbooks", json={"text": text}).status_code == 201
        assert api.post("/executions", json={"playbook": "long"}).status_code == 201


def test_what_one_server_revokes_is_over_at_another_one_too(
    tmp_path: Path, empty_database: Callable[[], str]
) -> None:
    store = ("--store", empty_database())
    with (
        serve(tmp_path / "a", *store) as one,
        serve(tmp_path / "b", *store) as other,
        one.client() as api,
    ):
        api.post("/users", json={"name": "robot", "roles": ["viewer"], "service": True})
        made = api.post("/tokens", json={"user": "robot"}).json()
        headers = {"Authorization": f"Bearer {made['token']}"}
        there = f"{other.url}/api/v1/me"
        assert get(there, headers=headers).json()["name"] == "robot"
        assert api.delete(f"/tokens/{made['id']}").status_code == 204
        assert get(there, headers=headers).status_code == 401
        with other.client() as second:
            acts = {entry["act"] for entry in second.get("/audit").json()["items"]}
            assert {"POST /users", "POST /tokens"} <= acts
            assert second.post("/audit/verify").json()["ok"]
