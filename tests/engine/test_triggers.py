"""Triggers on the real engine, in virtual time: one event, one execution, whatever happens (S24)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.trigger_works import FAILS, HOOK, WHO, Works, a_trigger, played, until

from petra.desk.triggers import DeskTriggers, UnknownTriggerError
from petra.engine.limits import ARRIVALS_KEPT_S, IN_A_ROW_MAX
from petra.errors import UsageError
from petra.store.errors import UnavailableError
from petra.store.rows import ArrivalRow

pytestmark = pytest.mark.spec("S24")


@played
async def test_an_event_starts_one_execution_however_often_it_comes() -> None:
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship")
        assert not (await desk.apply(WHO, a_trigger(HOOK)))["unchanged"]
        assert (await desk.apply(WHO, a_trigger(HOOK)))["unchanged"]
        first = await works.comes("a", {"n": 1})
        together = await asyncio.gather(*(works.comes("b", {"n": n}) for n in range(20)))
        assert first.state == "started"
        assert sorted(one.state for one in together) == ["duplicate"] * 19 + ["started"]
        assert len({one.execution for one in together}) == 1
        [state] = [(await works.engine.view(first.execution)).state]
        assert state.workload == {"event": {"kind": "webhook", "body": {"n": 1}}}
        assert state.labels["petra/trigger"] == "orders"
        assert (await works.comes("a")).state == "duplicate"
        assert {(await works.comes()).state for _ in range(3)} == {"started"}
        assert len(await works.started()) == 5
    async with works.open():
        assert (await works.comes("a")).state == "duplicate"


@played
async def test_an_event_starts_nothing_again_when_its_execution_is_long_removed() -> None:
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship")
        await desk.apply(WHO, a_trigger(HOOK))
        first = await works.comes("a")
        await until(works.clock, lambda: _ended(works, first.execution))
        assert await works.engine.remove([first.execution]) == (first.execution,)
        assert (await works.comes("a")).state == "duplicate"
        assert await works.store.arrivals.forget(works.clock.now() + ARRIVALS_KEPT_S + 1) == 1
        assert (await works.comes("a")).state == "started"


@played
async def test_expressions_say_which_events_count_which_they_are_and_what_they_start() -> None:
    text = (
        HOOK
        + """
