"""Stored credentials over the network: who gets one, who does not, and that none is ever seen anywhere (S20)."""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from server.conftest import Served, launch, serve
from server.newcomers import acting_as, user
from server.test_workers import heard
from support import forks
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from petra.wire import frames
from petra.wire.frames import SUBPROTOCOL
from petra.worker.remote import socket_address

pytestmark = [pytest.mark.slow, pytest.mark.spec("S20")]

CANARY = "can4ry+Value/of=the~network"


def book(pool: str = "etl", credential: str = "shop") -> str:
    return f"""\
apiVersion: petra/v1
kind: Playbook
metadata: {{name: uses, path: uses}}
keychain:
  - {{name: api, kind: credential, credential: {credential}}}
workflow:
  - step: a
    spec: {{pool: {pool}}}
    tool:
      kind: python
      args: {{key: "{{{{ keychain.api }}}}"}}
      code: "print(key); result = [len(key), key]"
"""


@contextmanager
def worker(served: Served, token: str, pool: str = "etl") -> Iterator[subprocess.Popen[str]]:
    with launch(
        "worker", "--server", served.url, "--pool", pool,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PETRA_TOKEN": token},
    ) as process:  # fmt: skip
        try:
            heard(process, "works for")
            yield process
        finally:
            process.kill()


def token(api: httpx2.Client, role: str = "worker", pool: str = "etl") -> str:
    made = api.post("/tokens", json={"role": role, "pool": pool})
    assert made.status_code == 201, made.text
    return str(made.json()["token"])


def space(api: httpx2.Client) -> str:
    name = f"n{secrets.token_hex(5)}"
    assert api.post("/namespaces", json={"name": name}).status_code == 201
    return name


def started(
    api: httpx2.Client, text: str, namespace: str = "default", wait: int = 60
) -> httpx2.Response:
    return api.post(
        "/executions", json={"playbook": {"text": text}, "namespace": namespace},
        headers={"Prefer": f"wait={wait}"},
    )  # fmt: skip


def notes(api: httpx2.Client) -> list[dict[str, Any]]:
    found = api.get("/audit", params={"limit": "500"}).json()["items"]
    return [one for one in found if one["act"] == "secret given"]


def test_a_worker_elsewhere_is_given_a_secret_and_nothing_that_is_said_or_stored_has_it(
    tmp_path: Path,
) -> None:
    with serve(tmp_path / ".petra", "--workers", "0") as served, served.client() as api:
        answers = [api.put("/secrets/shop", json={"value": CANARY})]
        assert answers[0].status_code == 201, answers[0].text
        with worker(served, token(api)) as process:
            done = started(api, book())
            answers.append(done)
            assert done.json()["status"] == "completed", done.text
            assert done.json()["output"][0] == len(CANARY)
            name = done.json()["id"]
            with api.stream("GET", f"/executions/{name}/stream") as stream:
                answers += [httpx2.Response(200, text="\n".join(stream.iter_lines()))]
            for path in (
                "/secrets", "/audit", f"/executions/{name}", f"/executions/{name}/records", f"/executions/{name}/logs",
                f"/executions/{name}/result", "/workers", "/meta", "/executions",
            ):  # fmt: skip
                answers.append(api.get(path))
                assert answers[-1].status_code == 200, (path, answers[-1].text)
            answers.append(api.get(f"{served.url}/metrics"))
            noted = notes(api)
            process.terminate()
            printed = "".join(process.communicate())
        assert [(one["outcome"], one["namespace"]) for one in noted] == [("done", "default")]
        assert noted[0]["target"].startswith(f"shop v1 for {name}/")
        assert noted[0]["actor"].startswith("token:")
        said = "\n".join([printed, *(answer.text for answer in answers)])
    for form in (CANARY, quote(CANARY, safe=""), base64.b64encode(CANARY.encode()).decode()):
        assert form not in said
        for file in (tmp_path / ".petra").rglob("*"):
            assert not file.is_file() or form.encode() not in file.read_bytes(), file


