"""Engines come and go, in order or not, while executions call each other: everything ends, once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from random import Random  # noqa: TID251 - seeded

import pytest
from engine_support import local, playbook, until

from petra.clock import SystemClock
from petra.embedded import Home
from petra.engine.codec import from_row
from petra.errors import PetraError
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel import verify
from petra.store.base import Committed, Fate
from petra.store.memory import MemoryStore
from petra.store.rows import Batch, ExecutionFilter

LEASE_S = 0.4
PARENTS, CHILDREN, DEATHS = 30, 4, 12

CHILD = playbook(
    "  - step: nap\n    tool: {kind: wait, for_s: 0.05}\n    next: {arcs: [{step: work}]}\n"
    "  - step: work\n    tool: {kind: python, code: 'import time; time.sleep(0.02); result = 1'}\n",
    name="child",
)
PARENT = playbook(
    f"  - step: call\n    loop: {{in: '{{{{ range({CHILDREN}) }}}}', iterator: n, spec: {{mode: parallel}}}}\n"
    "    tool: {kind: playbook, path: child}\n    next: {arcs: [{step: end}]}\n"
    "  - step: end\n    tool: {kind: python, code: 'result = 42'}\n",
    name="parent",
)


class Watched(MemoryStore):
    """A store that takes a moment, and counts what it refused."""

    def __init__(self) -> None:
        super().__init__(clock=SystemClock().now)
        self.fates: Counter[Fate] = Counter()

    async def commit(self, batch: Batch) -> Committed:
        await asyncio.sleep(0.002)
        done = await super().commit(batch)
        self.fates.update(outcome.fate for outcome in done.outcomes)
        await asyncio.sleep(0.002)
        return done


class Fleet:
    """Engines that are started and ended."""

    def __init__(self, store: Watched) -> None:
        self._store = store
        self._number = 0
        self.living: list[tuple[Home, asyncio.Task[None]]] = []

    async def start(self) -> None:
        self._number += 1
        ready: asyncio.Future[Home] = asyncio.get_running_loop().create_future()

        async def live(name: str) -> None:
            async with local(self._store, holder=name, shard_lease_s=LEASE_S) as petra:
                ready.set_result(petra)
                await asyncio.Event().wait()

        task = asyncio.create_task(live(f"engine{self._number}"))
        self.living.append((await ready, task))

    async def end(self, index: int, *, in_order: bool) -> None:
        petra, task = self.living.pop(index)
        if not in_order:

            async def nothing(*_: object) -> None:
                pass

            petra.engine.shards.leave = nothing  # type: ignore[method-assign]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _check(store: Watched, parents: Collection[str]) -> None:
    for name in parents:
        page = await store.executions(ExecutionFilter(parent=name))
        children = [row.row.id for row in page.rows]
        assert len(children) == CHILDREN
        for execution in (name, *children):
            records = [from_row(row) for row in await store.read(execution)]
            assert verify(execution, records) is None
            ended = Counter(
                r.event.run for r in records if isinstance(r.event, e.StepDone | e.StepFailed)
            )
            assert set(ended.values()) == {1}
            assert not [r for r in records if isinstance(r.event, e.StepFailed)]
    assert await store.letters() == []
    assert (await store.stats()).pending == 0


async def _retry_incidents(store: Watched, petra: Home) -> None:
    """Do as an operator does: on a busy machine a run is lost with five engines now and then."""
    stuck = await store.executions(ExecutionFilter(statuses=("stuck",)), limit=1000)
    for row in stuck.rows:
        with suppress(PetraError):  # it has just been asked for
            await petra.engine.ask(row.row.id, lambda now: c.Retry(now=now, step="work"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_whoever_dies_everything_ends_once(seed: int) -> None:
    async def scenario() -> None:
        chance = Random(seed)
        store = Watched()
        fleet = Fleet(store)
        for _ in range(3):
            await fleet.start()
        first = fleet.living[0][0]
        await first.apply(CHILD)
        parents = [f"p{number}" for number in range(PARENTS)]
        starts = [
            chance.choice(fleet.living)[0].engine.start(PARENT, execution=name) for name in parents
        ]
        await asyncio.gather(*starts)
        for _ in range(DEATHS):
            await asyncio.sleep(chance.random() * 0.3)
            await fleet.end(chance.randrange(len(fleet.living)), in_order=chance.random() < 0.4)
            await fleet.start()

        async def over() -> bool:
            await _retry_incidents(store, fleet.living[0][0])
            found = await store.executions(ExecutionFilter(statuses=("completed",)), limit=1000)
            return len(found.rows) == PARENTS * (1 + CHILDREN)

        await until(over)
        while fleet.living:
            await fleet.end(0, in_order=True)
        await _check(store, parents)

    asyncio.run(scenario())
