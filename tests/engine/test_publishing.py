"""A playbook that is applied at one engine is told of at all of them, once, to who listens there."""

from __future__ import annotations

import asyncio

from engine_support import chain
from support.clocks import FakeClock, settle

from petra.desk import Desk, Principal
from petra.desk.principal import May
from petra.engine import Engine
from petra.engine.news import Published, Topic
from petra.store.memory import MemoryStore

AUTHOR = Principal("ada", may=frozenset({May.APPLY}))


def test_a_playbook_is_told_of_at_every_engine_once_and_nonsense_at_none() -> None:
    async def main() -> None:
        clock = FakeClock()
        store = MemoryStore(clock=clock.now)
        async with (
            Engine(store, clock=clock, holder="one") as one,
            Engine(store, clock=clock, holder="two") as two,
        ):
            await clock.advance(30)
            with (
                one.feed.subscribe(Topic.PLAYBOOKS) as here,
                two.feed.subscribe(Topic.PLAYBOOKS) as there,
            ):
                (done,) = await Desk(one, clock).apply(AUTHOR, [chain(1)], allow_unsound=True)
                store.bus.tell("playbook", "playbook of", "playbook x default nothing there")
                await settle()
                for heard in (here, there):
                    message = await heard.next()
                    assert isinstance(message, Published)
                    assert message.playbook.digest == done["digest"]
                (second,) = await Desk(two, clock).apply(AUTHOR, [chain(2)], allow_unsound=True)
                for heard in (here, there):  # the first is not told again
                    message = await heard.next()
                    assert isinstance(message, Published)
                    assert message.playbook.digest == second["digest"]

    asyncio.run(main())
