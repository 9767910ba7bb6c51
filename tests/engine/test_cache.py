"""Executions in memory: a budget in bytes, those that run before those that rest, and many read at once."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest
from engine_support import local, playbook

from petra.clock import SystemClock
from petra.engine import cache as caching
from petra.engine.cache import Cache, Entry
from petra.engine.limits import ENTRY_BYTES
from petra.kernel import Ledger, Program, State
from petra.kernel.replay import GENESIS
from petra.store.base import READ_LIMIT
from petra.store.memory import MemoryStore
from petra.store.rows import RecordRow, StoredExecution

PROGRAM = Program(playbook("  - step: one\n    tool: {kind: noop}\n"))
WAITS = playbook(
    "  - step: wait\n    tool: {kind: wait, signal: {name: go}}\n    next: {arcs: [{step: work}]}\n"
    "  - step: work\n    tool: {kind: python, code: 'result = 42'}\n"
)


def entry(name: str, *, runs: bool = False, records: int = 0) -> Entry:
    made = Entry(PROGRAM, State(id=name), Ledger(name, 0, GENESIS))
    made.weight += records
    if runs:
        made.out["run"] = {""}
    return made


def kept(cache: Cache, names: str) -> str:
    return "".join(name for name in names if name in cache)


def test_what_executions_take_is_counted_in_bytes() -> None:
    cache = Cache(MemoryStore(clock=SystemClock().now), most=4 * ENTRY_BYTES)
    for name in "abcd":
        cache.add(name, entry(name))
    assert kept(cache, "abcd") == "abcd"
    cache.add("e", entry("e", records=2 * ENTRY_BYTES))  # it takes as much as three others
    assert kept(cache, "abcde") == "de"


def test_one_that_grows_makes_others_leave_and_one_that_is_not_durable_stays() -> None:
    cache = Cache(MemoryStore(clock=SystemClock().now), most=3 * ENTRY_BYTES)
    first, second, third = (cache.add(name, entry(name, runs=True)) for name in "abc")
    first.busy = 1
    cache.weigh(third, [RecordRow(2, "x", 0.0, b"", b"", b"." * 100)])
    assert kept(cache, "abc") == "ac"
    assert not second.stale


def test_those_that_rest_have_a_room_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "RESTING_BYTES", 2 * ENTRY_BYTES)
    cache = Cache(MemoryStore(clock=SystemClock().now), most=10 * ENTRY_BYTES)
    made = [cache.add(name, entry(name, runs=True)) for name in "abcdef"]
    for one in made[:4]:
        one.out.clear()
        cache.weigh(one, ())
    assert kept(cache, "abcdef") == "cdef"
    made[2].out["run"] = {""}  # it goes on
    cache.weigh(made[2], ())
    cache.add("g", entry("g"))
    assert kept(cache, "abcdefg") == "cdefg"


def test_a_snapshot_tells_what_a_long_execution_takes() -> None:
    one = entry("a", records=10_000_000)
    one.state.seq = 50_000
    found = one.snapshot_at(50_000)
    assert found is not None
    assert one.weight == ENTRY_BYTES + len(found.body)


class CountingStore(MemoryStore):
    """A store that counts how often it is asked for executions."""

    alone = together = 0

    async def execution(self, execution: str) -> StoredExecution | None:
        self.alone += 1
        return await super().execution(execution)

    async def logs(
        self, executions: Collection[str], *, most: int = READ_LIMIT
    ) -> dict[str, tuple[StoredExecution, list[RecordRow]]]:
        self.together += 1
        return await super().logs(executions, most=most)


def test_executions_that_left_memory_are_read_together() -> None:
    async def scenario() -> None:
        store = CountingStore(clock=SystemClock().now)
        async with local(store) as petra:
            names = [f"e{number}" for number in range(100)]
            await asyncio.gather(*(petra.run(WAITS, execution=name) for name in names))
            for name in names:
                petra.engine.cache.drop(name)
            store.alone = store.together = 0
            await asyncio.gather(*(petra.signal(name, "go") for name in names))
            results = await asyncio.gather(*(petra.rest(name) for name in names))
            assert {result.output for result in results} == {42}
            assert store.together < 10
            assert store.alone < 20

    asyncio.run(scenario())
