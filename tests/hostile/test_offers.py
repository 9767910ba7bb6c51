"""Runs that wait for a worker that never comes cost rows, not memory; when one comes, all of them are done."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from engine_support import until
from hostile.harness import Scene, code, fake, play

from petra.engine import dispatch, late_assignments, offers, recovery
from petra.engine.cache import Cache
from petra.engine.workers import Queued
from petra.store.rows import shard_of
from petra.wire import Report
from petra.wire import frames as f

MOST, RUNS = 10, 47


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
def test_offers_beyond_the_limit_are_rows_and_all_are_handed_out_once(
    restarted: bool,  # noqa: FBT001 - a parameter
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for place in (offers, recovery):
        monkeypatch.setattr(place, "OFFERS_MAX", MOST)
    held: list[int] = []
    begins = recovery.Recovery.begin

    def begin_counted(one: recovery.Recovery) -> None:
        held.append(len(one._left))
        begins(one)

    monkeypatch.setattr(recovery.Recovery, "begin", begin_counted)
    book = code("result = 1", spec="{pool: etl}")

    async def begin(scene: Scene) -> None:
        for number in range(RUNS):
            await scene.start(book, f"e{number}")
        assert scene.engine.offers.waits("etl") == MOST
        await scene.bystander()

    async def work(scene: Scene) -> None:
        assert scene.engine.offers.waits("etl") <= MOST
        done: list[str] = []
        async with fake(scene) as one:
            await one.hello(pool="etl", credit=8)
            while len(done) < RUNS:
                given = (await one.heard(f.Assignments)).assignments
                done += [each.execution for each in given]
                reports = [
                    f.RunReport(execution=each.execution, run=each.run, delivery=each.delivery, lease=each.lease, report=Report(status="ok"))
                    for each in given
                ]  # fmt: skip
                await one.frame(f.Reports(reports=reports))
                await one.frame(f.Credit(slots=len(given)))

            async def all_ended() -> bool:
                return (await scene.store.stats()).executions.get("completed", 0) >= RUNS + 1

            await until(all_ended)
        assert sorted(done) == sorted(f"e{number}" for number in range(RUNS))

    async def both(scene: Scene) -> None:
        await begin(scene)
        await work(scene)

    if restarted:
        play(kind, tmp_path, begin, with_worker="helped")
        play(kind, tmp_path, work, with_worker="", handed_back=True)
        assert max(held) == MOST + 1  # no more of them is in memory, at no time
    else:
        play(kind, tmp_path, both, with_worker="helped")


@pytest.mark.spec("S20")
def test_what_was_up_when_its_shard_left_is_not_handed_out_when_the_shard_is_back(
    tmp_path: Path,
) -> None:
    """Another engine may have had it done meanwhile; what is left of it is read from the store."""
    book = code("result = 1", spec="{pool: etl}")

    async def case(scene: Scene) -> None:
        await scene.start(book, "old")
        scene.engine.offers.forget({shard_of("old")})
        async with fake(scene) as one:
            await one.hello(pool="etl", credit=8)
            await scene.start(book, "new")
            assert [each.execution for each in (await one.heard(f.Assignments)).assignments] == [
                "new"
            ]

    play("sqlite", tmp_path, case, with_worker="")


async def _handed_out(scene: Scene, number: int) -> list[str]:
    """Take runs one by one, as a worker does that has one slot; return whose they were."""
    found: list[str] = []
    async with fake(scene) as one:
        await one.hello(pool="etl", credit=1)
        while len(found) < number:
            for each in (await one.heard(f.Assignments)).assignments:
                found.append(each.execution)
                report = f.RunReport(
                    execution=each.execution, run=each.run, delivery=each.delivery, lease=each.lease, report=Report(status="ok"),
                )  # fmt: skip
                await one.frame(f.Reports(reports=[report]))
                await one.frame(f.Credit(slots=1))
    return found


@pytest.mark.spec("S15")
@pytest.mark.parametrize("most", [100, 3], ids=["all in memory", "few in memory"])
def test_who_is_urgent_goes_out_first_and_of_equals_who_came_first(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offers, "OFFERS_MAX", most)
    book = code("result = 1", spec="{pool: etl}")

    async def case(scene: Scene) -> None:
        for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", -2), ("e", -2)):
            await scene.engine.start(book, {}, execution=name, priority=priority)
        found = await _handed_out(scene, 5)
        assert found == ["d", "e", "a", "c", "b"] if most > 3 else found[:3] == ["d", "e", "a"]
        assert sorted(found) == ["a", "b", "c", "d", "e"]

    play("sqlite", tmp_path, case, with_worker="")


@pytest.mark.spec("S15")
def test_no_namespace_waits_until_another_wants_nothing(tmp_path: Path) -> None:
    book = code("result = 1", spec="{pool: etl}")

    async def case(scene: Scene) -> None:
        names = ["one-1", "two-1", "one-2", "one-3", "two-2", "one-4"]
        for name in names:
            await scene.engine.start(
                book, {}, execution=name, namespace=name.partition("-")[0], allow_unsound=True
            )
        assert await _handed_out(scene, len(names)) == names

    play("sqlite", tmp_path, case, with_worker="")


def test_an_execution_that_is_being_decided_about_is_not_looked_at_once_for_each_of_its_offers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fan-out of 100,000 took twice the time of one of 10,000 for each branch: all that waited was gone through for every frame."""
    most = 4
    monkeypatch.setattr(dispatch, "ASSIGN_MAX", most)
    book = code("result = 1", spec="{pool: etl}")
    undecided = True
    by_frame: list[Counter[str]] = []
    frame: ContextVar[Counter[str]] = ContextVar("frame")  # two may be filled at once
    make, fill = late_assignments.make, dispatch.Dispatcher._fill

    async def make_later(cache: Cache, offer: Queued) -> bool:
        frame.get()["looked at"] += 1
        return False if undecided else await make(cache, offer)

    async def fill_counted(*arguments: Any) -> bool:
        by_frame.append(Counter())
        frame.set(by_frame[-1])
        return await fill(*arguments)

    async def begin(scene: Scene) -> None:
        for number in range(RUNS):
            await scene.start(book, f"e{number}")

    async def work(scene: Scene) -> None:
        nonlocal undecided
        async with fake(scene) as one:
            await one.hello(pool="etl", credit=8)

            async def was_asked() -> bool:
                return any(by_frame)

            await until(was_asked)
        undecided = False
        assert sorted(await _handed_out(scene, RUNS)) == sorted(f"e{n}" for n in range(RUNS))
        assert max(looked.total() for looked in by_frame) < 2 * most

    play("sqlite", tmp_path, begin, with_worker="")
    monkeypatch.setattr(late_assignments, "make", make_later)
    monkeypatch.setattr(dispatch.Dispatcher, "_fill", fill_counted)
    play("sqlite", tmp_path, work, with_worker="", handed_back=True)
