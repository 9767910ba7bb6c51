"""What ends of a chunk is reported in parts, bounded in number, bytes and time, and each until acknowledged."""

from __future__ import annotations

import pytest
from support.clocks import FakeClock, settle
from worker.desk import Desk, ProbeTools, ok, playbook, scenario

from petra.kinds import Http
from petra.tools.base import ToolContext
from petra.wire import Assignment, Iteration, Outcome
from petra.wire import frames as f
from petra.worker import Worker
from petra.worker.parts import PART_BYTES, PART_ITERATIONS, PART_S, PARTS_OUT

LOOP = "- step: s\n  loop: {in: [], iterator: item}\n  tool: {name: t, kind: http, url: '{{ iter.item }}'}\n"


def sizes(desk: Desk) -> list[int]:
    return [len(part.iterations) for part in desk.reports]


def numbers(desk: Desk) -> list[tuple[int, bool]]:
    return [(part.part, part.more) for part in desk.reports]


def more_of(first: int, last: int) -> list[Iteration]:
    return [Iteration(path=(n,), iter={"item": "x", "index": n}) for n in range(first, last)]


@pytest.mark.spec("S9")
def test_parts_are_bounded_in_number_and_numbered() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(LOOP), items=["x"] * (2 * PART_ITERATIONS + 10))
        await desk.chunk()
        assert sizes(desk) == [PART_ITERATIONS, PART_ITERATIONS, 10]
        assert numbers(desk) == [(1, True), (2, True), (3, False)]
        assert {(part.lease, part.delivery, part.chunk) for part in desk.reports} == {
            ("lease-1", 1, "c")
        }

    scenario(play)


@pytest.mark.spec("S9", "S18")
def test_parts_are_bounded_in_bytes() -> None:
    async def big(_fields: Http, _context: ToolContext) -> Outcome:
        return ok("x" * 50_000)

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(LOOP), items=["big"] * 7)
        await desk.chunk()
        assert sizes(desk) == [2, 2, 2, 1]
        assert all(len(f.encode(f.Reports(reports=[p]))) < PART_BYTES for p in desk.reports)

    scenario(play, ProbeTools(big=big))


@pytest.mark.spec("S9")
def test_what_has_ended_does_not_wait_long_for_what_has_not() -> None:
    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        async def slow(_fields: Http, _context: ToolContext) -> Outcome:
            await clock.sleep(100)
            return ok()

        tools.probe.behaviours = {"slow": slow}
        desk.assign(playbook(LOOP), items=["x", "x", "slow"])
        await clock.advance(PART_S / 2)
        assert desk.reports == []
        await clock.advance(PART_S)
        assert sizes(desk) == [2]
        await clock.run(desk.chunk())
        assert numbers(desk) == [(1, True), (2, False)]

    tools = ProbeTools()
    scenario(play, tools)


@pytest.mark.spec("S9")
def test_each_part_is_repeated_until_it_is_acknowledged() -> None:
    async def play(desk: Desk, worker: Worker, clock: FakeClock) -> None:
        given = desk.assign(playbook(LOOP), items=["x"] * (3 * PART_ITERATIONS))
        await desk.chunk()
        assert numbers(desk) == [(1, True), (2, True), (3, False)]
        desk.send(f.Ack(parts=[(given.lease, 3), (given.lease, 1)]))
        await settle()
        assert worker.heart.holds(given.lease)
        desk.lose()
        await clock.run(desk.until(lambda: len(desk.reports) == 4))
        assert desk.reports[-1] == desk.reports[1]
        desk.send(f.Ack(parts=[(given.lease, 2)]))
        await settle()
        assert not worker.heart.holds(given.lease)

    scenario(play, acknowledges=False)


@pytest.mark.spec("S9")
def test_nothing_more_starts_while_too_many_parts_are_unacknowledged() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        given = desk.assign(playbook(LOOP), items=["x"] * ((PARTS_OUT + 3) * PART_ITERATIONS))
        await desk.until(lambda: len(desk.reports) == PARTS_OUT)
        await settle()
        assert len(desk.reports) == PARTS_OUT
        desk.acknowledges = True
        desk.send(f.Ack(parts=[(given.lease, n + 1) for n in range(PARTS_OUT)]))
        await desk.chunk()
        assert sum(sizes(desk)) == (PARTS_OUT + 3) * PART_ITERATIONS

    scenario(play, acknowledges=False)


def extended(desk: Desk, given: Assignment, first: int, last: int, *, more: bool) -> None:
    desk.send(f.Further(lease=given.lease, iterations=more_of(first, last), more=more))


@pytest.mark.spec("S9")
def test_further_iterations_of_a_lease_are_run_once_however_often_they_come() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        given = desk.assign(playbook(LOOP), items=["x", "x"], more=True, width=2)
        await desk.until(lambda: sum(sizes(desk)) == 2)
        assert numbers(desk) == [(1, True)]  # nothing left to start: it does not wait for PART_S
        extended(desk, given, 2, 5, more=True)
        extended(desk, given, 0, 5, more=True)
        extended(desk, given, 4, 7, more=False)
        sent = await desk.chunk()
        assert [one.path[0] for one in sent.iterations] == list(range(7))
        assert not desk.reports[-1].more

    scenario(play)


@pytest.mark.spec("S9")
def test_a_cancel_reaches_a_loop_that_waits_for_more() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        given = desk.assign(playbook(LOOP), items=["x"], more=True)
        await desk.until(lambda: sizes(desk) == [1])
        desk.send(f.CancelRuns(leases=[given.lease], reason="enough"))
        await desk.until(lambda: len(desk.reports) == 2)
        assert numbers(desk) == [(1, True), (2, False)]

    scenario(play)
