"""Shards: which executions an engine acts for, when several engines share a store.

Rule 1: an engine holds shards by leases with epochs, and renews them. Whether one is still its own is said
by the database, in the transaction that writes; a clock only makes it stop earlier.
Rule 2: every engine has its fair share. One with more gives shards away, those without runs out first; while
a shard leaves, nothing of it is handed out, so that whoever takes it finds every run to be handed out.
Rule 3: what an engine left in order is handed out as it is; of one that died, every delivery is lost.
Rule 4: an engine without a name is alone and acts for everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Protocol

from petra.clock import Clock, doze
from petra.engine.limits import LEAVE_S, SHARD_LEASE_S, TAKE_OVER
from petra.engine.store_clock import StoreClock
from petra.errors import UsageError
from petra.store.base import Store
from petra.store.bus import Bus
from petra.store.errors import UnavailableError, UncertainError
from petra.store.rows import SHARDS, shard_of

MOVED = "shards"
"""The notice that shards are free, or that somebody came or went."""


class Owner(Protocol):
    """Who acts for shards: what is done when they come and go."""

    async def gained(self, shards: Collection[int], *, in_order: bool) -> None:
        """Find out what is to be taken up; ``in_order``: the one before left them so."""

    def begun(self) -> None:
        """They are ours now: act for them."""

    def lost(self, shards: Collection[int]) -> None:
        """Forget them at once."""

    async def kept(self, shards: Collection[int]) -> None:
        """They were to leave and stay: hand out what was held back."""

    def out(self) -> Mapping[int, int]:
        """Count what of each shard is with workers, or came back from them and is not durable yet."""


class Shards:
    """The shards of one engine. ``epochs`` is None for an engine that is alone."""

    owner: Owner
    """Who acts for them; an engine that is alone needs none."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        holder: str,
        *,
        bus: Bus | None = None,
        lease_s: float = SHARD_LEASE_S,
    ) -> None:
        self._bus = bus if bus is not None else store.bus
        self.holder = holder
        self.epochs: dict[int, int] | None = {} if holder else None
        self._store = store
        self._clock = clock
        self._lease_s = lease_s
        self._leaving: dict[int, float] = {}
        self._sure_until = float("-inf")
        self._noticed = asyncio.Event()
        self._claiming: asyncio.Future[None] | None = None

    # Asking

    def mine(self) -> Collection[int] | None:
        """Return the shards this engine acts for; None: all."""
        return None if self.epochs is None else tuple(self.epochs)

    def owns(self, execution: str) -> bool:
        """Whether this engine acts for an execution, as far as it knows."""
        return self.epochs is None or shard_of(execution) in self.epochs

    def hands_out(self, execution: str) -> bool:
        """Whether runs of an execution may go to workers: not those of a shard that leaves."""
        if self.epochs is None:
            return True
        shard = shard_of(execution)
        return shard in self.epochs and shard not in self._leaving

    @property
    def take_over_s(self) -> float:
        """In how many seconds the shards of an engine that died are somebody else's; 0 for an engine that is alone."""
        return 0.0 if self.epochs is None else TAKE_OVER * self._lease_s

    @property
    def sure(self) -> bool:
        """Whether the leases hold, by our own clock; after a long stop nobody knows until they are renewed."""
        return self.epochs is None or self._clock.monotonic() < self._sure_until

    def notice(self) -> None:
        """Somebody came or went: look at once."""
        self._noticed.set()

    # Holding

    async def hold(self) -> None:
        """Renew, claim and give away, for ever."""
        while True:
            hurry = False
            try:
                await self.turn()
            except (UnavailableError, UncertainError):
                hurry = True
            await self._wait(self._lease_s / (30 if hurry or self._leaving else 3))

    async def begin(self) -> None:
        """Come in: take what is free, and let the others know.

        Raises:
            UsageError: an engine of this name was there before, and nothing would fence it.
        """
        known = (await self._store.shards()).values()
        if any(row.holder == self.holder for row in known):
            raise UsageError(f"an engine '{self.holder}' has shards; every start needs a new name")
        await self.turn()
        self._tell()

    async def turn(self) -> None:
        """Renew what is held, and move towards the fair share."""
        assert self.epochs is not None, "an engine without a name holds no shards"
        if isinstance(self._clock, StoreClock):
            await self._clock.set_right()
        began = self._clock.monotonic()
        members = await self._store.enrol(self.holder, lease_s=self._lease_s)
        kept = await self._store.renew_shards(self.holder, self.epochs, lease_s=self._lease_s)
        self.lose([shard for shard in self.epochs if shard not in kept])
        self._sure_until = began + self._lease_s
        share = -(-SHARDS // max(1, len(members)))
        if len(self.epochs) < share:
            await self._claim(share - len(self.epochs))
        await self._give(len(self.epochs) - share)

    def lose(self, shards: Collection[int]) -> None:
        """Stop acting for shards that somebody else has now."""
        assert self.epochs is not None, "an engine without a name loses no shards"
        gone = [shard for shard in shards if self.epochs.pop(shard, None) is not None]
        for shard in gone:
            self._leaving.pop(shard, None)
        if gone:
            self.owner.lost(gone)

    async def _claim(self, most: int) -> None:
        # who cuts this short must not leave shards that are ours and that nobody knows of
        self._claiming = asyncio.ensure_future(self._claimed(most))
        await asyncio.shield(self._claiming)

    async def _claimed(self, most: int) -> None:
        assert self.epochs is not None, "an engine without a name claims no shards"
        known = await self._store.shards()
        free = [shard for shard in range(SHARDS) if shard not in known or not known[shard].held]
        begin = shard_of(self.holder)  # so that two that come at once do not want the same
        free.sort(key=lambda shard: (shard - begin) % SHARDS)
        taken = await self._store.claim_shards(self.holder, free[:most], lease_s=self._lease_s)
        in_order = {
            shard
            for shard, epoch in taken.items()
            if shard not in known or (not known[shard].holder and known[shard].epoch == epoch - 1)
        }
        for shards, orderly in ((in_order, True), (taken.keys() - in_order, False)):
            if shards:
                await self.owner.gained(shards, in_order=orderly)
                self.epochs.update({shard: taken[shard] for shard in shards})
                self.owner.begun()

    # Giving away

    async def _give(self, surplus: int) -> None:
        """Choose what leaves, let go of what has no run out any more, keep what takes too long."""
        assert self.epochs is not None, "an engine without a name gives no shards"
        now = self._clock.monotonic()
        late = [shard for shard, since in self._leaving.items() if since + LEAVE_S <= now]
        stay = late if surplus > 0 else list(self._leaving)
        for shard in stay:
            del self._leaving[shard]
        if stay:
            await self.owner.kept(stay)
        out = self.owner.out()  # as it is now: nothing is handed out between this and the release
        for shard in sorted(self.epochs, key=lambda shard: (shard in stay, out.get(shard, 0))):
            if len(self._leaving) >= surplus:
                break
            self._leaving.setdefault(shard, now)
        free = {shard: self.epochs[shard] for shard in self._leaving if not out.get(shard)}
        if free:
            self.lose(free)
            await self._store.release_shards(self.holder, free)
            self._tell()

    async def settle(self) -> None:
        """Wait for what was being claimed when holding was stopped: others have left just then, and it is to be given back too."""
        if self._claiming is not None:
            await asyncio.gather(self._claiming, return_exceptions=True)

    async def leave(self) -> None:
        """Give everything back, at the end."""
        if self.epochs is None:
            return
        held = dict(self.epochs)
        self.lose(held)
        try:
            await self._store.release_shards(self.holder, held)
            await self._store.enrol(self.holder, lease_s=0.0)
            self._tell()
        except (UnavailableError, UncertainError):
            return  # the leases run out by themselves

    def _tell(self) -> None:
        self._bus.tell(MOVED)

    async def _wait(self, seconds: float) -> None:
        await doze(self._clock, seconds, self._noticed)
        self._noticed.clear()
