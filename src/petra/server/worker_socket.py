"""A worker elsewhere, as the engine sees it: a connection over a WebSocket, one frame in each binary message.

Rule 1: the engine never waits for a worker: what it sends is queued, and a worker that does not read is cut off.
Rule 2: a connection that breaks costs nothing yet: the worker may come back with another one while its leases last.
Rule 3: a worker that breaks the protocol is dropped, and what it had is handed out again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from litestar import WebSocket
from litestar.exceptions import WebSocketDisconnect

from petra.engine.workers import Bounds, HeardLink
from petra.wire.connection import LostError, NonsenseError
from petra.wire.frames import MAX_FRAME, AnyFrame, FrameError, decode, encode

UNREAD_MAX: Final = 2 * MAX_FRAME
"""Bytes that may wait for a worker to read them."""
UNREAD: Final = "it does not read what it is sent"
OVER: Final = "its token is over"
NORMAL: Final = 1000
BROKEN: Final = 1008
"""Codes with which a WebSocket is closed: in order, or since the other side broke the rules."""

AnySocket = WebSocket[Any, Any, Any]


class WorkerSocket:
    """The engine's end of a connection to a worker."""

    def __init__(self, socket: AnySocket) -> None:
        self._socket = socket
        self._queue: deque[bytes] = deque()
        self._unread = 0
        self._some = asyncio.Event()
        self.executions: Callable[[], set[str]] = set
        """Which executions it has runs of."""
        self.overrun = False
        """It does not read what it is sent."""

    def send(self, frame: AnyFrame) -> None:
        """Send a frame, in order, without waiting."""
        raw = encode(frame)
        self._unread += len(raw)
        self.overrun = self.overrun or self._unread > UNREAD_MAX
        if not self.overrun:
            self._queue.append(raw)
        self._some.set()

    async def write(self) -> None:
        """Send what is queued, until the worker does not read any more."""
        while not self.overrun:
            while self._queue and not self.overrun:
                raw = self._queue.popleft()
                await self._socket.send_data(raw, mode="binary")
                self._unread -= len(raw)
            self._some.clear()
            if not self._queue and not self.overrun:
                await self._some.wait()

    async def close(self, why: str) -> None:
        """End the connection, and say why."""
        with contextlib.suppress(Exception):  # it is gone already
            await self._socket.close(code=BROKEN if why else NORMAL, reason=why[:100])

    async def receive(self) -> list[AnyFrame]:
        """Return the next frame.

        Raises:
            LostError: the worker is gone.
            NonsenseError: it says what is no frame.
        """
        try:
            raw = await self._socket.receive_data(mode="binary")
            return [decode(raw if isinstance(raw, bytes) else raw.encode())]
        except FrameError as error:
            raise NonsenseError(str(error)) from None
        except (WebSocketDisconnect, OSError) as error:
            raise LostError(str(error)) from None


class Hears(Protocol):
    """Who takes what a worker says: an engine, or several."""

    async def converse(self, link: HeardLink, *, bounds: Bounds) -> str:
        """Take it until the connection is gone; return how the worker broke the protocol, if it did."""

    def ended(self, link: HeardLink, why: str) -> None:
        """There is no connection any more, and why, if the worker broke the protocol."""


async def talk(
    hears: Hears, worker: WorkerSocket, bounds: Bounds, over: asyncio.Future[None]
) -> None:
    """Let a worker talk until its connection or its token is ``over``; ``bounds`` are what it may do."""
    hearing = asyncio.create_task(hears.converse(worker, bounds=bounds))
    writing = asyncio.create_task(worker.write())
    why = ""
    try:
        either: set[asyncio.Future[Any]] = {hearing, writing, over}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            why = OVER
        else:
            why = UNREAD if worker.overrun else await hearing if hearing.done() else ""
    finally:
        for task in (hearing, writing):
            task.cancel()
        await asyncio.gather(hearing, writing, return_exceptions=True)
        hears.ended(worker, why)  # however it came: else it would be given runs for ever
    await worker.close(why)
