"""Streams: every record once, in order, also for whoever comes back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.books import ADDS, WAITS
from server.conftest import serve
from server.test_executions import started
from support.clocks import FakeClock

from petra.desk.principal import owner
from petra.engine.feed import Feed
from petra.engine.news import Topic
from petra.server.journal import Journal
from petra.server.resources.list_messages import ListReader
from petra.server.resources.listening import _rows
from petra.server.shared_counts import SharedCounts
from petra.store.memory import MemoryStore
from petra.store.rows import ExecutionCount, ExecutionFilter, Page


def events(lines: Iterator[str]) -> Iterator[tuple[str, str, Any]]:
    """Read server-sent events: id, name, data."""
    cursor, name, data = "", "message", ""
    for line in lines:
        if not line:
            if data:
                yield cursor, name, json.loads(data)
            cursor, name, data = "", "message", ""
        elif not line.startswith(":"):
            field, _, value = line.partition(": ")
            if field == "id":
                cursor = value
            elif field == "event":
                name = value
            elif field == "data":
                data += value


@pytest.mark.spec("S17")
def test_a_stream_resumes_behind_any_record_without_a_gap(api: httpx2.Client) -> None:
    shown = started(api, ADDS)
    path = f"/executions/{shown['id']}/stream"
    for last in range(shown["version"] + 1):
        with api.stream(
            "GET", path, headers={"Last-Event-ID": str(last)}, params={"as": "records"}
        ) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            got = list(events(answer.iter_lines()))
        numbers = [int(cursor) for cursor, name, _ in got if name == "record"]
        assert numbers == list(range(last + 1, shown["version"] + 1))
        assert [data["status"] for _, name, data in got if name == "head"] == ["completed"]


def test_a_stream_shows_what_happens_while_it_is_read(api: httpx2.Client) -> None:
    shown = started(api, WAITS)
    with api.stream("GET", f"/executions/{shown['id']}/stream", params={"as": "records"}) as answer:
        seen: list[int] = []
        sent = False
        for cursor, name, data in events(answer.iter_lines()):
            if name == "record":
                seen.append(int(cursor))
            if name == "head" and data["status"] == "waiting" and not sent:
                sent = True
                assert api.post(f"/executions/{shown['id']}/signals/go").status_code == 200
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) > shown["version"]


@pytest.mark.spec("S17")
def test_frames_of_a_stream_put_together_are_those_of_the_execution(api: httpx2.Client) -> None:
    shown = started(api, ADDS)
    path = f"/executions/{shown['id']}"
    whole = api.get(f"{path}/frames").json()
    for last in range(shown["version"] + 1):
        with api.stream("GET", f"{path}/stream", headers={"Last-Event-ID": str(last)}) as answer:
            got = list(events(answer.iter_lines()))
        assert got[0][2]["resumed"] is True
        parts = [(int(cursor), data) for cursor, name, data in got if name == "frames"]
        moved = [delta for _, part in parts for delta in part["delta"]]
        assert moved == whole["delta"][last:]
        assert not parts or parts[-1][0] == shown["version"]
        assert [data["status"] for _, name, data in got if name == "head"] == ["completed"]
    with api.stream("GET", f"{path}/stream", params={"after": 999}) as answer:
        got = list(events(answer.iter_lines()))
    assert (got[0][2]["resumed"], got[1][1]) == (False, "reset")
    assert [delta for _, name, data in got if name == "frames" for delta in data["delta"]] == whole[
        "delta"
    ]


def test_a_list_is_told_of_new_executions(api: httpx2.Client) -> None:
    with api.stream("GET", "/stream", params={"topics": "executions,work-items"}) as answer:
        coming = events(answer.iter_lines())
        assert next(coming)[1] == "hello"
        shown = started(api, ADDS, wait=0)
        for _, name, data in coming:
            if (
                name == "execution.row"
                and data["id"] == shown["id"]
                and data["status"] == "completed"
            ):
                break
    assert api.get("/stream", params={"topics": "cats"}).json()["code"] == "bad-request"
    strange = {"Last-Event-ID": "of another stream"}
    with api.stream("GET", f"/executions/{shown['id']}/stream", headers=strange) as answer:
        names = [name for _, name, _ in events(answer.iter_lines())]
    assert names[:3] == ["hello", "reset", "frames"]


class _Uncounted:
    async def of(self, _: object) -> None:
        await asyncio.Event().wait()


class _Nowhere:
    version = ""
    counted = _Uncounted()

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.journal = Journal(Feed(), self.clock)


class _Unread(ListReader):
    async def opening(self, *_: object, **__: object) -> bytes:
        return b"snapshot"


@pytest.mark.parametrize("leaves_after", [0, 1, 2])
def test_whoever_reads_rows_may_leave_at_any_moment(leaves_after: int) -> None:
    async def leave() -> None:
        topics = frozenset({Topic.EXECUTIONS})
        listener = _Unread(_Nowhere(), owner(), topics, ExecutionFilter())  # type: ignore[arg-type]
        rows = _rows(listener, operations=False)
        for _ in range(leaves_after):
            await anext(rows)
        await rows.aclose()  # type: ignore[attr-defined]
        assert len(asyncio.all_tasks()) == 1, "nothing is left behind"

    asyncio.run(leave())


@pytest.mark.spec("S17")
def test_a_list_is_streamed_as_its_filter_says(api: httpx2.Client) -> None:
    mark = f"mark{time.monotonic_ns()}"
    other = started(api, WAITS)
    asked = {"topics": "executions", "label": f"mark:{mark}", "status": ["waiting", "running"]}
    with api.stream("GET", "/stream", params=asked) as answer:
        coming = events(answer.iter_lines())
        assert next(coming)[1] == "hello"
        assert next(coming)[1:] == ("snapshot", {"executions": []})
        first = next(coming)
        assert first[1:] == ("counts", {"by": "status", "total": 0, "counts": {}})
        shown = started(api, WAITS, labels={"mark": mark})
        api.post(f"/executions/{other['id']}/cancel", json={})
        rows, counts = list[str](), dict[str, int]()
        while counts != {"waiting": 1} or not rows:
            _, name, data = next(coming)
            rows += [data["id"]] if name == "execution.row" else []
            counts = data["counts"] if name == "counts" else counts
        api.post(f"/executions/{shown['id']}/signals/go", json={})
        told = []
        while "execution.gone" not in told:
            _, name, data = next(coming)
            told.append(name)
            rows += [data["id"]] if name in {"execution.row", "execution.gone"} else []
    assert set(rows) == {shown["id"]}, "of others nothing is told"


def test_whoever_listens_to_playbooks_hears_of_those_that_are_applied(api: httpx2.Client) -> None:
    name = f"told_{time.monotonic_ns()}"
    text = WAITS.replace("name: waits", f"name: {name}")
    with api.stream("GET", "/stream", params={"topics": "playbooks"}) as answer:
        coming = events(answer.iter_lines())
        assert next(coming)[1] == "hello"
        changed = text.replace("signal: go", "signal: gone")
        for given, code in (
            (text, 201),
            (text, 200),
            (changed, 201),
        ):  # the second time it is what it was
            yaml = {"Content-Type": "application/yaml"}
            assert api.put(f"/playbooks/{name}", content=given, headers=yaml).status_code == code
        mine = (data for _, kind, data in coming if kind == "playbook.applied")
        told = [one for one in (next(mine), next(mine)) if one["path"] == name]
    versions = api.get(f"/playbooks/{name}/versions").json()["items"]
    assert [one["digest"] for one in told] == [one["digest"] for one in versions[::-1]]


@pytest.mark.slow
def test_a_playbook_applied_at_one_server_is_told_at_another(
    tmp_path: Path, empty_database: Callable[[], str]
) -> None:
    store = ("--store", empty_database())
    with (
        serve(tmp_path / "a", *store) as one,
        serve(tmp_path / "b", *store) as other,
        one.client() as here,
        other.client() as there,
        there.stream("GET", "/stream", params={"topics": "playbooks"}) as answer,
    ):
        coming = events(answer.iter_lines())
        assert next(coming)[1] == "hello"
        made = here.put("/playbooks/waits", json={"text": WAITS}).json()
        told = next(data for _, kind, data in coming if kind == "playbook.applied")
    assert (told["path"], told["digest"]) == ("waits", made["digest"])


class _CountingStore(MemoryStore):
    asked = 0

    async def count_executions(self, *given: Any, **more: Any) -> Page[ExecutionCount]:
        self.asked += 1
        return await super().count_executions(*given, **more)


def test_readers_of_one_filter_share_a_count() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store = _CountingStore(clock=lambda: 0.0)
        counted = SharedCounts(store, clock)
        wanted = ExecutionFilter(namespace="default")
        await asyncio.gather(*(counted.of(wanted) for _ in range(50)))
        assert store.asked == 1
        await counted.of(ExecutionFilter(namespace="other"))
        assert store.asked == 2
        await clock.advance(counted.pause_s)
        assert (await counted.of(wanted))["total"] == 0
        assert store.asked == 3

    asyncio.run(scenario())
