"""An entry of an outline, and how its words are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Entry:
    """A key with what stands under it, an item of a list, or words that are neither yet (``bare``)."""

    key: str | None
    start: int
    end: int
    level: int
    parent: Entry | None = None
    bare: bool = False
    value: str = ""
    value_start: int = -1
    value_end: int = -1
    style: str = ""
    """How the value is written: plain, quoted, block, flow; empty where there is none."""
    entries: list[Entry] = field(default_factory=list)

    @property
    def is_item(self) -> bool:
        """Whether it is an item of a list."""
        return self.key is None

    @property
    def ancestors(self) -> list[Entry]:
        """The entries around it and itself, from the outside; the document itself is not one."""
        entries: list[Entry] = []
        entry: Entry | None = self
        while entry is not None and entry.parent is not None:
            entries.append(entry)
            entry = entry.parent
        return entries[::-1]

    def find(self, key: str) -> Entry | None:
        """Return the entry under a key."""
        return next((entry for entry in self.entries if entry.key == key and not entry.bare), None)

    def text(self, key: str) -> str:
        """Return the scalar under a key; empty where there is none."""
        entry = self.find(key)
        return entry.value if entry is not None else ""

    def walk(self) -> Iterator[Entry]:
        """Yield every entry inside, in the order of the text."""
        waiting = [*reversed(self.entries)]
        while waiting:
            entry = waiting.pop()
            yield entry
            waiting += reversed(entry.entries)


def match_end(pattern: re.Pattern[str], text: str, at: int, end: int) -> int:
    """Return where a pattern that begins here ends; here, where it does not match."""
    match = pattern.match(text, at, end)
    return match.end() if match is not None else at


def bare_words(written: str) -> str:
    """Return a scalar without its quotes; escapes stay as they are written."""
    if written[:1] in ("'", '"') and written:
        inner = written[1:-1] if len(written) > 1 and written[-1] == written[0] else written[1:]
        return inner.replace("''", "'") if written[0] == "'" else inner
    return written
