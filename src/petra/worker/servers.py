"""The servers of one database that a worker may work for: the first is its home, the others are for when that is away.

Rule 1: a server that does not answer is left for the next one.
Rule 2: whoever is elsewhere looks now and then whether the home answers again, and goes back: a server that comes back would have
no workers otherwise, and the runs of its shards would wait for ever.
Rule 3: it moves with what it runs, as when a server is lost: nothing is run again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from random import SystemRandom  # noqa: TID251 - that not all look at once, not a decision
from typing import Final

from petra.wire.connection import LostError
from petra.worker.remote import Socket, connected
from petra.worker.transport import ClosedError

HOME_S: Final = 10.0
"""So long, on average, between two looks."""


class Servers:
    """Connects to the server whose turn it is."""

    def __init__(self, urls: Sequence[str], token: str, pool: str = "") -> None:
        self._home, self._token, self._pool = urls[0], token, pool
        self._urls = deque(urls)
        self._ready: Socket | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The server whose turn it is."""
        return self._home if self._ready is not None else self._urls[0]

    async def connect(self) -> Socket:
        """Connect to it, or take the connection that leads home again.

        Raises:
            ClosedError: it will not have us, and asking again is no use.
            LostError: it cannot be reached now.
        """
        self.close()
        socket, self._ready = self._ready, None
        if socket is not None:
            self._urls.rotate(-self._urls.index(self._home))
            return socket
        socket = await connected(self._urls[0], self._token, self._pool)
        if self._urls[0] != self._home:
            self._looking = asyncio.create_task(self._look_home(socket))
        return socket

    def left(self) -> None:
        """The one whose turn it was is away: it is the next one's."""
        self._urls.rotate(-1)

    def close(self) -> None:
        """Look no longer."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look_home(self, here: Socket) -> None:
        while self._ready is None:
            await asyncio.sleep(HOME_S * SystemRandom().uniform(0.75, 1.25))
            connecting = asyncio.ensure_future(connected(self._home, self._token, self._pool))
            try:
                self._ready = await asyncio.shield(connecting)
            except (LostError, ClosedError):
                continue
            except asyncio.CancelledError:  # a thread connects, and goes on with that
                connecting.add_done_callback(_close_unused)
                raise
        self._looking = None
        here.close()


def _close_unused(connecting: asyncio.Future[Socket]) -> None:
    """Let go of a connection that nobody waits for any more: the server would keep it for ever."""
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().close()
