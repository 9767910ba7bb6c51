"""Workers elsewhere: processes that reach the server over its address, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.conftest import Served, get, launch, serve
from support import forks
from support.patience import until
from support.processes import ending, port_to_come_back_to
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from petra.wire import frames
from petra.wire.frames import SUBPROTOCOL, encode
from petra.worker.remote import socket_address

pytestmark = pytest.mark.slow

BOOK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: there, path: there}
workflow:
  - step: one
    spec: {pool: etl}
    tool: {kind: python, code: "result = {'rows': ['x' * 1000] * 300}"}
    next: {arcs: [{step: two}]}
  - step: two
    spec: {pool: etl}
    tool: {kind: python, args: {rows: "{{ one.rows }}"}, code: "import os; result = [len(rows), os.getpid()]"}
"""
LONG = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: long, path: long}
workflow:
  - step: one
    spec: {pool: etl}
    tool:
      kind: python
      args: {tell: "{{ workload.tell }}", go: "{{ workload.go }}"}
      code: |
        with open(tell, "a") as file:
            file.write("begun\\n")
        with open(go) as gate:
            result = gate.read()
"""


@contextmanager
def worker(
    served: Served, *more: str, token: str = "", anew: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Start a worker; whatever becomes of the test, it is gone afterwards."""
    with launch(
        "worker", "--server", served.url, "--pool", "etl", *more, anew=anew,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PETRA_TOKEN": token or served.said["token"]},
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"it never said '{words}', but:\n{process.stderr.read()}")


def begun(tell: Path) -> bool:
    """Tell whether a run of ``LONG`` has said so: opening the file comes before writing to it."""
    return tell.exists() and bool(tell.read_text())


def run(served: Served, text: str, **workload: Any) -> dict[str, Any]:
    with served.client() as api:
        answer = api.post(
            "/executions",
            json={"playbook": {"text": text}, "workload": workload},
            headers={"Prefer": "wait=60"},
        )
        assert answer.status_code in {201, 202}, answer.text
        return dict(answer.json())


def ended(served: Served, execution: str) -> dict[str, Any]:
    with served.client() as api:
        with api.stream("GET", f"/executions/{execution}/stream") as answer:
            for _ in answer.iter_lines():
                pass  # it lasts as long as the execution
        return dict(api.get(f"/executions/{execution}").json())


def pools(api: httpx2.Client) -> set[str]:
    return {one["pool"] for one in api.get("/workers").json()["items"]}


@pytest.mark.spec("S18")
def test_a_worker_elsewhere_does_the_runs_of_its_pool_and_its_large_results_go_through_the_server(
    tmp_path: Path,
) -> None:
    with serve(tmp_path / ".petra") as served, worker(served) as process:
        heard(process, "works for")
        done = run(served, BOOK)
        assert done["status"] == "completed", done
        assert done["output"] == [300, process.pid]
        with served.client() as api:
            [seen] = [one for one in api.get("/workers").json()["items"] if one["pool"] == "etl"]
            assert (seen["busy"], seen["state"]) == (0, "ready")
            stored = list((served.home / "objects").rglob("*.json"))
            assert len(stored) == 1
            there = "/".join(stored[0].parts[-2:])
            assert (
                api.get(f"/objects/{there}").status_code == 409
            )  # nobody holds a lease of it any more
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        with served.client() as api:
            # it hears of the end of a connection when that has ended
            until(lambda: "etl" not in pools(api))


def test_a_worker_that_is_cut_off_comes_back_and_what_it_runs_is_not_run_again(
    tmp_path: Path,
) -> None:
    tell, go = tmp_path / "tell", tmp_path / "go"
    os.mkfifo(go)
    with serve(tmp_path / ".petra") as served, worker(served) as process:
        heard(process, "works for")
        with served.client() as api:
            body = {"playbook": {"text": LONG}, "workload": {"tell": str(tell), "go": str(go)}}
            execution = api.post("/executions", json=body).json()["id"]
            while not begun(tell):
                assert process.poll() is None
            cut = _cut(process.pid, served.url)
            assert cut
            heard(process, "works for")  # it is back
            go.write_text("went on")
        done = ended(served, execution)
        assert (done["status"], done["output"]) == ("completed", "went on")
        assert tell.read_text() == "begun\n"


