"""What assignments share comes once per version, and is asked for again when it was forgotten (S18)."""

from __future__ import annotations

import pytest
from support.clocks import FakeClock
from worker.desk import Desk, ProbeTools, ok, playbook, scenario

from petra.kinds import Http
from petra.tools.base import ToolContext
from petra.wire import Outcome
from petra.wire import frames as f
from petra.worker import Worker
from petra.worker.shared import SharedValues

pytestmark = pytest.mark.spec("S18")

BOOK = playbook(
    "- step: s\n  tool: {name: t, kind: http, url: echo, json: '{{ ctx.n ~ workload.x }}'}\n",
    head="workload: {x: 1}",
)


async def echo(fields: Http, _context: ToolContext) -> Outcome:
    return ok(fields.json)


def value(key: str, size: int = 9, **data: object) -> f.Shared:
    return f.Shared(key=key, value=data, size=size)


def test_a_value_that_came_before_serves_every_assignment_that_names_it() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.teach(BOOK)
        desk.send(value("e/ctx/1", n=5))
        for _ in range(2):
            given = desk.assignment(BOOK, shared={"ctx": "e/ctx/1"})
            desk.send(f.Assignments(assignments=[given]))
        await desk.until(lambda: len(desk.reports) == 2)
        assert [one.report and one.report.result for one in desk.reports] == ["51", "51"]
        assert desk.all(f.Want) == []

    scenario(play, ProbeTools(echo=echo))


def test_what_a_worker_does_not_have_it_asks_for_and_waits() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.teach(BOOK)
        shared = {"ctx": "e/ctx/1", "workload": "e/workload/1"}
        desk.send(
            f.Assignments(assignments=[desk.assignment(BOOK, shared=shared) for _ in range(3)])
        )
        await desk.until(lambda: desk.all(f.Want))
        assert desk.all(f.Want) == [f.Want(shared=["e/ctx/1"])]
        desk.lose()
        await desk.until(lambda: len(desk.all(f.Hello)) == 2 and len(desk.all(f.Want)) == 2)
        desk.send(value("e/ctx/1", n=5))
        await desk.until(lambda: len(desk.all(f.Want)) == 3)
        desk.send(value("e/workload/1", x=7))
        await desk.until(lambda: len(desk.reports) == 3)
        assert {one.report and one.report.result for one in desk.reports} == {"57"}

    scenario(play, ProbeTools(echo=echo))


def test_an_assignment_that_waits_can_be_cancelled() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.teach(BOOK)
        given = desk.assignment(BOOK, shared={"ctx": "e/ctx/1"})
        desk.send(
            f.Assignments(assignments=[given]), f.CancelRuns(runs=[given.run], reason="enough")
        )
        report = await desk.single()
        assert report.error is not None
        assert report.error.kind == "cancelled"

    scenario(play, ProbeTools(echo=echo))


def test_what_is_kept_is_bounded_by_bytes_and_the_last_one_always_stays() -> None:
    kept = SharedValues(most=100)
    desk = Desk()
    given = [desk.assignment(BOOK, shared={"ctx": f"e/ctx/{n}"}) for n in range(4)]
    for n in range(3):
        kept.put(value(f"e/ctx/{n}", 40, n=n))
    assert [kept.missing(one) for one in given] == ["e/ctx/0", None, None, "e/ctx/3"]
    kept.put(value("e/ctx/3", 900, n=3))
    assert [kept.missing(one) for one in given] == ["e/ctx/0", "e/ctx/1", "e/ctx/2", None]
    assert kept.complete(given[3]).scope["ctx"] == {"n": 3}
