"""Cutting a long list that is JSON somewhere into pieces, without having it in memory as a whole (S18).

Text comes in blocks, of any size; what comes out are pieces, as JSON lists, with the number of their items. What lies
on the way to the list is read and passed over.
"""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from typing import Any, Final

from petra.errors import UnreadableError
from petra.kernel.lists import PIECE_BYTES
from petra.objects import ObjectStore
from petra.references import Reference, read_reference

_DECODE: Final = json.JSONDecoder().raw_decode
_AFTER: Final = frozenset(",:]} \t\r\n")
_SPACE: Final = re.compile(r"[ \t\r\n]*")


class Cutter:
    """Takes the text of a JSON value and gives the pieces of the list that a path in it leads to."""

    def __init__(self, path: Sequence[str | int], most: int) -> None:
        """Make one; a piece has at most ``most`` bytes, or one item."""
        self._path = list(path)
        self._most = most
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0
        self._is_last = False
        self._items: list[str] = []
        self._size = 0
        self._steps = self._run()
        self._over = False

    def feed(self, block: bytes) -> list[tuple[int, bytes]]:
        """Take a block; return the pieces that are whole now."""
        if self._over:
            return []
        self._text = self._text[self._at :] + self._decoder.decode(block)
        self._at = 0
        return self._pieces()

    def end(self) -> list[tuple[int, bytes]]:
        """Say that this was all; return the last pieces.

        Raises:
            UnreadableError: there is no list at the end of the path, or this is no JSON.
        """
        self._is_last = True
        pieces = [] if self._over else self._pieces()
        if not self._over:
            raise UnreadableError("parse", "the text ends before the list does")
        return pieces

    def _pieces(self) -> list[tuple[int, bytes]]:
        pieces = []
        while not self._over:
            try:
                piece = next(self._steps)
            except StopIteration:
                self._over = True
                break
            if piece is None:  # there is no more to be had from this text
                break
            pieces.append(piece)
        return pieces

    def _run(self) -> Generator[tuple[int, bytes] | None, None, None]:
        """Go through the text; None asks for more of it."""
        for part in self._path:
            yield from self._enter(part)
        yield from self._await("[")
        first = True
        while True:
            char = yield from self._next()
            if char == "]":
                break
            if not first and char == ",":
                self._at += 1
            first = False
            start, end = yield from self._value()
            piece = self._add(self._text[start:end])
            if piece is not None:
                yield piece
        if self._items:
            yield self._piece()

    def _add(self, item: str) -> tuple[int, bytes] | None:
        size = len(item) + 1 if item.isascii() else len(item.encode()) + 1
        piece = self._piece() if self._items and self._size + size > self._most else None
        self._items.append(item)
        self._size += size
        return piece

    def _piece(self) -> tuple[int, bytes]:
        piece = len(self._items), f"[{','.join(self._items)}]".encode()
        self._items, self._size = [], 0
        return piece

    def _enter(self, part: str | int) -> Generator[None, None, None]:
        """Go to a part of the value that comes next."""
        yield from self._await("{" if isinstance(part, str) else "[")
        number = 0
        while True:
            char = yield from self._next()
            if char in "]}":
                raise UnreadableError("not_found", f"there is nothing at {part!r}")
            if char == ",":
                self._at += 1
            key: str | int = number
            if isinstance(part, str):
                start, end = yield from self._value()
                key = json.loads(self._text[start:end])
                yield from self._await(":")
            if key == part:
                return
            yield from self._value()
            number += 1

    def _await(self, char: str) -> Generator[None, None, None]:
        sign = yield from self._next()
        if sign != char:
            raise UnreadableError("transform", "it is not a list")
        self._at += 1

    def _next(self) -> Generator[None, None, str]:
        """Return the next character that is no white space."""
        while True:
            match = _SPACE.match(self._text, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if self._is_last:
                raise UnreadableError("parse", "the text ends before the list does")
            yield None

    def _value(self) -> Generator[None, None, tuple[int, int]]:
        """Pass over one value; return where it begins and ends."""
        yield from self._next()
        while True:
            try:
                _, end = _DECODE(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_last:
                    raise UnreadableError("parse", f"this is no JSON: {error}") from error
            except RecursionError as error:
                raise UnreadableError("limit", "it is nested too deeply") from error
            else:
                # "1" may be the beginning of "1.5": what comes after it tells
                if self._is_last or self._text[end : end + 1] in _AFTER:
                    start, self._at = self._at, end
                    return start, end
            yield None


async def cut_object(
    objects: ObjectStore,
    execution: str,
    reference: dict[str, Any],
    keep: Callable[[str, bytes], Awaitable[None]],
) -> list[tuple[int, dict[str, Any]]]:
    """Cut a list that is an object into pieces of an execution; ``keep`` takes the key and the content of each.

    Raises:
        UnreadableError: it cannot be had, or is no list.
    """
    whole = read_reference({**reference, "path": []})
    await objects.check(whole)
    cutter = Cutter(reference.get("path", ()), PIECE_BYTES)
    pieces: list[tuple[int, dict[str, Any]]] = []

    async def take(cut: Iterable[tuple[int, bytes]]) -> None:
        for count, content in cut:
            checksum = hashlib.sha256(content).hexdigest()
            key = f"{execution}/{checksum}.json"
            await keep(key, content)
            piece = Reference(store=objects.name, key=key, checksum=checksum, size=len(content))
            pieces.append((count, piece.as_data()))

    async for block in objects.blocks(whole):
        await take(await asyncio.to_thread(cutter.feed, block))
    await take(cutter.end())
    return pieces
