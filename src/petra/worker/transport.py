"""Transports: how frames get across. The frames are the same on all of them.

``send`` may be called from any thread and never blocks: the heart uses it. Whether frames arrive is seen from
the other end of the conversation, which ``receive`` reports as lost.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Protocol

from petra.errors import PetraError
from petra.wire.connection import LostError, NonsenseError
from petra.wire.frames import AnyFrame, FrameError, decode, encode


class ClosedError(PetraError):
    """There will be no further connection."""


class Transport(Protocol):
    """One connection."""

    def send(self, frame: AnyFrame) -> None:
        """Send a frame, in order; from any thread, without waiting."""

    async def receive(self) -> list[AnyFrame]:
        """Return the frames that have arrived, at least one.

        Raises:
            LostError: the connection is gone.
        """

    def close(self) -> None:
        """End the connection."""


class InProcess:
    """One end of a connection inside a process. Frames are encoded all the same: nothing is shared."""

    def __init__(self) -> None:
        self._arrived: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False
        self._peer: InProcess = self
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def send(self, frame: AnyFrame) -> None:
        """Send a frame; after the end it goes nowhere."""
        if not self._closed:
            self._peer._deliver(encode(frame))  # noqa: SLF001 - the other end of the same thing

    async def receive(self) -> list[AnyFrame]:
        """Return the frames that have arrived.

        Raises:
            LostError: the other end is closed, and everything it sent has been received.
        """
        while not self._arrived:
            if self._closed:
                raise LostError("the connection is closed")
            self._waiter = self._loop.create_future()
            await self._waiter
        frames = []
        while self._arrived:
            try:
                frames.append(decode(self._arrived.popleft()))
            except FrameError as error:
                raise NonsenseError(str(error)) from None
        return frames

    def close(self) -> None:
        """End the connection for both ends."""
        self._end()
        self._peer._end()  # noqa: SLF001

    def _end(self) -> None:
        self._closed = True
        self._notify()

    def _deliver(self, raw: bytes) -> None:
        self._arrived.append(raw)
        self._notify()

    def _notify(self) -> None:
        if threading.get_ident() == self._thread:
            self._wake()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def in_process() -> tuple[InProcess, InProcess]:
    """Return the two ends of a connection inside this loop."""
    engine_end, other = InProcess(), InProcess()
    engine_end._peer, other._peer = other, engine_end  # noqa: SLF001
    return engine_end, other
