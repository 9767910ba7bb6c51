"""What an execution holds, and what it does now: in rows, in ranges, filtered."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from server.books import ADDS, ASKS, WAITS, book
from server.conftest import serve
from server.test_executions import started

from petra.kernel.state import State
from petra.objects import LocalObjects
from petra.references import spliced
from petra.server.problems import ProblemError
from petra.server.ranges import OBJECT_MAX, RangeReader, range_of
from petra.store.memory import MemoryStore

CHOIR = book(
    '  - step: all\n    next: {arcs: [{step: sing, foreach: \'{{ ["a", "b", "c", "d"] }}\', as: voice}]}\n'
    "  - step: sing\n    tool:\n      kind: python\n      args: {voice: '{{ args.voice }}'}\n"
    "      code: |\n        print(voice, 'begins')\n        print(voice, 'ends')\n        result = 1\n",
    name="choir",
)
LOUD = book(
    '  - step: first\n    tool: {kind: python, code: \'print("one"); print("two"); result = 1\'}\n    next: {arcs: [{step: second}]}\n'
    "  - step: second\n    tool: {kind: python, code: 'print(\"three\"); result = 2'}\n",
    name="loud",
)
LARGE = book(
    "  - step: rows\n"
    "    tool:\n"
    "      - name: make\n        kind: python\n"
    '        code: \'result = {"rows": [{"n": n, "text": "x" * 100} for n in range(5000)], "long": "ä" * 300000}\'\n'
    "        spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {kept: '{{ outcome.result }}'}}}}]}}\n",
    name="large",
)
HUNDRED = book(
    "  - step: each\n"
    "    loop: {in: '{{ range(4) | list }}', iterator: n, spec: {mode: sequential}}\n"
    "    tool: {kind: wait, signal: go}\n",
    name="hundred",
)


def row_of(api: httpx2.Client, execution: str) -> dict[str, Any]:
    rows = api.get("/executions", params={"text": execution}).json()["items"]
    found: dict[str, Any] = next(row for row in rows if row["id"] == execution)
    return found


@pytest.mark.parametrize(
    ("text", "kind", "step", "words"),
    [
        (WAITS, "signal", "go", "signal 'go'"),
        (ASKS, "human", "approve", "Pay? (finance)"),
        (ADDS, "completed", None, "done"),
    ],
)
def test_a_row_says_what_an_execution_does(
    api: httpx2.Client, text: str, kind: str, step: str | None, words: str
) -> None:
    shown = started(api, text)
    now = row_of(api, shown["id"])["now"]
    assert (now["kind"], now["step"]) == (kind, step)
    assert words in now["sentence"]
    assert api.get(f"/executions/{shown['id']}").json()["now"] == now


def test_a_question_ends_as_one(api: httpx2.Client) -> None:
    shown = started(api, ASKS.replace(" assignees: {roles: [finance]},", ""))
    assert row_of(api, shown["id"])["now"]["sentence"] == "Pay?"


def test_a_row_tells_how_far_a_loop_has_come(api: httpx2.Client) -> None:
    shown = started(api, HUNDRED)
    path = f"/executions/{shown['id']}"
    assert row_of(api, shown["id"])["progress"] == {
        "step": "each",
        "done": 0,
        "total": 4,
        "failed": 0,
    }
    api.post(f"{path}/signals/go", headers={"Prefer": "wait=60"})
    assert row_of(api, shown["id"])["progress"]["done"] == 1


@pytest.mark.slow
def test_what_is_not_in_memory_is_told_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("again") / ".petra"
    with serve(home) as first, first.client() as api:
        shown = started(api, WAITS)
        first.end()
    with serve(home) as second, second.client() as api:
        assert "signal 'go'" in row_of(api, shown["id"])["now"]["sentence"]


def test_records_are_filtered_by_step_and_type(api: httpx2.Client) -> None:
    shown = started(api, ADDS)
    path = f"/executions/{shown['id']}/records"
    of_step = api.get(path, params={"step": "two"}).json()["items"]
    assert {record["event"]["type"] for record in of_step} == {"step.started", "step.done"}
    assert {record["event"]["step"] for record in of_step} == {"two"}
    both = api.get(path, params={"step": "two", "type": "step.done"}).json()["items"]
    assert [record["event"]["type"] for record in both] == ["step.done"]
    assert api.get(path, params={"step": "nowhere"}).json() == {"items": [], "next": None}


def test_a_page_of_filtered_records_leads_to_the_next(api: httpx2.Client) -> None:
    shown = started(api, ADDS)
    path, cursor = f"/executions/{shown['id']}/records", None
    found: list[str] = []
    while True:
        params: dict[str, Any] = {
            "type": "step.done",
            "limit": 1,
            **({"cursor": cursor} if cursor else {}),
        }
        page = api.get(path, params=params).json()
        found += [record["event"]["step"] for record in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == ["one", "two"]


def lines_of(api: httpx2.Client, execution: str, **params: Any) -> list[str]:
    answer = api.get(f"/executions/{execution}/logs", params=params)
    assert answer.status_code == 200, answer.text
    return [json.loads(line)["text"] for line in answer.text.splitlines()]


def test_what_parallel_runs_of_a_step_print_is_told_apart(api: httpx2.Client) -> None:
    execution = started(api, CHOIR)["id"]
    while len(lines_of(api, execution)) < 8:  # they are written aside
        pass
    runs = api.get(f"/executions/{execution}/runs", params={"step": "sing"}).json()["items"]
    sung = [lines_of(api, execution, run=one["n"]) for one in runs]
    assert sorted(sung) == [[f"{voice} begins", f"{voice} ends"] for voice in "abcd"]


def test_logs_are_filtered_by_step_run_time_and_text(api: httpx2.Client) -> None:
    execution = started(api, LOUD)["id"]
    while len(lines_of(api, execution)) < 3:  # they are written aside
        pass
    assert lines_of(api, execution) == ["one", "two", "three"]
    assert lines_of(api, execution, step="second") == ["three"]
    assert lines_of(api, execution, run=1) == ["one", "two"]
    assert lines_of(api, execution, text="W") == ["two"]
    assert lines_of(api, execution, limit=2) == ["two", "three"]
    assert lines_of(api, execution, limit=1, step="first") == ["two"]
    assert lines_of(api, execution, after=4e9) == []
    wrong = api.get(f"/executions/{execution}/logs", params={"run": 1, "step": "second"})
    assert wrong.status_code == 400


def test_a_large_value_is_read_in_ranges(api: httpx2.Client) -> None:
    shown = started(api, LARGE)
    path = f"/executions/{shown['id']}/values"
    whole = api.get(f"{path}/ctx.kept").json()
    assert (whole["kind"], whole["total"]) == ("object", 2)
    long, rows = whole["content"]
    assert (long["key"], long["kind"], long["total"]) == ("long", "text", 300_000)
    assert (rows["key"], rows["kind"], rows["total"]) == ("rows", "list", 5_000)
    some = api.get(f"{path}/ctx.kept", params={"path": "/rows", "offset": 4_998}).json()
    assert [item["value"]["n"] for item in some["content"]] == [4_998, 4_999]
    assert (some["next"], some["total"]) == (None, 5_000)
    one = api.get(f"{path}/ctx.kept", params={"path": "/rows/7/n"}).json()
    assert (one["kind"], one["content"]) == ("number", 7)
    text = api.get(f"{path}/ctx.kept", params={"path": "/long", "offset": 5, "limit": 3}).json()
    assert (text["content"], text["next"]) == ("äää", 8)


def test_a_value_is_found_by_the_key_of_its_reference(api: httpx2.Client) -> None:
    shown = started(api, LARGE)
    key = api.get(f"/executions/{shown['id']}").json()["ctx"]["kept"]["key"]
    path = f"/executions/{shown['id']}/values/{key}"
    assert api.get(path, params={"path": "/rows/0/n"}).json()["content"] == 0
    other = started(api, WAITS)["id"]
    assert api.get(f"/executions/{other}/values/{key}").status_code == 404
    for ref, more, status in (
        ("ctx.none", {}, 404), ("nothing", {}, 404), ("ctx.kept", {"path": "/rows/9999"}, 404),
        ("ctx.kept", {"path": "/rows/²"}, 404), ("ctx.kept", {"path": "/rows/" + "9" * 5_000}, 404),
        ("ctx.kept", {"path": "rows"}, 400), ("ctx.kept", {"limit": 0}, 400),
    ):  # fmt: skip
        answer = api.get(f"/executions/{shown['id']}/values/{ref}", params=more)
        assert answer.status_code == status, (ref, more, answer.text)


def test_bytes_come_in_base64_and_lists_in_pieces_piece_by_piece(tmp_path: Path) -> None:
    asyncio.run(_ranges(tmp_path))


async def _ranges(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path / "objects")
    raw = await objects.put("e1", bytes(range(256)))
    pieces = [await objects.put("e1", list(range(n * 10, n * 10 + 10))) for n in range(3)]
    listed = spliced(objects.name, [[10, one.key, one.size] for one in pieces], [30, 31])
    state = State(id="e1", ctx={"raw": raw.as_data(), "listed": listed})

    async def aside(work: Any) -> Any:
        return work()

    reader = RangeReader(MemoryStore(clock=lambda: 0.0), objects, state, aside)
    some = await range_of(reader, "ctx.raw", "", 1, 3)
    assert (base64.b64decode(some["content"]), some["total"]) == (b"\x01\x02\x03", 256)
    await objects.delete(pieces[0].key)  # it is not needed for what comes
    part = await range_of(reader, "ctx.listed", "", 18, 13)
    assert [item["value"] for item in part["content"]] == list(range(18, 31))
    assert (part["total"], part["next"]) == (32, 31)
    for index in (10, 29, 30, 31):
        assert (await range_of(reader, "ctx.listed", f"/{index}", 0, 1))["content"] == index
    with pytest.raises(ProblemError, match="leads nowhere"):
        await range_of(reader, "ctx.listed", "/32", 0, 1)


def test_an_object_in_pieces_is_one_object_and_its_last_names_count(tmp_path: Path) -> None:
    asyncio.run(_ranges_of_an_object(tmp_path))


async def _ranges_of_an_object(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path / "objects")
    parts = [{"a": 1, "b": [1, 2]}, {"b": [3, 4], "c": 5}]
    pieces = [await objects.put("e1", part) for part in parts]
    named = spliced(objects.name, [[2, one.key, one.size] for one in pieces], {"c": 6, "d": 7})
    state = State(id="e1", ctx={"named": named})

    async def aside(work: Any) -> Any:
        return work()

    reader = RangeReader(MemoryStore(clock=lambda: 0.0), objects, state, aside)
    whole = await range_of(reader, "ctx.named", "", 0, 10)
    assert [item["key"] for item in whole["content"]] == ["a", "b", "c", "d"]
    assert [item["value"] for item in whole["content"]] == [1, [3, 4], 6, 7]
    for path, value in (("/a", 1), ("/b/0", 3), ("/c", 6), ("/d", 7)):
        assert (await range_of(reader, "ctx.named", path, 0, 1))["content"] == value
    with pytest.raises(ProblemError, match="leads nowhere"):
        await range_of(reader, "ctx.named", "/e", 0, 1)
    large = {**named, "size": OBJECT_MAX + 1}
    reader = RangeReader(
        MemoryStore(clock=lambda: 0.0), objects, State(id="e1", ctx={"named": large}), aside
    )
    with pytest.raises(ProblemError, match="name a part"):
        await range_of(reader, "ctx.named", "", 0, 10)
    assert (await range_of(reader, "ctx.named", "/a", 0, 1))["content"] == 1