when: "{{ event.body.total > 10 }}"
key: "{{ event.body.order }}"
workload: {order: "{{ event.body.order }}", double: "{{ event.body.total * 2 }}"}
"""
    )
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship")
        await desk.apply(WHO, a_trigger(text))
        assert (await works.comes("x", {"order": 7, "total": 5})).state == "passed"
        taken = await works.comes("y", {"order": 7, "total": 50})
        assert (taken.state, taken.key) == ("started", "7")
        assert (await works.comes("z", {"order": 7, "total": 60})).state == "duplicate"
        state = (await works.engine.view(taken.execution)).state
        assert state.workload == {"order": 7, "double": 100}
        told = await desk.test(WHO, "orders", {"body": {"order": 7, "total": 11}})
        assert (told["counts"], told["key"], told["known"]) == (True, "7", True)
        assert (await desk.test(WHO, "orders", {"body": {"order": 7, "total": 1}}))[
            "counts"
        ] is False
        lacks = await desk.test(WHO, "orders", {"body": {"total": 50}})
        assert "order" in lacks["error"]
        assert len(await works.started()) == 1


@played
async def test_what_cannot_be_started_is_a_dead_letter_that_can_be_tried_again() -> None:
    works = Works()
    async with works.open() as desk:
        await desk.apply(WHO, a_trigger(HOOK + 'key: "{{ event.body.order }}"\n'))
        dead = await works.comes("a", {"order": 1})
        assert (dead.state, "no playbook 'ship'" in dead.error) == ("dead", True)
        assert (await works.comes("b", {"order": {}})).state == "dead"
        assert (await works.comes("c", {})).state == "dead"
        assert (await desk.get(WHO, "orders"))["dead"] == 3
        letters, cursor = await desk.dead(WHO, "orders")
        assert (len(letters), cursor) == (3, None)
        [first] = [one for one in letters if one["key"] == "1"]
        assert first["event"]["body"] == {"order": 1}
        await works.apply_books("ship")
        assert await desk.replay(WHO, "orders", [first["id"]]) == {"name": "orders", "replayed": 1}
        await until(works.clock, works.started)
        assert (await works.comes("a", {"order": 1})).state == "duplicate"
        assert await desk.replay(WHO, "orders") == {"name": "orders", "replayed": 2}
        await until(works.clock, lambda: _dead_again(desk))
        for name, letter in (
            ("orders", "nothing"),
            ("orders", first["id"]),
            ("other", first["id"]),
        ):
            with pytest.raises(UnknownTriggerError, match="no dead letter"):
                await desk.replay(WHO, name, [letter])


async def _ended(works: Works, execution: str) -> bool:
    found = await works.store.execution(execution)
    return found is not None and found.row.ended is not None


async def _dead_again(desk: DeskTriggers) -> bool:
    letters, _ = await desk.dead(WHO)
    return [one["attempts"] for one in letters] == [2, 2]


@played
async def test_a_dead_event_that_its_sender_brings_again_is_started_then() -> None:
    works = Works()
    async with works.open() as desk:
        await desk.apply(WHO, a_trigger(HOOK))
        assert (await works.comes("a")).state == "dead"
        await works.apply_books("ship")
        assert (await works.comes("a")).state == "started"
        assert await desk.dead(WHO) == ([], None)


@played
async def test_a_workload_that_cannot_be_taken_in_is_a_dead_letter() -> None:
    deep: Any = 1
    for _ in range(2_000):
        deep = [deep]
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship")
        await desk.apply(WHO, a_trigger(HOOK))
        assert (await works.comes("a", deep)).state == "dead"
        assert (await works.comes("b", "x" * 50_000)).state == "started"
        assert (await works.comes("c", "x" * (17 << 20))).state == "dead"


@played
async def test_the_end_of_an_execution_starts_another_once() -> None:
    after = "playbook: bill\non: {playbook: ship}\nworkload: {of: '{{ event.execution.id }}'}\n"
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship", "bill", "other")
        await desk.apply(WHO, a_trigger(after, "bills"))
        for book in ("ship", "ship", "other"):
            await works.begin(book)
        await until(works.clock, lambda: _count(works, "bill", 2))
        sources = {one.row.id for one in await works.started("ship")}
        found = [(await works.engine.view(one.row.id)).state for one in await works.started("bill")]
        assert {state.workload["of"] for state in found} == sources
        assert {state.labels["petra/event"] for state in found} == sources


async def _count(works: Works, name: str, number: int) -> bool:
    return len(await works.started(name)) == number


@played
async def test_only_the_ends_that_are_named_count() -> None:
    after = "playbook: mend\non: {playbook: 's*', status: [failed, aborted]}\n"
    works = Works()
    async with works.open() as desk:
        await works.apply_books("mend", "shop")
        await works.apply_books("ship", steps=FAILS)
        await desk.apply(WHO, a_trigger(after, "mends"))
        for book in ("shop", "ship"):
            await works.begin(book)
        await until(works.clock, lambda: _count(works, "mend", 1))
        [one] = await works.started("mend")
        event = (await works.engine.view(one.row.id)).state.workload["event"]
        assert (event["status"], event["execution"]["playbook"]) == ("failed", "ship")
        assert event["error"]["message"]


@played
async def test_an_end_is_dealt_with_by_the_next_engine_when_this_one_dies_in_between() -> None:
    after = "playbook: bill\non: {playbook: ship}\n"
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship", "bill")
        await desk.apply(WHO, a_trigger(after, "bills"))
        works.engine.triggers.intake.deal_with = _away  # type: ignore[method-assign, assignment]
        await works.begin("ship")
        await until(works.clock, lambda: works.store.arrivals.due(1e18))
        assert await works.started("bill") == ()
    async with works.open():
        await until(works.clock, lambda: _count(works, "bill", 1))
    async with works.open():
        works.engine.triggers.wake()
        await works.clock.advance(10)
        assert await _count(works, "bill", 1)


async def _away(_row: ArrivalRow) -> ArrivalRow:
    raise UnavailableError("the store is away")


@played
async def test_triggers_that_go_in_a_circle_stop_and_say_so() -> None:
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ping", "pong")
        await desk.apply(WHO, a_trigger("playbook: pong\non: {playbook: ping}\n", "there"))
        await desk.apply(WHO, a_trigger("playbook: ping\non: {playbook: pong}\n", "back"))
        await works.begin("ping")
        await until(works.clock, lambda: _has_dead(desk))
        [letter], _ = await desk.dead(WHO)
        assert "circle" in letter["error"]
        both = len(await works.started("ping")) + len(await works.started("pong"))
        assert both == IN_A_ROW_MAX + 1


async def _has_dead(desk: DeskTriggers) -> bool:
    return bool((await desk.dead(WHO))[0])


@played
async def test_a_paused_trigger_takes_no_ends_and_another_text_does_not_end_the_pause() -> None:
    after = "playbook: bill\non: {playbook: ship}\n"
    works = Works()
    async with works.open() as desk:
        await works.apply_books("ship", "bill")
        await desk.apply(WHO, a_trigger(after, "bills"))
        await desk.pause(WHO, "bills", "for now")
        assert (await desk.get(WHO, "bills"))["reason"] == "for now"
        with pytest.raises(UsageError, match="paused already"):
            await desk.pause(WHO, "bills")
        await desk.apply(WHO, a_trigger(after + "workload: {a: 1}\n", "bills"))
        assert (await desk.get(WHO, "bills"))["paused"]
        await works.begin("ship")
        await until(works.clock, lambda: _count(works, "ship", 1))
        await works.clock.advance(10)
        await desk.resume(WHO, "bills")
        assert await works.started("bill") == ()
        await works.begin("ship")
        await until(works.clock, lambda: _count(works, "bill", 1))


@played
async def test_a_path_is_one_triggers_until_it_lets_go_of_it() -> None:
    works = Works()
    async with works.open() as desk:
        await desk.apply(WHO, a_trigger(HOOK))
        with pytest.raises(UsageError, match="another trigger answers"):
            await desk.apply(WHO, a_trigger(HOOK, "second"))
        with pytest.raises(UsageError, match="another trigger answers"):
            await desk.apply(WHO.within("other"), a_trigger(HOOK, "second"))
        await desk.apply(WHO, a_trigger(HOOK.replace("path: orders", "path: moved")))
        await desk.apply(WHO, a_trigger(HOOK, "second"))
        await desk.remove(WHO, "second")
        await desk.apply(WHO, a_trigger(HOOK, "third"))
        assert [one["name"] for one in await desk.listed(WHO)] == ["orders", "third"]
        with pytest.raises(UnknownTriggerError, match="no trigger 'second'"):
            await desk.get(WHO, "second")
