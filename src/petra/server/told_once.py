"""Bytes that many readers get are made once: of those who ask at the same time one makes them, and the last ones are kept for whoever comes next."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

KEPT_MAX: Final = 256
KEPT_BYTES: Final = 32 * 1024
"""What is larger is not kept."""


class ToldOnce:
    """Keeps what was made, by what it says."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._making: dict[Hashable, asyncio.Task[bytes]] = {}

    def known(self, key: Hashable) -> bytes | None:
        """Return what is said under a key, if it is kept."""
        return self._kept.get(key)

    def keep(self, key: Hashable, body: bytes) -> bytes:
        """Keep what was made for whoever comes next; return it."""
        if len(body) <= KEPT_BYTES:
            self._kept[key] = body
            while len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return body

    async def made(self, key: Hashable, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return what is made under a key by one for all who wait for it; it is seen through, whoever waits no more."""
        making = self._making.get(key)
        if making is None:
            making = self._making[key] = asyncio.create_task(self._make(key, make))
        return await asyncio.shield(making)

    async def _make(self, key: Hashable, make: Callable[[], Awaitable[bytes]]) -> bytes:
        try:
            return self.keep(key, await make())
        finally:
            del self._making[key]
