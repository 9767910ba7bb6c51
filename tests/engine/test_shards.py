"""Engines that share a store: each acts for its shards, and nothing depends on who does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager

import pytest
from engine_support import chain, local, playbook, until
from support.clocks import FakeClock

from petra.clock import SystemClock
from petra.embedded import Home
from petra.engine import Engine
from petra.engine.codec import from_row
from petra.engine.news import Appended
from petra.engine.shards import Shards
from petra.kernel import commands as c
from petra.kernel import verify
from petra.store.base import Committed
from petra.store.memory import MemoryStore
from petra.store.rows import SHARDS, Batch, ExecutionFilter, shard_of

LEASE_S = 5.0


def store_in_memory() -> MemoryStore:
    return MemoryStore(clock=SystemClock().now)


@asynccontextmanager
async def engines(store: MemoryStore, *names: str) -> AsyncIterator[list[Home]]:
    """Give engines that share a store and have their fair shares of it."""
    async with local(store, holder=names[0], shard_lease_s=LEASE_S) as first:
        if len(names) == 1:
            yield [first]
            return
        async with engines(store, *names[1:]) as others:
            found = [first, *others]
            share = -(-SHARDS // len(found))

            async def fair() -> bool:
                return all(0 < len(one.engine.shards.mine() or ()) <= share for one in found)

            await until(fair)
            yield found


def away_from(engine: Engine) -> str:
    """Return an id for an execution that another engine acts for."""
    return next(f"e{n}" for n in range(1000) if not engine.shards.owns(f"e{n}"))


class Owned:
    """Notes which shards come and go."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder

    async def gained(self, shards: Collection[int], *, in_order: bool) -> None:
        self._holder.gained += [(shard, in_order) for shard in shards]

    def begun(self) -> None:
        pass

    def lost(self, shards: Collection[int]) -> None:
        self._holder.lost += shards

    async def kept(self, shards: Collection[int]) -> None:
        pass

    def out(self) -> Counter[int]:
        return self._holder.out


class Holder:
    """The shards of an engine that does nothing else."""

    def __init__(self, store: MemoryStore, clock: FakeClock, name: str) -> None:
        self.shards = Shards(store, clock, name, lease_s=10)
        self.out: Counter[int] = Counter()
        self.gained: list[tuple[int, bool]] = []
        self.lost: list[int] = []
        self.shards.owner = Owned(self)

    async def turn(self) -> int:
        await self.shards.turn()
        return len(self.shards.mine() or ())


def test_shards_are_divided_fairly_and_taken_over_from_the_dead() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store = MemoryStore(clock=clock.now)
        one, two, three = (Holder(store, clock, name) for name in ("one", "two", "three"))
        assert await one.turn() == SHARDS
        assert await two.turn() == 0
        assert await one.turn() == SHARDS // 2
        assert await two.turn() == SHARDS // 2
        assert all(in_order for _, in_order in two.gained)
        await three.turn()
        await one.turn()
        await two.turn()
        assert await three.turn() == SHARDS - 2 * 22
        mine = [set(holder.shards.mine() or ()) for holder in (one, two, three)]
        assert set.union(*mine) == set(range(SHARDS))
        assert sum(map(len, mine)) == SHARDS
        await clock.advance(9)  # two and three live on, one is dead
        await two.turn()
        await three.turn()
        await clock.advance(2)
        await two.turn()
        await three.turn()
        assert len(two.shards.mine() or ()) == len(three.shards.mine() or ()) == SHARDS // 2
        assert not all(in_order for _, in_order in two.gained)
        assert await one.turn() == 0
        assert len(one.lost) == SHARDS // 2 + 10 + 22

    asyncio.run(scenario())


def test_a_shard_with_runs_out_is_kept_until_they_are_back() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        store = MemoryStore(clock=clock.now)
        one, two = Holder(store, clock, "one"), Holder(store, clock, "two")
        await one.turn()
        await two.turn()
        one.out.update(range(40))
        assert await one.turn() == 40  # the 24 that are free went
        held = set(one.shards.mine() or ())
        leaving = [n for n in range(1000) if not one.shards.hands_out(f"e{n}")]
        assert {shard_of(f"e{n}") for n in leaving} > set(range(SHARDS)) - held
        one.out.clear()
        assert await one.turn() == SHARDS // 2

    asyncio.run(scenario())


