"""Those who stay for long, readers of streams and workers elsewhere: whether they still may is looked up now and then.

Rule 1: everybody who came with the same token or session is looked up once for all of them, however many there are.
Rule 2: whoever may no longer stay is told within ``AGAIN_S``; so is whoever has other roles by now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from petra.clock import Clock
from petra.desk import Principal
from petra.server.identity import AGAIN_S, Identity, Presented


class Staying:
    """Knows who stays."""

    def __init__(self, identity: Identity, clock: Clock) -> None:
        self._identity = identity
        self._clock = clock
        self._guests: dict[tuple[Presented, Principal], set[asyncio.Future[None]]] = {}
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def guest(self, presented: Presented, who: Principal) -> Iterator[asyncio.Future[None]]:
        """Give what is done once somebody who came in may no longer stay."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        guest = presented, who
        self._guests.setdefault(guest, set()).add(over)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            yield over
        finally:
            same = self._guests.get(guest, set())
            same.discard(over)
            if not same:
                self._guests.pop(guest, None)

    async def _look(self) -> None:
        while self._guests:
            await self._clock.sleep(AGAIN_S)
            for guest in tuple(self._guests):
                if not await self._identity.is_in(*guest):
                    for over in self._guests.pop(guest, ()):
                        over.set_result(None)
        self._looking = None

    async def close(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
