"""Results of a long loop share objects, and are gathered as data (S9, S18)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from worker.desk import Desk, ProbeTools, ok, playbook, with_worker

from petra.errors import ObjectError
from petra.kinds import Http
from petra.objects import ExecutionObjects, LocalObjects, Reference, is_reference, read_reference
from petra.references import walk
from petra.tools.base import ToolContext
from petra.wire import Outcome, Report
from petra.worker import Worker
from petra.worker.gathering import gather

pytestmark = pytest.mark.spec("S9", "S18")

LOOP = playbook(
    "- step: s\n  loop: {in: [], iterator: item}\n"
    "  tool: {name: t, kind: http, url: echo, json: '{{ iter.item }}'}\n"
)


async def echo(fields: Http, _context: ToolContext) -> Outcome:
    return ok(fields.json)


def reports(objects: Any, items: list[Any], **given: Any) -> list[Report]:
    async def play(desk: Desk, _worker: Worker) -> None:
        desk.assign(LOOP, items=items, total=10**6, **given)
        found.extend(one.report for one in (await desk.chunk()).iterations)

    found: list[Report] = []
    asyncio.run(asyncio.wait_for(with_worker(play, ProbeTools(echo=echo), objects=objects), 300))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 7])
def test_results_beyond_their_room_share_a_page_and_the_others_stay(
    width: int, tmp_path: Path
) -> None:
    objects = LocalObjects(tmp_path)
    items = [f"{n}-" + "x" * (2_000 if n % 3 else 10) for n in range(600)]
    found = reports(objects, items, width=width)
    assert [is_reference(one.result) for one in found] == [bool(n % 3) for n in range(600)]
    assert len(list(tmp_path.rglob("*.json"))) < 10
    for one, item in zip(found, items, strict=True):
        value = one.result
        if is_reference(value):
            assert value["path"]
            value = walk(value, asyncio.run(objects.get(read_reference({**value, "path": []}))))
        assert value == item


def test_a_result_that_is_large_by_itself_has_its_own_object(tmp_path: Path) -> None:
    (one,) = reports(LocalObjects(tmp_path), ["x" * 70_000])
    assert is_reference(one.result)
    assert "path" not in one.result


def test_a_page_that_cannot_be_stored_fails_the_iterations_on_it_alone(tmp_path: Path) -> None:
    class Broken(LocalObjects):
        async def put(self, *_: Any, **__: Any) -> Reference:
            raise ObjectError("connection", "the store does not answer")

    found = reports(Broken(tmp_path), ["small", "x" * 2_000, "tiny"])
    assert [one.status for one in found] == ["ok", "error", "ok"]
    assert found[1].error is not None
    assert found[1].error.kind == "connection"


def test_what_stands_on_pages_is_gathered_as_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("petra.worker.gathering.PIECE_BYTES", 100)

    async def gathered() -> None:
        objects = ExecutionObjects(LocalObjects(tmp_path), "e")
        page, other = await objects.put(["a" * 60, "b" * 60]), await objects.put(["c" * 60])
        large = await objects.put({"own": 1})
        results = [
            {**page, "path": [1]}, 5, {**other, "path": [0]}, None, {**page, "path": [0]}, large,
        ]  # fmt: skip
        whole = await gather(objects, results, joins=False)
        assert await objects.get(whole) == ["b" * 60, 5, "c" * 60, None, "a" * 60, large]
        theirs = ExecutionObjects(LocalObjects(tmp_path), "other")
        with pytest.raises(ObjectError, match="another execution"):
            await gather(theirs, results, joins=False)

    asyncio.run(gathered())