def test_a_worker_that_is_killed_loses_its_lease_and_the_run_goes_to_another(
    tmp_path: Path,
) -> None:
    tell, go = tmp_path / "tell", tmp_path / "go"
    os.mkfifo(go)
    with serve(tmp_path / ".petra", "--lease", "3", "--workers", "0") as served:
        with worker(served) as first:
            heard(first, "works for")
            with served.client() as api:
                body = {"playbook": {"text": LONG}, "workload": {"tell": str(tell), "go": str(go)}}
                execution = api.post("/executions", json=body).json()["id"]
            while not begun(tell):
                assert first.poll() is None
        with worker(served) as second:
            heard(second, "works for")
            go.write_text("at last")
            done = ended(served, execution)
        assert (done["status"], done["output"]) == ("completed", "at last")
        assert tell.read_text() == "begun\nbegun\n"


@pytest.mark.spec("S22")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_a_worker_goes_on_while_its_server_is_away_and_its_run_is_not_run_again(
    tmp_path: Path, number: int
) -> None:
    tell, go = tmp_path / "tell", tmp_path / "go"
    os.mkfifo(go)
    there = ("--workers", "0", "--port", str(port_to_come_back_to()))
    with serve(tmp_path / ".petra", *there) as served, worker(served) as process:
        heard(process, "works for")
        with served.client() as api:
            body = {"playbook": {"text": LONG}, "workload": {"tell": str(tell), "go": str(go)}}
            execution = api.post("/executions", json=body).json()["id"]
        while not begun(tell):
            assert process.poll() is None
        served.end(number)
        with serve(tmp_path / ".petra", *there) as again:
            heard(process, "works for")
            go.write_text("went on")
            done = ended(again, execution)
            with again.client() as api:
                log = api.get(f"/executions/{execution}/records").text
        assert (done["status"], done["output"]) == ("completed", "went on")
        assert tell.read_text() == "begun\n"
        assert "step.done" in log
        assert "run.redelivered" not in log


@pytest.mark.parametrize(
    ("token", "words"),
    [("petra_wrong", "does not know this token"), ("", "a worker needs a token")],
)
def test_a_worker_that_is_not_let_in_says_why(server: Served, token: str, words: str) -> None:
    words_of = ("worker", "--server", server.url)
    environment = {**os.environ, "PETRA_TOKEN": token}
    done = forks.SERVER.run(Path.cwd(), *words_of, environment=environment)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_worker_whose_token_is_for_another_pool_ends_and_says_so(server: Served) -> None:
    with server.client() as api:
        made = api.post("/tokens", json={"role": "worker", "pool": "etl"}).json()
    words_of = ("worker", "--server", server.url, "--pool", "mail")
    environment = {**os.environ, "PETRA_TOKEN": made["token"]}
    done = forks.SERVER.run(Path.cwd(), *words_of, environment=environment)
    assert done.returncode == 1
    assert "may not work for pool 'mail'" in done.stderr
    assert "petra token create --role worker --pool mail" in done.stderr
    assert "works for" not in done.stdout


@pytest.mark.parametrize(
    ("url", "words"),
    [("nonsense", "no address of a server"), ("http://127.0.0.1:1", "trying again")],
)
def test_an_address_where_nobody_is_is_named(url: str, words: str) -> None:
    environment = {"PETRA_TOKEN": "petra_any"}
    process = launch("worker", "--server", url, stderr=subprocess.PIPE, env=environment)
    with ending(process):
        assert process.stderr is not None
        assert words in process.stderr.readline()


def _cut(pid: int, url: str) -> bool:
    """Cut the connection of a worker to a server, from outside: shut the socket down by its duplicate."""
    code = """
import ctypes, os, socket, sys
pid, port = int(sys.argv[1]), int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
handle = os.pidfd_open(pid)
cut = 0
for name in os.listdir(f"/proc/{pid}/fd"):
    fd = libc.syscall(438, handle, int(name), 0)
    if fd < 0:
        continue
    try:
        found = socket.socket(fileno=fd)
        if found.family == socket.AF_INET and found.getpeername()[1] == port:
            found.shutdown(socket.SHUT_RDWR)
            cut += 1
        found.detach()
    except OSError:
        pass
    os.close(fd)
print(cut)
"""
    port = url.rpartition(":")[2]
    done = subprocess.run(
        [sys.executable, "-c", code, str(pid), port], capture_output=True, text=True, check=True
    )
    return int(done.stdout) > 0


