"""Rows of lists that other engines act for: told by hints, and found where hints are lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from engine.test_guests import Deaf, Two, play
from engine_support import playbook
from support.clocks import settle

from petra.embedded import Home
from petra.engine import Engine, listings
from petra.engine.limits import GATHERED_S, LISTENED_S, LISTENS_S
from petra.engine.news import Gone, Lagged, Listed, News, Topic
from petra.errors import PetraError, UsageError
from petra.store.bus import InProcessBus
from petra.store.rows import WorkItemRow

ASKS = playbook("  - step: ask\n    tool: {kind: human, title: Go on?}\n")


class Ear:
    """Hears one topic of an engine."""

    def __init__(self, engine: Engine, topic: Topic) -> None:
        self.told: list[News] = []
        engine.feed.attach(topic, self)

    def take(self, message: News) -> None:
        self.told.append(message)

    def end(self, why: PetraError) -> None:
        pass

    def rows(self) -> list[tuple[str, str]]:
        """Return the executions, or work items, that were told of, each with its state."""
        rows = [one.row for one in self.told if isinstance(one, Listed)]
        return [
            (row.execution, row.state) if isinstance(row, WorkItemRow) else (row.id, row.status)
            for row in rows
        ]


def of(engine: Engine) -> str:
    """Return an id that an engine acts for."""
    return next(f"x{n}" for n in range(1000) if engine.shards.owns(f"x{n}"))


def test_what_one_engine_does_is_told_at_the_other_once_and_only_while_somebody_listens() -> None:
    async def scenario(found: Two) -> None:
        rows, items = Ear(found.two, Topic.EXECUTIONS), Ear(found.two, Topic.WORK_ITEMS)
        await found.clock.advance(1)
        rows.told.clear()  # that of the scene
        name = of(found.one)
        await found.clock.run(found.one.start(ASKS, execution=name, allow_unsound=True))
        await found.clock.advance(2 * GATHERED_S)
        assert rows.rows() == [(name, "waiting")]
        assert items.rows() == [(name, "offered")]
        await found.clock.advance(LISTENS_S)
        assert rows.rows() == [(name, "waiting")], "the look finds what was told already"
        found.one.feed.gone(name)
        await found.clock.advance(2 * GATHERED_S)
        assert Gone(execution=name) in rows.told
        assert Gone(execution=name) in items.told
        found.two.feed.detach(Topic.EXECUTIONS, rows)
        found.two.feed.detach(Topic.WORK_ITEMS, items)
        await found.clock.advance(LISTENED_S + LISTENS_S)
        await found.clock.run(found.one.start(ASKS, execution=f"{name}-", allow_unsound=True))
        await found.clock.advance(1)
        assert found.one.feed.listeners(Topic.EXECUTIONS) == 0

    play(scenario, InProcessBus())


def test_where_no_hint_is_heard_the_newest_rows_are_looked_at() -> None:
    async def scenario(found: Two) -> None:
        rows, items = Ear(found.two, Topic.EXECUTIONS), Ear(found.two, Topic.WORK_ITEMS)
        await found.clock.advance(1)
        rows.told.clear()  # that of the scene
        name = of(found.one)
        await found.clock.run(found.one.start(ASKS, execution=name, allow_unsound=True))
        await found.clock.advance(LISTENS_S + 1)
        assert (rows.rows(), items.rows()) == ([(name, "waiting")], [(name, "offered")])
        home = Home(found.one, found.clock)
        await found.clock.run(home.complete(name, "ask", "approve", actor="ada"))
        await found.clock.advance(LISTENS_S + 1)
        assert rows.rows()[1:] == [(name, "completed")]
        assert items.rows()[1:] == [(name, "done")]

    play(scenario, Deaf())


def test_a_flood_of_hints_is_read_row_by_row_and_too_much_of_it_is_read_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listings, "CHANGES_MAX", 5)
    reads: list[str] = []

    async def scenario(found: Two) -> None:
        rows, held = Ear(found.two, Topic.EXECUTIONS), asyncio.Event()
        await found.clock.advance(1)
        rows.told.clear()
        execution = found.store.execution

        async def slow(name: str) -> Any:
            if name.startswith("flood"):
                reads.append(name)
                await held.wait()
            return await execution(name)

        monkeypatch.setattr(found.store, "execution", slow)
        for number in range(4):
            found.two.bus.tell(f'listed another {{"names":[["flood{number % 2}",""]]}}')
        await settle()
        assert reads == ["flood0"], "one after the other"
        assert rows.told == []
        for number in range(9):
            found.two.bus.tell(f'listed another {{"names":[["flood{number}",""]]}}')
        await settle()
        assert rows.told == [Lagged(lost=1)]
        held.set()
        await settle()
        assert len(reads) <= 5

    play(scenario, InProcessBus())


def test_who_listens_reads_anew_when_the_ear_was_lost() -> None:
    bus = InProcessBus()
    bus.ears = 1  # type: ignore[attr-defined]

    async def scenario(found: Two) -> None:
        rows = Ear(found.two, Topic.EXECUTIONS)
        await found.clock.advance(LISTENS_S + 1)
        rows.told.clear()
        bus.ears = 2  # type: ignore[attr-defined]
        await found.clock.advance(LISTENS_S + 1)
        assert rows.told == [Lagged(lost=1)]

    play(scenario, bus)


def test_hints_that_are_none_harm_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(found: Two) -> None:
        execution = found.store.execution

        async def of_names_that_are_some(name: str) -> Any:
            if name == "\0":
                raise UsageError("PostgreSQL cannot look for this")
            return await execution(name)

        monkeypatch.setattr(found.store, "execution", of_names_that_are_some)
        rows = Ear(found.two, Topic.EXECUTIONS)
        await found.clock.advance(1)
        rows.told.clear()
        for hint in (
            "listed",
            "listed a",
            "listed a {",
            'listed a {"names":[["x"]]}',
            "listens",
            'listed a {"names":[["no","such"],["nobody",""],["\\u0000",""]]}',
        ):
            found.two.bus.tell(hint)
        await settle()
        await found.clock.advance(LISTENS_S + 1)
        assert rows.told == []
        found.two.check()

    play(scenario, InProcessBus())
