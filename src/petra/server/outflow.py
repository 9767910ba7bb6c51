"""What goes out to one reader of a stream: parts as they come, those that came together in one piece.

Rule 1: nothing is made ahead of a reader that does not read: beyond so many parts, who makes them waits.
Rule 2: a comment goes out at regular times, whatever else does: nobody in between hangs up, and who reads knows when to wonder.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

QUIET_S: Final = 15.0
"""So often a comment is sent."""
QUIET: Final = b": still here\n\n"
AHEAD_MAX: Final = 16


class Outflow:
    """The parts of a stream that wait to be sent."""

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._waiting: list[bytes] = []
        self._over = False
        self._woken: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._filling = asyncio.create_task(self._fill(parts))
        self._filling.add_done_callback(self._wake)
        self._ticking = self._loop.call_later(QUIET_S, self._tick)

    async def _fill(self, parts: AsyncIterator[bytes]) -> None:
        try:
            async for part in parts:
                self._waiting.append(part)
                self._wake()
                while len(self._waiting) >= AHEAD_MAX:
                    self._room = self._loop.create_future()
                    await self._room
        finally:
            await parts.aclose()  # type: ignore[attr-defined]

    def _wake(self, _: object = None) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def _tick(self) -> None:
        if not self._waiting:  # else something goes out now, or the reader does not read
            self._waiting.append(QUIET)
            self._wake()
        self._ticking = self._loop.call_later(QUIET_S, self._tick)

    def end(self, _: object = None) -> None:
        """Have no more sent."""
        self._over = True
        self._wake()

    async def next(self) -> bytes:
        """Return what waits, once something does; nothing where there will be no more.

        Raises:
            Exception: what those who made the parts met.
        """
        while not (self._waiting or self._over or self._filling.done()):
            self._woken = self._loop.create_future()
            await self._woken
        if self._over:
            return b""
        if not self._waiting:
            self._filling.result()
            return b""
        piece = b"".join(self._waiting)
        self._waiting.clear()
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        return piece

    @property
    def is_over(self) -> bool:
        """Whether it was ended before there were no more parts."""
        return self._over

    async def close(self) -> None:
        """End it, and who makes the parts."""
        self._ticking.cancel()
        self._filling.cancel()
        await asyncio.wait({self._filling})
