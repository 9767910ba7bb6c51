"""Streams of lists: they begin with how things stand, go on behind a cursor, and tell what other servers do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cli.processes import petra
from server.books import WAITS
from server.conftest import Served, serve
from server.test_executions import started
from server.test_streams import events
from support.clocks import FakeClock
from support.patience import until

from petra.engine.feed import Feed
from petra.engine.news import Lagged, Notice, Topic
from petra.server.journal import LINGER_S, Journal, Reader

ASKS = """\
apiVersion: petra/v1
kind: Playbook
metadata: {name: asks, path: asks}
workflow:
  - step: ask
    tool: {kind: human, title: Go on?, assignees: {users: [bob, carol]}}
"""
Event = tuple[str, str, Any]


@contextmanager
def listening(
    api: httpx2.Client, topics: str = "executions", cursor: str = "", **asked: Any
) -> Iterator[Iterator[Event]]:
    """Listen to lists; the first event is hello."""
    headers = {"Last-Event-ID": cursor} if cursor else {}
    params = {"topics": topics, **asked}
    with api.stream("GET", "/stream", params=params, headers=headers) as answer:
        yield events(answer.iter_lines())


def heard(coming: Iterator[Event], name: str, **fields: Any) -> Event:
    """Return the next event of a name whose data has these values."""
    for event in coming:
        if event[1] == name and all(event[2].get(key) == fields[key] for key in fields):
            return event
    raise AssertionError("the stream ended")


def heard_both(coming: Iterator[Event], execution: str) -> None:
    """Wait until it is told that an execution waits and that somebody is asked, whichever is told first."""
    wanted = {"execution.row": "waiting", "item.row": "offered"}
    for _, name, data in coming:
        about = data.get("id") if name == "execution.row" else data.get("execution")
        if about == execution and wanted.get(name) == (data.get("status") or data.get("state")):
            del wanted[name]
        if not wanted:
            return
    raise AssertionError("the stream ended")


def marked(api: httpx2.Client, text: str = WAITS) -> tuple[dict[str, Any], dict[str, str]]:
    """Start an execution with a label of its own; return it, and what finds it and nothing else."""
    mark = f"mark{time.monotonic_ns()}"
    return started(api, text, labels={"mark": mark}), {"label": f"mark:{mark}"}


@pytest.mark.spec("S17")
def test_a_list_begins_with_how_things_stand(api: httpx2.Client) -> None:
    shown, asked = marked(api)
    with listening(api, "executions,work-items,workers", **asked) as coming:
        hello = next(coming)
        assert (hello[1], hello[2]["resumed"]) == ("hello", False)
        cursor, name, data = next(coming)
        assert name == "snapshot"
        assert cursor
        assert [one["id"] for one in data["executions"]] == [shown["id"]]
        assert data["executions"][0]["status"] == "waiting"
        assert [one["pool"] for one in data["workers"]] == ["default"]
        assert isinstance(data["work_items"], list)


@pytest.mark.spec("S17")
def test_whoever_comes_back_with_a_cursor_is_told_what_followed_it_and_nothing_twice(
    api: httpx2.Client,
) -> None:
    shown, asked = marked(api)
    with listening(api, **asked) as coming:
        cursor = heard(coming, "snapshot")[0]
    api.post(f"/executions/{shown['id']}/signals/go", json={})
    with listening(api, cursor=cursor, **asked) as coming:
        assert next(coming)[2]["resumed"] is True
        last, _, row = heard(coming, "execution.row", id=shown["id"], status="completed")
    with listening(api, cursor=last, **asked) as coming:
        assert next(coming)[2]["resumed"] is True
        other, _ = marked(api)
        api.patch(f"/executions/{shown['id']}/ctx", json={"values": {}})
        api.post(f"/executions/{other['id']}/cancel", json={})
        assert next(coming)[1] == "counts"  # of what came before it, nothing
    assert row["id"] == shown["id"]


@pytest.mark.parametrize("cursor", ["abc-1", "-", "7", "x" * 1000, "1-99999999999999999999"])
def test_a_cursor_that_is_not_known_is_answered_with_reset(cursor: str, api: httpx2.Client) -> None:
    _, asked = marked(api)
    for given in ({"cursor": cursor}, {"after": cursor}):
        with listening(api, **given, **asked) as coming:
            assert next(coming)[2]["resumed"] is False
            told, name, data = next(coming)
            assert (name, data) == ("reset", {"lost": 0})
            assert told, "it may go on from here"


@pytest.mark.slow
def test_who_is_told_that_an_item_is_somebody_else_s_had_been_told_of_it(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        bob, carol = (_decider(served, api, name) for name in ("bob", "carol"))
        shown = started(api, ASKS)
        [item] = api.get("/work-items").json()["items"]
        path = f"/work-items/{shown['id']}/{item['id']}"
        with (
            bob,
            carol,
            listening(bob, "work-items") as his,
            listening(carol, "work-items") as hers,
        ):
            for coming in (his, hers):
                _, _, data = heard(coming, "snapshot")
                assert [one["id"] for one in data["work_items"]] == [item["id"]]
            assert carol.post(f"{path}/claim", json={}).status_code == 200
            heard(hers, "item.row", id=item["id"], holder="carol")
            gone = heard(his, "item.gone")
            assert gone[2] == {"execution": shown["id"], "id": item["id"]}
            other = started(api, ASKS.replace("bob, carol", "carol"))
            api.post(f"/executions/{other['id']}/cancel", json={})
            third = started(api, ASKS)
            assert next(his)[2]["execution"] == third["id"], "of the other he is told nothing"
            with listening(bob, "work-items", cursor=gone[0]) as again:
                assert (
                    next(again)[2]["resumed"] is False
                )  # what went to others meanwhile, nobody knows
                assert next(again)[1] == "reset"


def _decider(served: Served, api: httpx2.Client, name: str) -> httpx2.Client:
    """Return the client of a user who only decides."""
    made = api.post(
        "/users", json={"name": name, "roles": ["approver"], "password": "longer than ten"}
    )
    assert made.status_code == 201, made.text
    token = api.post("/tokens", json={"user": name}).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    return httpx2.Client(base_url=f"{served.url}/api/v1", headers=headers, timeout=300)


@pytest.mark.slow
def test_what_is_deleted_is_gone_from_every_list(tmp_path: Path) -> None:
    with serve(tmp_path / ".petra") as served, served.client() as api:
        shown = started(api, ASKS)
        [item] = api.get("/work-items").json()["items"]
        with listening(api, "executions,work-items") as coming:
            heard(coming, "snapshot")
            api.post(f"/executions/{shown['id']}/cancel", json={})
            petra(tmp_path, "rm", shown["id"], "--home", str(served.home))
            names = {heard(coming, "execution.gone", id=shown["id"])[1]}
            names |= {heard(coming, "item.gone", execution=shown["id"], id=item["id"])[1]}
            assert len(names) == 2


@pytest.mark.slow
@pytest.mark.spec("S17")
def test_what_another_server_does_is_told_here(
    tmp_path: Path, empty_database: Callable[[], str]
) -> None:
    """Both servers have shards of their own; whoever acts for an execution, each tells the lists of both."""
    store = ("--store", empty_database())
    with (
        serve(tmp_path / "a", *store) as one,
        serve(tmp_path / "b", *store) as other,
        one.client() as here,
        other.client() as there,
    ):
        until(lambda: len({row["holder"] for row in here.get("/shards").json()["items"]}) == 2)
        with (
            listening(here, "executions,work-items") as a,
            listening(there, "executions,work-items") as b,
        ):
            for coming in (a, b):
                heard(coming, "snapshot")
            for number in range(12):
                api = (here, there)[number % 2]
                shown = started(api, ASKS.replace("[bob, carol]", "[]"))
                for coming in (a, b):
                    heard_both(coming, shown["id"])
                api.post(f"/executions/{shown['id']}/cancel", json={})
                for coming in (a, b):
                    heard(coming, "execution.row", id=shown["id"], status="aborted")


def told(feed: Feed, number: int) -> None:
    feed.tell(Topic.WORKERS, Notice(about="come", text=str(number)))


async def read(reader: Reader, count: int) -> list[Any]:
    found = [await reader.next() for _ in range(count)]
    return [one[1] for one in found if one is not None]


def texts(messages: list[Any]) -> list[str]:
    return [one.text for one in messages]


def test_a_reader_further_behind_than_the_journal_reaches_is_told_so() -> None:
    async def scenario() -> None:
        feed = Feed()
        journal = Journal(feed, FakeClock(), most=3)
        with journal.reading() as slow, journal.reading() as quick:
            begin = slow.cursor
            told(feed, 0)
            first = quick.cursor
            assert texts(await read(quick, 1)) == ["0"]
            for number in range(1, 5):
                told(feed, number)
            assert (await read(slow, 1)) == [Lagged(lost=5)]
            told(feed, 5)
            assert texts(await read(slow, 1)) == ["5"]
            with journal.reading() as late:
                assert not late.goes_on(begin)
                assert not late.goes_on(first)
                assert late.goes_on(journal.cursor(4))
                assert texts(await read(late, 2)) == ["4", "5"]

    asyncio.run(scenario())


def test_a_journal_hears_for_a_while_after_its_last_reader_and_no_longer() -> None:
    async def scenario() -> None:
        feed, clock = Feed(), FakeClock()
        journal = Journal(feed, clock)
        with journal.reading() as reader:
            cursor = reader.cursor
        told(feed, 1)
        await clock.advance(LINGER_S - 1)
        with journal.reading() as reader:
            assert reader.goes_on(cursor)
            assert texts(await read(reader, 1)) == ["1"]
        await clock.advance(LINGER_S - 1)
        assert feed.listeners(Topic.WORKERS) == 1
        await clock.advance(2)
        assert feed.listeners(Topic.WORKERS) == 0
        with journal.reading() as reader:
            assert not reader.goes_on(cursor)

    asyncio.run(scenario())
