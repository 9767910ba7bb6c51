"""Logs with large values, moves, forks and reruns: walked on their nets, and decided again (S2, S17, S18, S23)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from engine.size_table import TABLE
from engine.test_sizes import child, seen
from engine_support import local, playbook

from petra.cli.held_against import Again, Stored, decided_again, definitions, on_net
from petra.desk import ForkRequest, Move
from petra.desk.resting import OVER
from petra.embedded import Home
from petra.kernel import events as e
from petra.objects import LocalObjects
from petra.playbook import to_yaml
from petra.store.sqlite import SqliteStore

SIZES = (1_000, 100_000, 10_000_000)


async def held_against(petra: Home, objects: LocalObjects, execution: str) -> Again:
    """Hold a log against its net and its rules; return what of it was decided again."""
    records = await petra.records(execution)
    programs = await definitions(petra.engine.cache, records)
    walked, bad = on_net(records, programs)
    assert bad is None, (execution, bad)
    assert walked.firings
    shelf = Stored(objects, execution, asyncio.get_running_loop())
    again, bad = await asyncio.to_thread(decided_again, execution, records, programs, shelf)
    assert bad is None, (execution, bad)
    return again


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Home, LocalObjects]]:
    objects = LocalObjects(folder / "objects")
    store = await SqliteStore.open(folder / "petra.db")
    try:
        async with local(store, objects=objects) as petra:
            yield petra, objects
    finally:
        await store.close()


LOST = "the result and the writes of a run that the server made fail"
WHOLE = "what was written to a large ctx value"
UNRECORDED = {
    "a schema of ctx": {LOST},
    "another one written by every branch": {LOST},
    "the reducer append": {WHOLE},
    "the reducer extend": {WHOLE},
    "the reducer merge": {WHOLE},
    "the reducer union": {WHOLE},
}
"""What a log does not hold of some constructs."""


@pytest.mark.slow
@pytest.mark.spec("S17", "S18", "S2")
@pytest.mark.parametrize("construct", TABLE)
def test_every_construct_means_the_same_and_is_decided_again_whatever_the_size_of_its_data(
    construct: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (petra, objects):
            await petra.apply(child())
            first = None
            for size in SIZES:
                what = await seen(petra, objects, construct, size)
                first = first or what
                assert what == first, f"{construct} at {size:,} bytes"
                again = await held_against(petra, objects, f"e{size}")
                assert again.decisions
                assert set(again.unrecorded) <= UNRECORDED.get(construct, set())

    asyncio.run(scenario())


# Moves, forks and reruns

OLD = """
  - {step: gen, tool: {kind: python, args: {n: "{{ workload.n }}"}, code: "result = {'rows': [{'id': i, 'pad': 'x' * n} for i in range(6)]}"}, next: {arcs: [{step: ask}]}}
  - {step: ask, tool: {kind: human, title: "{{ gen.rows | length }} rows?"}, next: {arcs: [{step: each, foreach: "{{ gen.rows }}", as: row}]}}
  - {step: each, tool: {kind: python, args: {row: "{{ args.row }}"}, code: "result = row"}, next: {arcs: [{step: all}]}}
  - {step: all, spec: {join: {merge: {strategy: append, into: kept}}}, tool: {kind: python, args: {n: "{{ ctx.kept | length }}"}, code: "result = n"}}
"""
NEW = OLD.replace("step: ask", "step: decide").replace("result = n", "result = [n, 'new']")
RENAMED = {"ask": "decide"}


def text(workflow: str) -> str:
    return to_yaml(playbook(workflow, workload="{n: 1}"))


def branch(name: str, origin: str, **given: Any) -> ForkRequest:
    return ForkRequest(id=name, execution=name, origin=origin, **given)


async def finished(petra: Home, execution: str, step: str) -> Any:
    await petra.complete(execution, step, "approve", actor="ada")
    result = await petra.rest(execution, lambda now: now.status in OVER)
    assert result.status == "completed", result
    return result.output


@pytest.mark.parametrize("size", [1_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
@pytest.mark.spec("S17", "S18", "S23", "S2")
def test_a_move_is_decided_again_and_the_walk_goes_on_in_the_other_net(
    size: int, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (petra, objects):
            book = playbook(OLD, workload="{n: 1}")
            assert (await petra.run(book, {"n": size // 6}, execution="e1")).reason == "human"
            move = Move(id="m", execution="e1", playbook=text(NEW), renamed=RENAMED, actor="ops")
            assert not (await petra.carry_out(move)).refused
            assert await finished(petra, "e1", "decide") == [6, "new"]
            again = await held_against(petra, objects, "e1")
            assert not again.unrecorded

    asyncio.run(scenario())


@pytest.mark.parametrize("size", [1_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
@pytest.mark.spec("S13", "S17", "S18", "S23", "S2")
def test_forks_and_reruns_are_decided_again_also_of_one_another(size: int, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (petra, objects):
            book = playbook(OLD, workload="{n: 1}")
            await petra.run(book, {"n": size // 6}, execution="e1")
            assert await finished(petra, "e1", "ask") == 6
            records = await petra.records("e1")
            asked = next(
                r.seq
                for r in records
                if isinstance(r.event, e.StepStarted) and r.event.step == "ask"
            )
            for made in (
                branch("fork", "e1", at=asked),
                branch("rerun", "e1", step="all"),
                branch("moved", "e1", at=asked, playbook=text(NEW), renamed=RENAMED),
                branch("set", "e1", step="ask", workload={"n": 2}),
            ):
                assert not (await petra.carry_out(made)).refused, made.id
            assert await finished(petra, "fork", "ask") == 6
            assert await finished(petra, "moved", "decide") == [6, "new"]
            assert await finished(petra, "set", "ask") == 6
            for made in (
                branch("again", "moved", step="all"),
                branch("twice", "rerun", step="all"),
            ):
                assert not (await petra.carry_out(made)).refused, made.id
            for name in ("e1", "fork", "rerun", "moved", "set", "again", "twice"):
                again = await held_against(petra, objects, name)
                assert again.decisions, name
                assert not again.unrecorded, (name, again)

    asyncio.run(scenario())


@pytest.mark.spec("S17", "S23", "S13", "S2")
def test_a_fork_that_moves_is_decided_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (petra, objects):
            await petra.run(playbook(OLD, workload="{n: 1}"), execution="e1")
            records = await petra.records("e1")
            assert not (await petra.carry_out(branch("f", "e1", at=len(records)))).refused
            move = Move(id="m", execution="f", playbook=text(NEW), renamed=RENAMED, actor="ops")
            assert not (await petra.carry_out(move)).refused
            assert await finished(petra, "f", "decide") == [6, "new"]
            assert not (await held_against(petra, objects, "f")).unrecorded

    asyncio.run(scenario())
