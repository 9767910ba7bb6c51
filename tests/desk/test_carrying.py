"""Whatever text is sent is read by whoever reads texts for the engine: at a server that is another process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import local, playbook

from petra.clock import SystemClock
from petra.desk import Apply, Begin, ForkRequest, Move
from petra.desk.requests import AnyRequest, Beside
from petra.engine.catalogue import Catalogue, StaleError, read_here
from petra.engine.codec import playbook_row
from petra.playbook import Playbook, read, to_yaml
from petra.store.base import Committed
from petra.store.memory import MemoryStore
from petra.store.rows import Batch

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


def test_a_text_that_says_something_else_is_not_kept_beside_a_playbook() -> None:
    async def scenario() -> None:
        async with local(MemoryStore(clock=lambda: 0.0)) as petra:
            own = "# why\n" + CHILD
            texts = [OTHER, own, "one too many"]
            await petra.carry_out(Apply(id="r", execution="", playbooks=[TEXT, CHILD], texts=texts))
            shown = [row.written.decode() for row in await petra.engine.store.playbooks()]
            assert shown == [own, TEXT]
            await petra.carry_out(Apply(id="s", execution="", playbooks=[CHILD], texts=["{"]))
            by_the_version_before = Apply(id="t", execution="", playbooks=[CHILD])
            await petra.carry_out(by_the_version_before)
            found = await petra.engine.store.find_playbook("child")
            assert found is not None
            assert found.written.decode() == own

    asyncio.run(scenario())


def test_a_file_that_a_program_applies_keeps_its_comments(tmp_path: Path) -> None:
    file = tmp_path / "child.yaml"
    file.write_bytes(b"\xef\xbb\xbf# why\r\n" + CHILD.encode())

    async def scenario() -> None:
        async with local(MemoryStore(clock=lambda: 0.0)) as petra:
            await petra.apply(file, playbook("  - {step: a, tool: {kind: noop}}\n", "other"))
            child, other = await petra.engine.store.playbooks()
            assert child.written.decode() == "# why\r\n" + CHILD
            assert other.text == b""

    asyncio.run(scenario())


class Overtaken(MemoryStore):
    """Somebody else applies something just before the next that is applied."""

    first: Batch | None = None

    async def commit(self, batch: Batch) -> Committed:
        if batch.playbooks and self.first is not None:
            first, self.first = self.first, None
            await super().commit(first)
        return await super().commit(batch)


def test_new_comments_never_bring_back_what_somebody_else_has_replaced_unless_that_is_meant() -> (
    None
):
    one, two = (read(text, "p.yaml").checked() for text in (TEXT, OTHER))

    async def scenario() -> None:
        store = Overtaken(clock=lambda: 0.0)
        catalogue = Catalogue(store, SystemClock())
        made = await catalogue.apply(one, text="# why\n" + TEXT)
        store.first = Batch(playbooks=(playbook_row(two, applied=1.0),))
        with pytest.raises(StaleError):
            await catalogue.apply(one, text="# new\n" + TEXT, replaces=made.row.digest)
        await catalogue.apply(one)
        store.first = Batch(playbooks=(playbook_row(two, applied=2.0),))
        done = await catalogue.apply(one, text="# new\n" + TEXT)
        assert not done.unchanged  # as if it had come later
        assert await store.find_playbook("waits") == done.row
        assert done.row.written.decode() == "# new\n" + TEXT

    asyncio.run(scenario())