FRAMES = {
    "what is no frame": b"\xc1nonsense",
    "a text": "hello",
    "work before hello": encode(frames.Credit(slots=1)),
    "another pool": encode(frames.Hello(worker="w", pool="other")),
    "what a server says": encode(frames.Ack(leases=["l"])),
    "a name of a megabyte": encode(frames.Hello(worker="w" * 1_000_000, pool="etl")),
    "leases that nobody gave": encode(frames.Hello(worker="w", leases=["made-up"])),
}


@pytest.mark.parametrize("said", FRAMES, ids=lambda said: said)
def test_a_worker_that_breaks_the_protocol_is_cut_off_and_the_server_goes_on(
    server: Served, said: str
) -> None:
    with connect(**_address(server)) as socket:
        if said == "another pool":  # the owner's token is for any pool
            socket.send(FRAMES[said])
            socket.send(FRAMES[said])
        else:
            socket.send(FRAMES[said])
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
    with server.client() as api:
        assert api.get("/me").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer petra_wrong"}, 401),
        ({"Cookie": "petra_session=x"}, 401),
        ({"Origin": "http://evil.example"}, 403),
    ],
    ids=["nothing", "a wrong token", "a cookie", "a page of another site"],
)
def test_nobody_comes_in_as_a_worker_without_a_token(
    server: Served, headers: dict[str, str], status: int
) -> None:
    given = _address(server)
    if "Origin" in headers:
        headers = {**headers, **given["additional_headers"]}
    with pytest.raises(InvalidStatus) as refused:
        connect(**{**given, "additional_headers": headers})
    assert refused.value.response.status_code == status


def test_what_a_worker_stores_must_be_what_its_name_says_and_of_a_run_that_it_has(
    server: Served,
) -> None:
    name = "0" * 64 + ".json"
    with server.client() as api:
        assert api.get("/objects").json() == {"store": "local"}
        for path in (f"/objects/somebody/{name}", f"/objects/../{name}", f"/objects/..%2f/{name}"):
            assert api.put(path, content=b"x").status_code in {404, 405, 409}
        joined = {"execution": "somebody", "pieces": []}
        assert api.post("/objects/joined", json=joined).status_code == 409


def _address(served: Served) -> dict[str, Any]:
    return {
        "uri": socket_address(served.url),
        "subprotocols": [SUBPROTOCOL],
        "additional_headers": {"Authorization": f"Bearer {served.said['token']}"},
    }


def test_a_worker_of_a_token_serves_its_pool_until_the_token_is_revoked(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        made = api.post("/tokens", json={"role": "worker", "pool": "etl"}).json()
        with worker(served, token=made["token"]) as process:
            heard(process, "works for")
            assert run(served, BOOK)["status"] == "completed"
            headers = {"Authorization": f"Bearer {made['token']}"}
            for path in ("executions", "playbooks", "users", "work-items", "workers"):
                seen = get(f"{served.url}/api/v1/{path}", headers=headers)
                assert seen.status_code == 403, path
            address = {**_address(served), "additional_headers": headers}
            with connect(**address) as socket:
                socket.send(FRAMES["another pool"])
                with pytest.raises(ConnectionClosed, match="pool 'etl'"):
                    socket.recv(timeout=60)
            assert api.delete(f"/tokens/{made['id']}").status_code == 204
            assert process.stderr is not None
            assert any("token" in line for line in process.stderr)


STUCK = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: stuck, path: stuck}
workflow:
  - step: one
    spec: {pool: etl, timeout_s: 1}
    tool:
      kind: python
      code: |
        import time
        while True:
            time.sleep(0.1)
"""
NUMBERED = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: numbered, path: numbered}
workflow:
  - step: one
    spec: {pool: etl}
    tool: {kind: python, code: "import os; result = os.getpid()"}
"""


@pytest.mark.spec("S22")
def test_a_worker_with_a_thread_that_does_not_come_back_begins_anew(server: Served) -> None:
    """A thread cannot be killed, its process can; and nobody but the worker itself starts it again."""
    with worker(server, anew=True) as process:
        heard(process, "works for")
        assert run(server, STUCK)["status"] == "failed"
        heard(process, "works for")
        assert run(server, NUMBERED)["output"] == process.pid
