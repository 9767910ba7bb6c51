"""A service account that acts in the name of others: both are recorded, and it gets no further than they do."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from server.books import WAITS
from server.conftest import Served, serve
from server.newcomers import WORD, acting_as, user


def test_a_service_account_acts_as_a_user_and_both_are_recorded(
    server: Served, api: httpx2.Client
) -> None:
    ann, chief = user(api, "operator@default"), user(api, "admin@*")
    robot = user(api, service=True, act_as=True)
    with acting_as(server, api, robot) as client:
        assert client.get("/me").json()["may"] == ["act_as"]
        as_ann = {"X-Act-As": ann}
        assert client.get("/me", headers=as_ann).json()["name"] == ann
        made = client.post("/executions", json={"playbook": {"text": WAITS}}, headers=as_ann)
        assert made.status_code == 201, made.text
        first = api.get(f"/executions/{made.json()['id']}/records", params={"limit": "1"}).json()
        body = str(first["items"][0])
        assert ann in body
        assert robot in body
        notes = api.get("/audit", params={"actor": ann, "limit": "500"}).json()["items"]
        assert notes[-1]["by"] == robot
        for other in ({"X-Act-As": chief}, as_ann):
            assert client.post("/users", json={"name": "x"}, headers=other).status_code == 403
            assert client.post("/tokens", json={"user": ann}, headers=other).status_code in (
                403,
                404,
            )
        assert client.get("/me", headers={"X-Act-As": "nobody-here"}).status_code == 404
        assert api.patch(f"/users/{ann}", json={"disabled": True}).status_code == 200
        assert client.get("/me", headers=as_ann).status_code == 404


def test_who_may_not_act_as_others_does_not(server: Served, api: httpx2.Client) -> None:
    ann, bob = user(api, "admin@*"), user(api, "operator@default")
    for name in (ann, bob):
        with acting_as(server, api, name) as client:
            assert client.get("/me", headers={"X-Act-As": bob}).status_code == 403


@pytest.mark.slow
def test_a_thousand_attempts_let_ten_be_tried(tmp_path: Path) -> None:
    with (
        serve(tmp_path / ".petra") as server,  # others log in at theirs from the same address
        server.client() as api,
        httpx2.Client(base_url=f"{server.url}/api/v1", timeout=300) as client,
    ):
        name = user(api, "viewer@default")

        def attempt(number: int) -> int:
            given = {"name": name, "password": f"{WORD} {number}"}
            return client.post("/session", json=given).status_code

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(attempt, range(1_000)))
        assert set(found) <= {401, 429}
        assert found.count(401) <= 10
        right = client.post("/session", json={"name": name, "password": WORD})
        assert right.status_code == 429
        assert int(right.headers["Retry-After"]) > 0


@pytest.mark.slow
def test_a_thousand_names_from_one_address_let_fifty_be_tried_and_others_get_in(
    tmp_path: Path,
) -> None:
    with (
        serve(tmp_path / ".petra") as server,
        server.client() as api,
        from_address(server, "127.0.0.2") as thief,
        from_address(server, "127.0.0.3") as elsewhere,
    ):
        name = user(api, "viewer@default")

        def attempt(number: int) -> httpx2.Response:
            return thief.post("/session", json={"name": f"u{number}", "password": WORD})

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(attempt, range(1_000)))
        codes = Counter(answer.status_code for answer in found)
        assert set(codes) == {401, 429}
        assert codes[401] <= 50
        refused = [answer for answer in found if answer.status_code == 429]
        assert all(0 < int(answer.headers["Retry-After"]) <= 301 for answer in refused)
        given = {"name": name, "password": WORD}
        assert thief.post("/session", json=given).status_code == 429  # whatever they try
        assert elsewhere.post("/session", json=given).is_success


def from_address(server: Served, address: str) -> httpx2.Client:
    """Return a client that calls from another address of this machine."""
    transport = httpx2.HTTPTransport(local_address=address)
    return httpx2.Client(base_url=f"{server.url}/api/v1", transport=transport, timeout=300)
