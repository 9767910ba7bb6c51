"""Requests of other processes: carried out once, answered alike, whoever asks again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from engine_support import local, playbook

from petra.clock import SystemClock
from petra.desk import Ask, Begin, ForkRequest, Reply
from petra.embedded import Home, open_item
from petra.errors import UsageError
from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.human import ANY_ROLE
from petra.playbook import to_yaml
from petra.store.memory import MemoryStore

BOOK = playbook("""
  - step: ask
    tool: {kind: human, assignees: {users: [ada]}}
    next: {arcs: [{step: pay}]}
  - step: pay
    tool: {kind: python, code: "result = 'paid'"}
""")


def engine(use: Callable[[Home], Awaitable[None]]) -> None:
    async def using() -> None:
        async with local(MemoryStore(clock=SystemClock().now)) as petra:
            await use(petra)

    asyncio.run(using())


async def begun(petra: Home) -> Reply:
    begin = Begin(id="b", execution="x", playbook=to_yaml(BOOK))
    first = await petra.carry_out(begin)
    assert await petra.carry_out(begin) == first
    return first


async def answer(petra: Home, request: str, actor: str) -> Reply:
    item = open_item(await petra.engine.cache.load("x"), "ask").id
    act = c.Act(now=0.0, item=item, act="complete", actor=actor, roles=[ANY_ROLE], action="approve")
    asked = Ask(id=request, execution="x", command=act)
    first = await petra.carry_out(asked)
    again = await petra.carry_out(asked)
    assert again.refused == first.refused
    return first


async def count(petra: Home, kind: type[e.Event], execution: str = "x") -> int:
    return sum(isinstance(record.event, kind) for record in await petra.records(execution))


def test_a_request_that_is_repeated_happens_once() -> None:
    async def use(petra: Home) -> None:
        reply = await begun(petra)
        assert reply.result is not None
        assert reply.result["waiting_on"] == "human"
        done = await answer(petra, "1", "ada")
        assert done.result is not None
        assert done.result["output"] == "paid"
        assert await count(petra, e.ItemChanged) == 1

    engine(use)


@pytest.mark.spec("S14")
def test_a_refused_act_is_refused_again_and_recorded_once() -> None:
    async def use(petra: Home) -> None:
        await begun(petra)
        reply = await answer(petra, "1", "bob")
        assert reply.refused == "'bob' is not among the assignees"
        assert await count(petra, e.ActRefused) == 1

    engine(use)


def test_an_id_that_was_used_for_something_else_is_refused() -> None:
    async def use(petra: Home) -> None:
        await begun(petra)
        await petra.carry_out(Ask(id="1", execution="x", command=c.Pause(now=0.0)))
        with pytest.raises(UsageError, match="used before"):
            await petra.carry_out(Ask(id="1", execution="x", command=c.Resume(now=0.0)))

    engine(use)


@pytest.mark.spec("S13")
def test_a_fork_is_made_once_and_knows_where_it_comes_from() -> None:
    async def use(petra: Home) -> None:
        await begun(petra)
        branch = ForkRequest(id="f", execution="y", origin="x", at=2)
        first = await petra.carry_out(branch)
        assert await petra.carry_out(branch) == first
        assert (await petra.engine.cache.load("y")).state.origins == ["x"]
        again = ForkRequest(id="g", execution="z", origin="y", step="ask")
        assert (await petra.carry_out(again)).result is not None
        assert (await petra.engine.cache.load("z")).state.origins == ["x"]
        with pytest.raises(UsageError, match="never started"):
            await petra.carry_out(ForkRequest(id="h", execution="w", origin="x", step="pay"))

    engine(use)


def test_what_a_program_calls_is_what_processes_ask() -> None:
    async def use(petra: Home) -> None:
        execution = await petra.start(BOOK, execution="x")
        assert (await petra.rest(execution)).waiting_on == "human"
        with pytest.raises(UsageError, match="not among the assignees"):
            await petra.complete(execution, "ask", "approve", actor="bob")
        with pytest.raises(UsageError, match="no open work item"):
            await petra.complete(execution, "pay", "approve", actor="ada")
        await petra.complete(execution, "ask", "approve", actor="ada")
        assert (await petra.rest(execution)).output == "paid"
        with pytest.raises(UsageError, match="is completed"):
            await petra.cancel(execution)

    engine(use)


@pytest.mark.parametrize("command", ["", "mine"])
def test_whoever_stops_waiting_for_an_answer_takes_nothing_back(command: str) -> None:
    async def use(petra: Home) -> None:
        with petra.engine.feed.bell("x") as bell:
            start = petra.engine.start(BOOK, execution="x", command=command, allow_unsound=True)
            caller = asyncio.ensure_future(start)
            await asyncio.sleep(0)
            assert [one.execution for one in petra.engine._inbox] == ["x"]
            caller.cancel()
            await asyncio.wait([caller])
            assert caller.cancelled()
            await bell.heard()
        assert (await petra.get("x")).waiting_on == "human"
        again = await petra.engine.start(BOOK, execution="x", command=command, allow_unsound=True)
        assert bool(again.refused) == (command == ""), "who gave an id is told what came of it"

    engine(use)
