"""Places as editors count them: lines from 0, and columns in units of their encoding."""

from __future__ import annotations

import re
from bisect import bisect_right

_LINE_END = re.compile("\r\n|\n|\r")
_UNITS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
_CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


class Positions:
    """Turns offsets of a text into lines and columns, and back; a place outside is the nearest inside."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self._text = text
        self._codec = _CODECS.get(encoding, "utf-16-le")
        self._unit = _UNITS.get(encoding, 2)
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def offset(self, line: int, character: int) -> int:
        """Return the offset of a place."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self._text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._text)
        words = self._text[start:end].rstrip("\r\n")
        if words.isascii():
            return start + max(0, min(character, len(words)))
        raw = words.encode(self._codec, "surrogatepass")[: max(0, character) * self._unit]
        return start + len(raw.decode(self._codec, "ignore"))

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset."""
        offset = max(0, min(offset, len(self._text)))
        line = bisect_right(self._starts, offset) - 1
        words = self._text[self._starts[line] : offset]
        if words.isascii():
            return line, len(words)
        return line, len(words.encode(self._codec, "surrogatepass")) // self._unit
