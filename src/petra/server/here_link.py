"""A worker that engines share, as the engine in this process has it: what is said goes from hand to hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from petra.wire.frames import AnyFrame

AHEAD_MAX: Final = 16
"""Frames for the engine that it has not taken; then the worker has to wait."""


class HereLink:
    """The engine's end of it."""

    def __init__(self, said: Callable[[AnyFrame], None]) -> None:
        self._said = said
        self._ahead: list[AnyFrame] = []
        self._some, self._room = asyncio.Event(), asyncio.Event()

    def send(self, frame: AnyFrame) -> None:
        """Take what the engine says."""
        self._said(frame)

    def put(self, frame: AnyFrame) -> None:
        """Tell the engine something."""
        self._ahead.append(frame)
        self._some.set()

    async def room(self) -> None:
        """Wait until the engine has taken what it was told, if that is much."""
        while len(self._ahead) > AHEAD_MAX:
            self._room.clear()
            await self._room.wait()

    async def receive(self) -> list[AnyFrame]:
        """Return what the engine has not heard yet."""
        while not self._ahead:
            self._some.clear()
            await self._some.wait()
        ahead, self._ahead = self._ahead, []
        self._room.set()
        return ahead