def test_who_leaves_while_it_claims_gives_that_back_too() -> None:
    """Two that end at once: what the first one leaves is claimed by the other, which is ending."""

    async def scenario() -> None:
        clock = FakeClock()
        store = MemoryStore(clock=clock.now)
        last = Holder(store, clock, "last")
        claimed, looked = asyncio.Event(), asyncio.Event()

        class Slow(Owned):
            async def gained(self, shards: Collection[int], *, in_order: bool) -> None:
                claimed.set()
                await looked.wait()
                await super().gained(shards, in_order=in_order)

        last.shards.owner = Slow(last)
        holding = asyncio.create_task(last.shards.hold())
        await claimed.wait()
        holding.cancel()
        await asyncio.gather(holding, return_exceptions=True)
        looked.set()
        await last.shards.settle()
        await last.shards.leave()
        assert {row.holder for row in (await store.shards()).values()} == {""}

    asyncio.run(scenario())


def test_any_engine_takes_any_command_and_gives_the_answer() -> None:
    async def scenario() -> None:
        store = store_in_memory()
        async with engines(store, "one", "two") as (one, two):
            name = away_from(one.engine)
            assert two.engine.shards.owns(name)
            book = playbook(
                "  - step: wait\n    tool: {kind: wait, signal: {name: go}}\n"
                "    next: {arcs: [{step: work}]}\n"
                "  - step: work\n    tool: {kind: python, code: 'result = 42'}\n"
            )
            result = await one.run(book, execution=name)
            assert result.status == "waiting"
            again = await one.engine.start(book, execution=name)
            assert again.refused == "there is an execution of that id already"
            refused = await one.engine.ask(name, lambda now: c.Resume(now=now))
            assert refused.refused == "the execution is not paused"
            sent = [
                await one.engine.ask(
                    name, lambda now: c.SendSignal(now=now, name="go"), command="once"
                )
                for _ in range(2)
            ]
            assert sent[0] == sent[1]
            assert (await one.rest(name)).output == 42
            assert one.engine.cache.get(name) is None
            records = [from_row(row) for row in await store.read(name)]
            assert verify(name, records) is None
            assert sum(row.type == "signal.received" for row in await store.read(name)) <= 1
            unknown = next(f"x{n}" for n in range(1000) if two.engine.shards.owns(f"x{n}"))
            nobody = await one.engine.ask(unknown, lambda now: c.Pause(now=now))
            assert nobody.refused == f"there is no execution '{unknown}'"
            assert await store.letters() == []

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.spec("S16")
def test_children_run_wherever_their_shard_is() -> None:
    async def scenario() -> None:
        store = store_in_memory()
        async with engines(store, "one", "two", "three") as found:
            child = playbook(
                "  - step: work\n    tool: {kind: python, code: 'result = workload[\"n\"] * 2'}\n",
                name="double",
            )
            await found[0].apply(child)
            parent = playbook(
                "  - step: call\n    loop: {in: '{{ range(12) }}', iterator: n, spec: {mode: parallel}}\n"
                "    tool: {kind: playbook, path: double, args: {n: '{{ iter.n }}'}}\n",
                name="parent",
            )
            results = await asyncio.gather(
                *(one.run(parent, until=lambda r: r.status == "completed") for one in found)
            )
            assert {result.status for result in results} == {"completed"}
            for result in results:
                page = await store.executions(ExecutionFilter(parent=result.id))
                assert len(page.rows) == 12
                assert {row.row.status for row in page.rows} == {"completed"}
            assert await store.letters() == []

    asyncio.run(scenario())


def test_an_engine_that_leaves_hands_over_without_losing_a_delivery() -> None:
    async def scenario() -> None:
        store = store_in_memory()
        book = chain(3)
        names = [f"e{n}" for n in range(40)]
        async with engines(store, "one") as (one,):
            async with engines(store, "two") as (two,):
                starts = [two.engine.start(book, execution=name) for name in names]
                await asyncio.gather(*starts)
            results = await asyncio.gather(*(one.rest(name) for name in names))
        assert {result.status for result in results} == {"completed"}
        for name in names:
            records = [from_row(row) for row in await store.read(name)]
            assert verify(name, records) is None
        assert {row.holder for row in (await store.shards()).values()} == {""}

    asyncio.run(scenario())


