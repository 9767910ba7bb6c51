"""Rows that were read and have not been written since, for the one process that writes them.

Rule 1: what is written is forgotten before its writer goes on: nobody who asks later gets what was before.
Rule 2: what was read while it was written is not kept, for nobody knows which of the two was seen.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

KEPT_MAX: Final = 1_000

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Remembers some rows by their keys."""

    def __init__(self, most: int = KEPT_MAX, *, shared: bool = False) -> None:
        """Make one for so many rows, of which those stay that were asked for last; of what others write, for none."""
        self._most = 0 if shared else most
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._reading: dict[K, object] = {}

    async def get(self, key: K, read: Callable[[], Awaitable[V | None]]) -> V | None:
        """Return a row, read if need be; that there is none is not remembered."""
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known
        mark = self._reading[key] = object()
        try:
            value = await read()
        finally:
            unchanged = self._reading.get(key) is mark
            if unchanged:
                del self._reading[key]
        if unchanged and value is not None:
            self._kept[key] = value
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return value

    @contextmanager
    def changing(self, *keys: K) -> Iterator[None]:
        """Have rows written, those of some keys, or any at all; whatever comes of it, they are read anew."""
        try:
            yield
        finally:
            if not keys:
                self._kept.clear()
                self._reading.clear()
            for key in keys:
                self._kept.pop(key, None)
                self._reading.pop(key, None)
