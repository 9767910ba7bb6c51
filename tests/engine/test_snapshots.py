"""Snapshots in the engine: a long log is loaded from its last snapshot, to the very same state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from engine_support import local, playbook

from petra.desk import moments
from petra.desk.moments import Moments
from petra.engine import cache
from petra.engine.cache import Cache, Entry
from petra.engine.codec import DamagedError, event_of, from_row
from petra.kernel import commands as c
from petra.kernel import replay
from petra.playbook import Playbook
from petra.store.base import Committed
from petra.store.memory import MemoryStore
from petra.store.rows import Batch, Change, RecordRow, Snapshot
from petra.store.sqlite import SqliteStore

EVERY = 40
T = TypeVar("T")


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "SNAPSHOT_EVERY", EVERY)
    monkeypatch.setattr(moments, "SNAPSHOT_EVERY", EVERY)


def rounds(count: int) -> Playbook:
    """Return a playbook that fans out and joins so often, and then waits for a signal."""
    return playbook(
        "  - step: split\n    next: {arcs: [{step: work, foreach: '{{ range(5) }}'}]}\n"
        "  - step: work\n    tool: {kind: python, code: 'result = {\"n\": 1}'}\n"
        "    next: {arcs: [{step: join}]}\n"
        "  - step: join\n    spec: {join: {merge: {into: xs}}}\n"
        "    tool:\n      kind: python\n      code: 'result = 1'\n      spec: {policy: {rules: [{else: {then: {do:"
        ' continue, set_ctx: {n: "{{ (ctx.n | default(0)) + 1 }}"}}}}]}}\n'
        f'    next: {{arcs: [{{step: split, when: "{{{{ ctx.n < {count} }}}}"}}, {{step: rest}}]}}\n'
        "  - step: rest\n    tool: {kind: wait, signal: {name: go}}\n"
        "    next: {arcs: [{step: end}]}\n"
        "  - step: end\n    tool: {kind: python, code: 'result = 42'}\n"
    )


class CountingStore(MemoryStore):
    """A store that counts the records that are read from it."""

    records_read = 0

    async def read(self, execution: str, *, after: int = 0, limit: int = 10_000) -> list[RecordRow]:
        found = await super().read(execution, after=after, limit=limit)
        self.records_read += len(found)
        return found


async def _both_ways(store: MemoryStore | SqliteStore, name: str) -> Entry:
    """Load an execution from its snapshot and from its whole log, and compare."""
    loaded = await Cache(store).load(name)
    records = [from_row(row) for row in await store.read(name)]
    assert loaded.state == replay(name, records)
    whole = Entry(loaded.program, replay(name, records), loaded.ledger)
    whole.find_out()
    assert loaded.out == whole.out
    assert loaded.ledger.last == records[-1].hash
    return loaded


def test_a_state_is_the_same_from_a_snapshot_and_from_the_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await SqliteStore.open(tmp_path / "petra.db")
        async with local(store) as petra:
            await petra.run(rounds(12), execution="e1")
        found = await store.snapshot("e1")
        assert found is not None
        assert found.version >= EVERY
        loaded = await _both_ways(store, "e1")
        assert loaded.snapshot_version == found.version
        async with local(store) as petra:  # and it goes on from there
            await petra.engine.ask("e1", lambda now: c.SendSignal(now=now, name="go"))
            assert (await petra.rest("e1")).output == 42
        await _both_ways(store, "e1")
        await store.close()

    asyncio.run(scenario())


def test_loading_reads_what_came_after_the_snapshot_only() -> None:
    async def scenario() -> None:
        store = CountingStore(clock=lambda: 0.0)
        async with local(store) as petra:
            await petra.run(rounds(30), execution="e1")
        length = len(await store.read("e1"))
        found = await store.snapshot("e1")
        assert found is not None
        store.records_read = 0
        await Cache(store).load("e1")
        assert store.records_read == length - found.version + 1
        assert length - found.version < 2 * EVERY

    asyncio.run(scenario())


def test_small_executions_have_no_snapshot() -> None:
    async def scenario() -> None:
        store = MemoryStore(clock=lambda: 0.0)
        async with local(store) as petra:
            await petra.run(rounds(1), execution="e1")
        assert len(await store.read("e1")) < EVERY
        assert await store.snapshot("e1") is None

    asyncio.run(scenario())


@pytest.mark.parametrize("broken", ["of another shape", "damaged", "of another execution"])
def test_a_snapshot_that_cannot_be_read_is_ignored(broken: str) -> None:
    async def scenario() -> None:
        store = MemoryStore(clock=lambda: 0.0)
        async with local(store) as petra:
            await petra.run(rounds(12), execution="e1")
            await petra.run(rounds(12), execution="e2")
        found, other = await store.snapshot("e1"), await store.snapshot("e2")
        assert found is not None
        assert other is not None
        body = {
            "of another shape": b"x" * 16 + found.body[16:],
            "damaged": found.body[: len(found.body) // 2],
            "of another execution": other.body,
        }[broken]
        version = len(await store.read("e1"))
        worse = Snapshot(version=found.version, body=body)
        change = Change(execution="e1", expected_version=version, snapshot=worse)
        assert (await store.commit(Batch(changes=(change,)))).applied
        loaded = await _both_ways(store, "e1")
        assert loaded.snapshot_version == 0

    asyncio.run(scenario())


class LateStore(MemoryStore):
    """A store that takes its time, so that states run ahead of what is durable."""

    async def commit(self, batch: Batch) -> Committed:
        await asyncio.sleep(0.001)
        return await super().commit(batch)


def test_a_snapshot_is_never_ahead_of_its_change() -> None:
    async def scenario() -> None:
        store = LateStore(clock=lambda: 0.0)
        seen: list[tuple[int, int]] = []
        inner = store.commit

        async def commit(batch: Batch) -> Committed:
            seen.extend(
                (change.snapshot.version, change.version)
                for change in batch.changes
                if change.snapshot is not None
            )
            return await inner(batch)

        store.commit = commit  # type: ignore[method-assign]
        async with local(store) as petra:
            await petra.run(rounds(30), execution="e1")
        assert len(seen) > 2
        assert all(version == change for version, change in seen)
        await _both_ways(store, "e1")

    asyncio.run(scenario())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_moment_costs_what_came_since_the_snapshot_before_it(share: float) -> None:
    async def scenario() -> None:
        store = CountingStore(clock=lambda: 0.0)
        async with local(store) as petra:
            await petra.run(rounds(30), execution="e1")
        rows = await store.read("e1")
        seq = int(len(rows) * share)
        before = await store.snapshot("e1", upto=seq - 1)
        store.records_read = 0
        then = await Moments(store, Cache(store), _aside).at("e1", seq)
        assert then.entry.state == replay("e1", [from_row(row) for row in rows[:seq]])
        assert store.records_read == seq - (before.version if before is not None else 0) + 1
        assert store.records_read <= 2 * EVERY + 1

    asyncio.run(scenario())


async def _aside(work: Callable[[], T]) -> T:
    return work()


def test_an_event_is_the_same_without_its_receipt() -> None:
    async def scenario() -> None:
        store = MemoryStore(clock=lambda: 0.0)
        async with local(store) as petra:
            await petra.run(rounds(2), execution="e1")
        rows = await store.read("e1")
        assert [event_of(row) for row in rows] == [from_row(row).event for row in rows]
        damaged = RecordRow(7, "step.done", 0.0, b"", b"", b'[{"type": "no.such"}, 1]')
        with pytest.raises(DamagedError, match="record 7"):
            event_of(damaged)

    asyncio.run(scenario())
