"""A full disk is waited for; any other trouble of a store is an error outcome (S18)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.clocks import FakeClock, settle
from worker.desk import Desk, ProbeTools, ok, playbook, scenario

from petra.errors import ObjectError
from petra.kinds import Http
from petra.objects import LocalObjects, Reference, is_reference
from petra.tools.base import ToolContext
from petra.wire import Outcome
from petra.wire import frames as f
from petra.worker import Worker
from petra.worker.storing import AGAIN_S

pytestmark = pytest.mark.spec("S18")

BOOK = playbook("- step: s\n  tool: {name: t, kind: http, url: big}\n")


class Full(LocalObjects):
    """A store without room, until somebody makes some."""

    def __init__(self, folder: Path, kind: str = "quota") -> None:
        super().__init__(folder)
        self.kind, self.tries, self.is_full = kind, 0, True

    async def put(self, execution: str, value: Any, *, schema_hint: str | None = None) -> Reference:
        self.tries += 1
        if self.is_full:
            raise ObjectError(self.kind, "No space left on device")
        return await super().put(execution, value, schema_hint=schema_hint)


async def big(_fields: Http, _context: ToolContext) -> Outcome:
    calls.append(1)
    return ok("x" * 100_000)


calls: list[int] = []


def test_a_result_waits_for_room_and_the_tool_runs_once(tmp_path: Path) -> None:
    objects = Full(tmp_path)
    calls.clear()

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        desk.assign(BOOK)
        for _ in range(5):
            await clock.advance(AGAIN_S)
        assert objects.tries >= 3
        assert desk.reports == []
        objects.is_full = False
        await clock.advance(AGAIN_S)
        report = await desk.single()
        assert report.error is None
        assert is_reference(report.result)

    scenario(play, ProbeTools(big=big), objects=objects)
    assert len(calls) == 1


def test_a_run_that_is_stopped_waits_no_longer(tmp_path: Path) -> None:
    objects = Full(tmp_path)

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        given = desk.assign(BOOK)
        await clock.advance(AGAIN_S)
        desk.send(f.CancelRuns(runs=[given.run], reason="enough"))
        await settle()
        await clock.advance(2 * AGAIN_S)
        report = await desk.single()
        assert report.error is not None
        assert report.error.kind == "quota"

    scenario(play, ProbeTools(big=big), objects=objects)


def test_a_store_that_is_broken_is_an_error_at_once(tmp_path: Path) -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(BOOK)
        report = await desk.single()
        assert report.error is not None
        assert (report.error.kind, report.error.retryable) == ("connection", True)

    scenario(play, ProbeTools(big=big), objects=Full(tmp_path, "connection"))
