"""``_task.key`` on a worker: the same for every delivery, another for every iteration and every compensation."""

from __future__ import annotations

import pytest
from support.clocks import FakeClock
from worker.desk import Desk, ProbeTools, ok, playbook, scenario

from petra.tools.base import ToolContext
from petra.wire import Outcome
from petra.worker import Worker

STEP = """
- step: s
  tool: {name: t, kind: http, url: '{{ _task.key }}'}
  spec: {compensate: {tool: {name: t, kind: http, url: '{{ _task.key }}'}}}
"""
LOOP = """
- step: s
  loop: {in: [], iterator: item}
  tool: {name: t, kind: http, url: '{{ _task.key }}'}
"""


class Probe(ProbeTools):
    """Notes the key that a template reads, and holds it against the one that a tool reads."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []

    async def attempt(self, kind: str, fields: object, context: ToolContext) -> Outcome:
        assert kind == "http"
        assert isinstance(fields, dict)
        assert fields["url"] == context.key()
        self.keys.append(fields["url"])
        return ok(fields["url"])


@pytest.mark.spec("S22")
def test_a_redelivery_has_the_key_of_the_first_delivery_and_a_compensation_its_own() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        book = playbook(STEP)
        for number, (run, undo) in enumerate(
            [("r", False), ("r", False), ("r", True), ("q", False)]
        ):
            desk.assign(book, run=run, delivery=1 + number, compensate=undo)
            await desk.report(number + 1)

    tools = Probe()
    scenario(play, tools)
    first, again, undone, other = tools.keys
    assert again == first
    assert len({first, undone, other}) == 3


@pytest.mark.spec("S22", "S9")
def test_an_iteration_keeps_its_key_in_whatever_chunk_it_is_delivered_again() -> None:
    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        book = playbook(LOOP)
        desk.assign(book, run="r", items=["a", "b"], chunk="c1", delivery=1)
        await desk.until(lambda: any(not one.more for one in desk.reports))
        desk.assign(book, run="r", items=["a", "b"], chunk="c2", delivery=2)
        await desk.until(lambda: sum(not one.more for one in desk.reports) == 2)

    tools = Probe()
    scenario(play, tools)
    assert tools.keys[2:] == tools.keys[:2]
    assert len(set(tools.keys)) == 2
