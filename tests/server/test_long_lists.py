"""Lists and counts of more executions than a page looks at: short pages, whose cursors lead to all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.conftest import serve

from petra.client import connect
from petra.embedded import DATABASE
from petra.server.parameters import LOOKED_AT_MAX
from petra.store.sqlite import SqliteStore
from petra.testing.store_rows import applied, make_row, make_start

THERE = LOOKED_AT_MAX + 700
RARE = ("e00003", "e00500")


async def _filled(home: Path) -> None:
    store = await SqliteStore.open(home / DATABASE)
    rows = [
        make_row(f"e{n:05}", started=float(n), status="completed", ended=n + 1.0, reason="zq" if f"e{n:05}" in RARE else "")
        for n in range(THERE)
    ]  # fmt: skip
    for at in range(0, THERE, 1_000):
        await applied(store, *(make_start(row.id, row=row) for row in rows[at : at + 1_000]))
    await store.close()


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    home = tmp_path_factory.mktemp("long") / ".petra"
    asyncio.run(_filled(home))
    with serve(home) as served:
        yield served


@pytest.fixture
def api(long: Any) -> Iterator[httpx2.Client]:
    with long.client() as client:
        yield client


@pytest.mark.slow
def test_a_page_without_any_goes_on(api: httpx2.Client) -> None:
    wanted = {"text": "zq"}
    first = api.get("/executions", params=wanted).json()
    assert first["items"] == [], "they are older than what is looked at first"
    rest = api.get("/executions", params={**wanted, "cursor": first["next"]}).json()
    assert [one["id"] for one in rest["items"]] == sorted(RARE, reverse=True)
    assert rest["next"] is None


def test_counts_of_what_was_looked_at_say_where_they_go_on(api: httpx2.Client) -> None:
    wanted = {"text": "zq"}
    first = api.get("/executions/counts", params=wanted).json()
    assert (first["total"], first["counts"]) == (0, {})
    rest = api.get("/executions/counts", params={**wanted, "cursor": first["next"]}).json()
    assert (rest["total"], rest["counts"], "next" in rest) == (2, {"completed": 2}, False)
    whole = api.get("/executions/counts").json()
    assert (whole["total"], "next" in whole) == (THERE, False), "tallies have it at once"


def test_an_act_on_many_counts_all_of_them(api: httpx2.Client) -> None:
    asked = {"act": "cancel", "filter": {"text": "zq"}, "reason": "no more"}
    shown = api.post("/operations", params={"dry_run": True}, json=asked).json()
    assert shown["total"] == 2


def test_the_client_finds_what_is_behind_pages_without_any(long: Any) -> None:
    async def found() -> tuple[list[str], dict[str, int]]:
        async with connect(long.url, token=long.said["token"]) as client:
            names = [one.id async for one in client.executions(text="zq")]
            return names, await client.counts(text="zq")

    assert asyncio.run(found()) == (sorted(RARE, reverse=True), {"completed": 2})
