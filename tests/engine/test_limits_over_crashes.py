"""Limits over crashes: whoever dies at whatever commit, no more are in than may be, and nobody is forgotten (S15).

The oracle reads what was committed and knows no permits: an execution is in from the record that lets it in to its last.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import Any

import pytest
from engine_support import playbook
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clocks import FakeClock
from thoroughness import few

from petra.engine import Engine
from petra.engine.codec import from_row
from petra.engine.life import StoppedError
from petra.kernel import events as e
from petra.kernel.permit_events import PermitGiven
from petra.store import Batch, BrokenError, Committed
from petra.store.memory import MemoryStore
from petra.testing.store_faults import StoreFault, faulty

LIMIT, KEYS, COUNT = 2, 3, 18
BOOK = playbook(
    "  - step: rest\n    tool: {kind: wait, for_s: '{{ workload.s }}'}\n", "slow",
    executor=f"{{spec: {{concurrency: {{limit: {LIMIT}, key: '{{{{ workload.k }}}}'}}}}}}",
)  # fmt: skip


class Oracle(MemoryStore):
    """A store that looks at every batch: who is in, by what their logs say."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock.now)
        self.key_of: dict[str, int] = {}
        self.inside: set[str] = set()
        self.let_in: list[str] = []
        self.ended: set[str] = set()
        self.most: Counter[int] = Counter()

    async def commit(self, batch: Batch) -> Committed:
        done = await super().commit(batch)
        for change, fate in zip(batch.changes, done.outcomes, strict=True):
            if fate.fate.value == "applied":
                for row in change.records:
                    self._look(change.execution, from_row(row).event)
        found = Counter(self.key_of[name] for name in self.inside)
        for key, number in found.items():
            assert number <= LIMIT, f"{number} of key {key} are in"
            self.most[key] = max(self.most[key], number)
        return done

    def _look(self, execution: str, event: Any) -> None:
        if isinstance(event, PermitGiven):
            assert execution not in self.let_in, "it is let in once"
            self.inside.add(execution)
            self.let_in.append(execution)
        elif isinstance(event, e.ExecutionEnded):
            self.inside.discard(execution)
            self.ended.add(execution)


async def _begun(engine: Engine, load: dict[str, Any], name: str) -> None:
    """Start an execution without a proof: that is made in a thread, for which no clock of a test can wait."""
    await engine.start(BOOK, load, execution=name, command=f"c{name}", allow_unsound=True)


async def _lived(crashes: list[tuple[int, bool]]) -> Oracle:
    clock = FakeClock()
    store = Oracle(clock)
    plans = list(crashes)
    started = 0
    for _ in range(200):
        at, after = plans.pop(0) if plans else (10**9, False)
        fault = StoreFault.CRASH_AFTER if after else StoreFault.CRASH_BEFORE
        commits = 0

        def plan(
            method: str, _number: int, at: int = at, fault: StoreFault = fault
        ) -> StoreFault | None:
            nonlocal commits
            commits += method == "commit"
            return fault if method == "commit" and commits == at else None

        with contextlib.suppress(BrokenError, StoppedError):
            engine = Engine(faulty(store, plan), clock=clock)
            await engine.__aenter__()
            try:
                while started < COUNT:
                    name = f"e{started:02}"
                    store.key_of[name] = started % KEYS
                    load = {"k": started % KEYS, "s": 1 + started % 4}
                    await clock.run(_begun(engine, load, name))
                    started += 1
                for _ in range(400):
                    await clock.advance(0.5)
                    engine.check()
                    if len(store.ended) == COUNT:
                        break
            finally:
                await clock.run(engine.__aexit__(None, None, None))
        if len(store.ended) == COUNT:
            return store
    raise AssertionError(f"only {len(store.ended)} of {COUNT} have ended")


@pytest.mark.spec("S15")
@settings(max_examples=few(25), deadline=None)
@given(crashes=st.lists(st.tuples(st.integers(1, 25), st.booleans()), max_size=6))
def test_crashes_at_any_commit_let_nobody_in_too_much_and_forget_nobody(
    crashes: list[tuple[int, bool]],
) -> None:
    store = asyncio.run(_lived(crashes))
    assert sorted(store.let_in) == sorted(store.key_of)
    assert set(store.most.values()) == {LIMIT}, "the limit is used, too"
    for key in range(KEYS):  # in turn: nobody is passed
        mine = [name for name in store.let_in if store.key_of[name] == key]
        assert mine == sorted(mine)
    assert asyncio.run(store.permits.lines("default")) == [], "nothing stays behind"


@pytest.mark.spec("S15")
def test_two_engines_on_one_store_never_let_in_too_many_together() -> None:
    async def main() -> Oracle:
        clock = FakeClock()
        store = Oracle(clock)
        engines = [Engine(store, clock=clock, holder=name) for name in ("one", "other")]
        for engine in engines:
            await engine.__aenter__()
        for number in range(COUNT):
            name = f"e{number:02}"
            store.key_of[name] = number % KEYS
            load = {"k": number % KEYS, "s": 1 + number % 4}
            await clock.run(_begun(engines[number % 2], load, name))
        for _ in range(600):
            await clock.advance(0.5)
            if len(store.ended) == COUNT:
                break
        for engine in engines:
            await clock.run(engine.__aexit__(None, None, None))
        return store

    store = asyncio.run(main())
    assert len(store.ended) == COUNT
    assert set(store.most.values()) == {LIMIT}
    assert asyncio.run(store.permits.lines("default")) == []
