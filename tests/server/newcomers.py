"""Users that the tests of the server add, and clients that act as them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from server.conftest import TRUSTED, Served

WORD = "correct horse battery"


def user(api: httpx2.Client, *roles: str, **more: Any) -> str:
    name = f"u{secrets.token_hex(6)}"
    given = {"name": name, "roles": list(roles), **(more or {"password": WORD})}
    answer = api.post("/users", json=given)
    assert answer.status_code == 201, answer.text
    assert WORD not in answer.text
    return name


@contextmanager
def acting_as(server: Served, api: httpx2.Client, name: str) -> Iterator[httpx2.Client]:
    made = api.post("/tokens", json={"user": name})
    assert made.status_code == 201, made.text
    headers = {"Authorization": f"Bearer {made.json()['token']}"}
    with httpx2.Client(
        base_url=f"{server.url}/api/v1", headers=headers, timeout=60, verify=TRUSTED
    ) as client:
        yield client


@contextmanager
def browser(server: Served) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=f"{server.url}/api/v1", timeout=60, verify=TRUSTED) as client:
        yield client