def test_the_worker_of_the_server_gets_secrets_by_the_same_rule(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        api.put("/secrets/shop", json={"value": CANARY, "pools": ["etl"]})
        refused = started(api, book("default"))
        assert (refused.status_code, refused.json()["code"]) == (409, "refused")
        assert "'shop' is not for pool 'default'" in refused.json()["detail"]
        api.put("/secrets/shop", json={"value": CANARY, "pools": ["default", "etl"]})
        assert started(api, book("default")).json()["status"] == "completed"
        assert [one["outcome"] for one in notes(api)] == ["done"]


def test_a_secret_is_of_one_namespace_and_the_same_playbook_gets_its_own_in_each(
    tmp_path: Path,
) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        other = space(api)
        api.put("/secrets/shop", json={"value": CANARY})
        missing = started(api, book("default"), other)
        assert (missing.status_code, missing.json()["code"]) == (409, "refused")
        assert "petra secret set shop" in missing.json()["detail"]
        api.put("/secrets/shop", params={"namespace": other}, json={"value": "x" * 7})
        for namespace, length in (("default", len(CANARY)), (other, 7), ("default", len(CANARY))):
            done = started(api, book("default"), namespace)
            assert done.json()["output"][0] == length, namespace
        assert {one["namespace"] for one in notes(api)} == {"default", other}
        names = api.get("/secrets", params={"namespace": other}).json()["items"]
        assert [(one["name"], one["version"], one["pools"]) for one in names] == [("shop", 1, [])]
        gone = api.delete("/secrets/shop", params={"namespace": other})
        assert gone.status_code == 204
        assert api.delete("/secrets/shop", params={"namespace": other}).status_code == 404
        assert api.get("/secrets").json()["items"][0]["name"] == "shop"


def test_a_worker_of_a_namespace_gets_its_runs_and_no_others(tmp_path: Path) -> None:
    text = book().replace("keychain:\n  - {name: api, kind: credential, credential: shop}\n", "")
    text = text.replace('      args: {key: "{{ keychain.api }}"}\n', "").replace(
        "print(key); result = [len(key), key]", "result = 1"
    )
    with serve(tmp_path / ".petra") as served, served.client() as api:
        theirs = space(api)
        with worker(served, token(api, f"worker@{theirs}")):
            waits = started(api, text, wait=1)
            assert waits.status_code in (201, 202)
            assert started(api, text, theirs).json()["status"] == "completed"
            name = waits.json()["id"]
            found = api.get(f"/executions/{name}/explain").json()
            assert "no worker of pool 'etl' is connected" in str(found)
            assert [one["pool"] for one in api.get("/workers").json()["items"]] == ["default"]
            there = api.get("/workers", params={"namespace": theirs}).json()["items"]
            assert [(one["pool"], one["namespaces"]) for one in there] == [
                ("default", None),
                ("etl", [theirs]),
            ]
            with worker(served, token(api)):
                done = api.get(f"/executions/{name}/stream")
                assert done.status_code == 200
                assert api.get(f"/executions/{name}").json()["status"] == "completed"
                strange = started(api, text, space(api), wait=1)
                found = api.get(f"/executions/{strange.json()['id']}/explain").json()
                assert "for namespace 'n" in str(found)
                with worker(served, token(api, "worker@*")):
                    api.get(f"/executions/{strange.json()['id']}/stream")
        done = api.get(f"/executions/{strange.json()['id']}").json()
        assert done["status"] == "completed"


def hand(served: Served, given: str) -> Any:
    """Connect as a worker that says what it likes."""
    return connect(
        socket_address(served.url), additional_headers={"Authorization": f"Bearer {given}"},
        subprotocols=[Subprotocol(SUBPROTOCOL)], compression=None,
    )  # fmt: skip


def said(socket: Any, kind: type) -> Any:
    while True:
        frame = frames.decode(socket.recv(timeout=60))
        if isinstance(frame, kind):
            return frame


def test_a_worker_without_the_lease_or_the_declaration_gets_nothing(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra", "--workers", "0") as served, served.client() as api:
        api.put("/secrets/shop", json={"value": CANARY})
        api.put("/secrets/bank", json={"value": CANARY})
        pass_ = token(api)
        with hand(served, pass_) as one, hand(served, pass_) as two:
            for socket in (one, two):
                socket.send(frames.encode(frames.Hello(worker="w", pool="etl")))
            started(api, book(), wait=0)
            one.send(frames.encode(frames.Credit(slots=1)))
            lease = said(one, frames.Assignments).assignments[0].lease
            ask = frames.encode(frames.Reveal(number=1, lease=lease, name="shop"))
            two.send(ask)
            other = said(two, frames.Revealed)
            assert (other.value, other.problem) == (None, "the lease has run out")
            one.send(ask)
            assert said(one, frames.Revealed).value == CANARY
            one.send(frames.encode(frames.Reveal(number=2, lease=lease, name="bank")))
            with pytest.raises(ConnectionClosed) as closed:
                said(one, frames.Revealed)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008
        assert len(notes(api)) == 1


def test_a_fresh_key_seals_everything_and_the_old_one_opens_nothing(tmp_path: Path) -> None:
    def petra(*words: str, typed: str = "", **more: str) -> str:
        place = ("--home", str(tmp_path / ".petra"))
        environment = {**os.environ, **more}
        done = forks.PETRA.run(tmp_path, *words, *place, typed=typed, environment=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    petra("secret", "set", "shop", typed=CANARY)
    with serve(tmp_path / ".petra") as served, served.client() as api:
        before = (tmp_path / ".petra" / "petra.key").read_bytes()
        assert api.post("/secrets/rotate", json={}).json() == {"key": "k2", "versions": 1}
        assert (tmp_path / ".petra" / "petra.key").read_bytes() != before
        assert started(api, book("default")).json()["output"][0] == len(CANARY)
    assert "shop" in petra("secret", "list")
    first, second = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
    assert "1 version is sealed" in petra("secret", "rotate", PETRA_MASTER_KEY=first)
    assert "1 version is sealed" in petra("secret", "rotate", PETRA_MASTER_KEY=f"{second},{first}")
    rows = json.loads((tmp_path / ".petra" / "petra.credentials").read_bytes())
    assert [row["key"][:6] for row in rows] == ["given-"]


def test_secrets_are_for_who_administers_their_namespace(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        other = space(api)
        with acting_as(served, api, user(api, "admin@default")) as somebody:
            assert somebody.put("/secrets/a", json={"value": CANARY}).status_code == 201
            there = {"namespace": other}
            assert somebody.get("/secrets", params=there).status_code == 404
            assert somebody.put("/secrets/a", params=there, json={"value": 1}).status_code == 404
            assert somebody.post("/secrets/rotate", json={}).status_code == 403
            wrong = somebody.put("/secrets/a", json={"value": CANARY, "pool": "etl"})
            assert wrong.status_code == 400
            assert CANARY not in wrong.text
