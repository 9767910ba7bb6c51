"""Two engines on one database: whoever decides writes down, and one of them sends for a channel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_support import local, opened, playbook, until
from support.stub_http import reply, serving

from petra.engine.notifying import Notifying
from petra.notify import ChannelSpec, NotifyFile
from petra.store.base import Store
from petra.store.rows import NotificationFilter

MANY = 30


@pytest.mark.slow
def test_each_is_sent_once_whichever_engine_decided_and_also_when_one_leaves(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    where = new_database()
    book = playbook(
        "  - step: a\n    tool: {kind: noop}\n",
        executor="{spec: {notify: [{on: [completed], to: [one, two, three]}]}}",
    )

    async def main() -> None:
        async with (
            serving({"/in": reply()}) as stub,
            opened(where, tmp_path) as first,
            opened(where, tmp_path) as second,
        ):
            hook = ChannelSpec(kind="webhook", url=stub.url("/in"), allow_private=True)
            file = NotifyFile(channels=dict.fromkeys(("one", "two", "three"), hook))

            async def all_sent(store: Store, wanted: int) -> None:
                async def are() -> bool:
                    return await store.notifications.count() == {"sent": wanted}

                await until(are)

            async with local(first, holder="a", notifying=Notifying(file), shard_lease_s=3) as a:
                async with local(
                    second, holder="b", notifying=Notifying(file), shard_lease_s=3
                ) as b:
                    for number in range(MANY):
                        await (a if number % 2 else b).run(book)
                    await all_sent(first, MANY * 3)
                for _ in range(4):  # the other one left: its channels are sent for all the same
                    await a.run(book)
                await all_sent(first, (MANY + 4) * 3)
            ids = [asked.headers["webhook-id"] for asked in stub.asked]
            assert len(ids) == len(set(ids)) == (MANY + 4) * 3
            page = await first.notifications.notifications(NotificationFilter(), limit=500)
            assert {row.attempts for row in page.rows} == {1}

    asyncio.run(main())
