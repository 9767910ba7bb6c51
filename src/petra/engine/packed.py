"""Rows that wait in memory, in order. All but the next ones are packed, for there may be as many of them as runs are out."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Sequence

import msgspec

from petra.store.rows import PendingRow

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[PendingRow]).decode


class PackedRows:
    """Rows that come a page at a time, and go from the front."""

    def __init__(self) -> None:
        self._next: deque[PendingRow] = deque()
        self._packed: deque[bytes] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, page: Sequence[PendingRow]) -> None:
        """Put rows behind the others."""
        if page:
            self._count += len(page)
            self._packed.append(zlib.compress(_encode(page), 1))

    def first(self, most: int) -> list[PendingRow]:
        """Return the first rows; they stay."""
        while len(self._next) < most and self._packed:
            self._next.extend(_decode(zlib.decompress(self._packed.popleft())))
        return [row for row, _ in zip(self._next, range(most), strict=False)]

    def drop(self, count: int) -> None:
        """Let the first rows go, which somebody has seen."""
        for _ in range(count):
            self._next.popleft()
        self._count -= count
