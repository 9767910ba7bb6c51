"""Waiting for an execution is waiting for those it waits for."""

from __future__ import annotations

import asyncio

import pytest
from engine_support import local, playbook

from petra.clock import SystemClock
from petra.store.memory import MemoryStore

pytestmark = pytest.mark.spec("S16")

WORK = "  - step: work\n    tool: {kind: python, code: 'result = 21'}\n"
ASK = "  - step: ask\n    tool: {kind: human, title: Sure?}\n"
LATER = "  - step: nap\n    tool: {kind: wait, for_s: 3600}\n"
SOON = "  - step: nap\n    tool: {kind: wait, for_s: 0.01}\n"


def call(path: str, more: str = "") -> str:
    return f"  - step: call\n    tool: {{kind: playbook, path: {path}{more}}}\n"


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        pytest.param(WORK, "completed", id="that works"),
        pytest.param(SOON + "    next: {arcs: [{step: work}]}\n" + WORK, "waiting", id="that naps"),
        pytest.param(ASK, "waiting", id="that asks"),
        pytest.param(call("nowhere"), "failed", id="that calls what is nowhere"),
    ],
)
def test_an_execution_rests_when_its_grandchildren_do(steps: str, status: str) -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await petra.apply(playbook(steps, "grand"), playbook(call("grand"), "child"))
            many = "    loop: {in: '{{ range(5) }}', iterator: n, spec: {mode: parallel}}\n"
            parent = playbook(call("child").replace("    tool", many + "    tool"), "parent")
            result = await petra.run(parent, execution="p")
            assert (result.status, result.reason) == (
                status, "child" if status == "waiting" else result.reason,
            )  # fmt: skip

    asyncio.run(scenario())


def test_a_timer_of_a_child_that_is_due_soon_is_waited_for_and_a_later_one_is_not() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await petra.apply(playbook(SOON, "soon"), playbook(LATER, "later"))
            for path, status in (("soon", "completed"), ("later", "waiting")):
                execution = await petra.start(playbook(call(path), "parent"))
                result = await petra.desk.rest_for_long(petra.who, execution)
                assert (path, result.status) == (path, status)

    asyncio.run(scenario())


def test_a_child_that_calls_itself_stops_at_a_depth_that_is_named() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await petra.apply(playbook(call("self"), "self"))
            result = await petra.run(playbook(call("self"), "parent"))
            assert result.status == "failed"
            assert result.error is not None
            assert "nested deeper than 32" in result.error["message"]

    asyncio.run(scenario())


def test_an_execution_that_ended_without_its_children_keeps_nobody_waiting() -> None:
    many = "    loop: {in: '{{ range(2) }}', iterator: n, spec: {mode: parallel}}\n"

    async def scenario() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            parent = playbook(call("nowhere").replace("    tool", many + "    tool"), "parent")
            assert (await asyncio.wait_for(petra.run(parent), 300)).status == "failed"

    asyncio.run(scenario())
