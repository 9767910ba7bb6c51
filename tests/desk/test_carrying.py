"""Whatever text is sent is read by whoever reads texts for the engine: at a server that is another process."""

from __future__ import annotations

import asyncio

import pytest
from engine_support import local, playbook

from petra.desk import Apply, Begin, ForkRequest, Move
from petra.desk.requests import AnyRequest, Beside
from petra.engine.catalogue import read_here
from petra.playbook import Playbook, to_yaml
from petra.store.memory import MemoryStore

TEXT = to_yaml(playbook("  - {step: go, tool: {kind: wait, signal: go}}\n", "waits"))
OTHER = to_yaml(playbook("  - {step: go, tool: {kind: wait, signal: go}, desc: again}\n", "waits"))
CHILD = to_yaml(playbook("  - {step: a, tool: {kind: noop}}\n", "child"))
BESIDE = Beside(place="waits.yaml", texts={"child.yaml": CHILD})
REQUESTS = {
    "begin": (Begin(id="r", execution="y", playbook=TEXT, beside=BESIDE), {TEXT, CHILD}),
    "apply": (Apply(id="r", execution="", playbooks=[TEXT, CHILD]), {TEXT, CHILD}),
    "fork": (
        ForkRequest(id="r", execution="y", origin="x", at=1, playbook=OTHER, beside=BESIDE, rest=False),
        {OTHER, CHILD},
    ),
    "migrate": (Move(id="r", execution="x", playbook=OTHER, beside=BESIDE, rest=False), {OTHER, CHILD}),
}  # fmt: skip


@pytest.mark.parametrize(("request_", "texts"), REQUESTS.values(), ids=REQUESTS)
def test_every_text_goes_to_the_reader_of_the_engine(request_: AnyRequest, texts: set[str]) -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=lambda: 0.0)) as petra:
            await petra.run(playbook("  - {step: go, tool: {kind: wait, signal: go}}\n", "waits"), execution="x")  # fmt: skip
            seen: set[str] = set()

            async def reader(text: str, name: str, /, *, checks: bool = True) -> Playbook:
                seen.add(text)
                return await read_here(text, name, checks=checks)

            petra.engine.catalogue.read = reader
            reply = await petra.carry_out(request_)
            assert not reply.refused
            assert seen == texts

    asyncio.run(scenario())