def test_one_that_lost_its_shards_writes_nothing_and_stops_acting() -> None:
    async def scenario() -> None:
        store = store_in_memory()
        book = playbook("  - step: wait\n    tool: {kind: wait, signal: {name: go}}\n")
        async with engines(store, "one") as (one,):
            await one.run(book, execution="e1")
            version = len(await store.read("e1"))
            # the leases ran out unnoticed, and somebody else has everything
            now = store._clock()
            for shard, (_, epoch, _) in tuple(store._shards.items()):
                store._shards[shard] = ("another", epoch + 1, now + 60)
            asking = asyncio.create_task(
                one.engine.ask("e1", lambda at: c.SendSignal(now=at, name="go"), command="c1")
            )

            async def passed_on() -> bool:
                return bool(await store.letters())

            await until(passed_on)
            assert len(await store.read("e1")) == version
            assert one.engine.cache.get("e1") is None
            assert not one.engine.shards.owns("e1")
            assert [letter.id for letter in await store.letters()] == ["c1"]
            asking.cancel()

    asyncio.run(scenario())


def test_who_waits_for_an_execution_hears_of_it_when_another_engine_takes_it_over() -> None:
    async def scenario() -> None:
        store = store_in_memory()
        book = playbook(
            "  - step: wait\n    tool: {kind: wait, signal: {name: go}}\n    next: {arcs: [{step: work}]}\n"
            "  - step: work\n    tool: {kind: python, code: 'result = 42'}\n"
        )
        async with engines(store, "one") as (one,):
            names = [f"e{n}" for n in range(8)]
            for name in names:
                await one.run(book, execution=name)
            ends = [
                asyncio.create_task(one.rest(name, lambda found: found.status == "completed"))
                for name in names
            ]
            async with engines(store, "two") as (two,):

                async def shared() -> bool:
                    return len(two.engine.shards.mine() or ()) == SHARDS // 2

                await until(shared)
                moved = [name for name in names if two.engine.shards.owns(name)]
                assert moved
                for name in names:
                    await one.engine.ask(name, lambda now: c.SendSignal(now=now, name="go"))
                results = await asyncio.wait_for(asyncio.gather(*ends), 300)
            assert [result.output for result in results] == [42] * len(names)

    asyncio.run(scenario())


def test_what_another_engine_does_is_followed_as_if_it_were_done_here() -> None:
    async def scenario() -> None:
        async with engines(store_in_memory(), "one", "two") as (one, _):
            name = away_from(one.engine)
            await one.start(chain(6), execution=name)
            seen: list[int] = []
            async with aclosing(one.follow(name)) as messages:
                async for message in messages:
                    if isinstance(message, Appended):
                        seen += [record.seq for record in message.records]
                        if message.head is not None and message.head.over:
                            break
            assert seen == [record.seq for record in await one.records(name)]
            assert (await one.rest(name)).status == "completed"
            assert (await one.get(name)).version == len(seen)

    asyncio.run(scenario())


@pytest.mark.spec("S17")
def test_a_playbook_goes_along_with_the_first_start_that_is_passed_on_and_with_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        store = store_in_memory()
        brought: list[int] = []
        commit = store.commit

        async def noted(batch: Batch) -> Committed:
            if any(letter.execution.startswith("away") for letter in batch.letters):
                brought.append(len(batch.playbooks))
            return await commit(batch)

        monkeypatch.setattr(store, "commit", noted)
        async with engines(store, "one", "two") as (one, _):
            book = chain(1)
            away = [f"away{n}" for n in range(1000) if not one.engine.shards.owns(f"away{n}")][:3]
            for name in away:
                await one.engine.start(book, execution=name)
            for name in away:
                assert (await one.rest(name)).status == "completed"
        assert brought == [1, 0, 0]

    asyncio.run(scenario())
