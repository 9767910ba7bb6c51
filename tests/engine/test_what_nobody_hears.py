"""What nobody hears of is not held until it is durable; who hears of it is told the same, whenever they began to listen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_support import playbook

from petra.desk.result import records_of
from petra.embedded import Home
from petra.engine.batches import Batches
from petra.engine.changes import Draft
from petra.engine.feed import Feed
from petra.engine.news import Appended, News, Topic
from petra.errors import PetraError
from petra.kernel import Record

CHAIN = """
  - step: a
    tool: {kind: python, code: 'result = 1'}
    next: {arcs: [{step: b}]}
  - step: b
    tool: {kind: python, code: 'result = 2'}
"""


class Listener:
    def __init__(self) -> None:
        self.heard: list[Record] = []

    def take(self, message: News) -> None:
        if isinstance(message, Appended):
            self.heard += message.records

    def end(self, why: PetraError) -> None:
        pass


class Seen:
    """The drafts of an engine at the moment when their rows are made."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.held: list[int] = []
        self.lines: list[int] = []
        make = Batches._change

        def change(batches: Batches, draft: Draft) -> object:
            self.held.append(len(draft.said))
            self.lines.append(len(draft.lines))
            return make(batches, draft)

        patch.setattr(Batches, "_change", change)


def test_the_events_of_a_decision_are_held_where_somebody_hears_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Seen(monkeypatch)

    async def told() -> None:
        async with Home.open(tmp_path / "home") as home:
            assert (await home.run(playbook(CHAIN))).status == "completed"
            assert sum(seen.lines) > 6
            assert not any(seen.held)
            listener = Listener()
            home.engine.feed.attach(Topic.RECORDS, listener)
            seen.held, seen.lines = [], []
            result = await home.run(playbook(CHAIN))
            assert seen.held == seen.lines != []
            assert listener.heard == await records_of(home.engine.store, result.id)

    asyncio.run(told())


def test_who_begins_to_listen_behind_a_decision_hears_its_records_as_they_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Feed, "listens", lambda *_: False)  # as it is when a draft is begun
    changed = Feed.changed
    monkeypatch.setattr(Feed, "changed", lambda *given: changed(*given) or True)

    async def told() -> None:
        async with Home.open(tmp_path / "home") as home:
            listener = Listener()
            home.engine.feed.attach(Topic.RECORDS, listener)
            result = await home.run(playbook(CHAIN))
            assert listener.heard == await records_of(home.engine.store, result.id)
            assert len(listener.heard) > 6

    asyncio.run(told())
