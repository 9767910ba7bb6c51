"""The handover of shards: what an engine does when it gains some, loses some, or keeps what was to leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import chain

from msgspec import Struct

from petra.engine.cache import Cache
from petra.engine.courier import Courier
from petra.engine.custody import Custody
from petra.engine.feed import Feed
from petra.engine.inbox import Inbox
from petra.engine.recovery import Recovery
from petra.engine.shelf import Porter
from petra.engine.turnstile import Turnstile
from petra.engine.wakes import Wakes
from petra.store.rows import shard_of


class Handover(Struct, frozen=True, kw_only=True):
    """Acts for the shards of an engine (``petra.engine.shards.Owner``)."""

    recovery: Recovery
    wakes: Wakes
    courier: Courier
    cache: Cache
    custody: Custody
    feed: Feed
    inbox: Inbox
    porter: Porter
    turnstile: Turnstile

    async def gained(self, shards: Collection[int], *, in_order: bool) -> None:
        """Find out what of them was out, before acting for them."""
        await self.recovery.find(shards, in_order=in_order)

    def begun(self) -> None:
        """There is more to act for: runs that were out, timers, letters."""
        self.recovery.begin()
        self.wakes.look_again()
        self.courier.look_soon()
        self.turnstile.look_again()

    def lost(self, shards: Collection[int]) -> None:
        """Forget what is somebody else's now."""
        self.cache.forget(shards)
        self.custody.offers.forget(shards)
        self.feed.moved(shards)

    async def kept(self, shards: Collection[int]) -> None:
        """Hand out what was held back."""
        await self.recovery.find(shards, in_order=True)
        self.recovery.begin()

    def out(self) -> Counter[int]:
        """Count what of each shard is with workers, or came back from them and is not durable yet."""
        out = self.custody.out()
        waiting = chain(self.inbox, self.porter)
        out.update(
            shard_of(submission.execution) for submission in waiting if submission.part is not None
        )
        out.update(map(shard_of, self.cache.busy()))
        return out
