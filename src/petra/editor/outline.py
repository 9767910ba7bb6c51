"""The outline of a text that may be no YAML yet: entries by their indentation and their brackets.

The reader of playbooks says exactly what is wrong with a text, and gives up where it is no YAML. Somebody who
types needs an answer in the middle of a word. So this makes the best of any text, in one pass over its
lines, and never fails. Where a text is YAML, the outline has the keys and values that YAML has; the tests
hold the two against each other.
"""

from __future__ import annotations

import re

from petra.editor.brackets import Brackets
from petra.editor.entry import Entry, bare_words, match_end

_INDENT = re.compile(r"[ \t]*")
_DASH = re.compile(r"-(?:[ \t]+|$)")
_QUOTED_KEY = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')[ \t]*:(?=\s|$)")
_PLAIN_KEY = re.compile(r"([^\s\"'\[\]{}#|>,&*!%@`][^\n]*?)[ \t]*:(?=\s|$)")
_PROPERTY = re.compile(r"[&!][^\s,\[\]{}]*[ \t]*")
_BLOCK = re.compile(r"[|>][-+0-9]*[ \t]*(?:#[^\n]*)?$")
_COMMENT = re.compile(r"(?:^|[ \t])#")
_MARKERS = ("---", "...")


def outline(text: str) -> Entry:
    """Return the outline of a text: an entry for the document, with all others in it."""
    # as many characters as before, so that places stay what they are
    return _Outliner(text.replace("\r\n", " \n").replace("\r", "\n")).read()


class _Outliner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.root = Entry(None, 0, 0, -1)
        self.open: list[Entry] = [self.root]

    def read(self) -> Entry:
        position = 0
        while position < len(self.text):
            position = self._line(position)
        return self.root

    def _line(self, start: int) -> int:
        """Read one line, or as many as its value takes; where the next begins."""
        end = self._line_end(start)
        indent = match_end(_INDENT, self.text, start, end)
        at = indent
        if at == end or self.text[at] == "#" or self.text.startswith(_MARKERS, start):
            return end + 1
        item: Entry | None = None
        while dash := _DASH.match(self.text, at, end):
            item = self._push(Entry(None, at, at + 1, 2 * (at - start) + 1))
            at = dash.end()
        if at == end or self.text[at] == "#":
            return end + 1
        column = at - start
        key = _QUOTED_KEY.match(self.text, at, end) or _PLAIN_KEY.match(self.text, at, end)
        if key is not None and not _COMMENT.search(key[1]):
            entry = self._push(Entry(bare_words(key[1]), at, key.end(1), 2 * column))
            return self._value(entry, key.end(), end, column)
        if item is not None:
            return self._value(item, at, end, column - 1)
        if self.text[at] in "{[" and not self.text.startswith(("{{", "{%"), at):
            return self._flow(self.open[-1], at, column - 1)
        words = self._plain_end(at, end)
        self._push(Entry(self.text[at:words], at, words, 2 * column, bare=True))
        return end + 1

    def _push(self, entry: Entry) -> Entry:
        while self.open[-1].level >= entry.level:
            self.open.pop()
        entry.parent = self.open[-1]
        entry.parent.entries.append(entry)
        self.open.append(entry)
        return entry

    # Values

    def _value(self, entry: Entry, at: int, end: int, column: int) -> int:
        """Read what stands behind a key or a dash; where the next line begins."""
        at = match_end(_INDENT, self.text, at, end)
        while match := _PROPERTY.match(self.text, at, end):
            at = match.end()
        if at >= end or self.text[at] == "#":
            entry.value_start = entry.value_end = at
            return end + 1
        if _BLOCK.match(self.text, at, end):
            return self._block(entry, end + 1, column)
        sign = self.text[at]
        if sign in "\"'":
            return self._quoted(entry, at, end, column)
        if sign in "{[" and not self.text.startswith(("{{", "{%"), at):
            return self._flow(entry, at, column)
        self._set(entry, at, self._plain_end(at, end), "plain")
        return end + 1

    def _set(self, entry: Entry, start: int, end: int, style: str) -> None:
        entry.value_start, entry.value_end, entry.style = start, end, style
        entry.value = bare_words(self.text[start:end]) if style == "quoted" else self.text[start:end]  # fmt: skip

    def _block(self, entry: Entry, start: int, column: int) -> int:
        at = start
        while at < len(self.text) and not self._is_outside(at, column):
            at = self._line_end(at) + 1
        self._set(entry, min(start, len(self.text)), min(at, len(self.text)), "block")
        return at

    def _quoted(self, entry: Entry, at: int, end: int, column: int) -> int:
        """Read a value in quotes; one that is never closed ends with its line."""
        begin, sign = at, self.text[at]
        at, stop = at + 1, end
        while at < len(self.text):
            if at >= stop:
                if self._is_outside(stop + 1, column) or stop >= len(self.text):
                    break
                stop = self._line_end(stop + 1)
            if self.text[at] == "\\" and sign == '"':
                at += 2
            elif self.text[at] == sign:
                if sign == "'" and self.text.startswith("''", at):
                    at += 2
                    continue
                self._set(entry, begin, at + 1, "quoted")
                return self._line_end(at) + 1
            else:
                at += 1
        self._set(entry, begin, end, "quoted")
        return end + 1

    def _plain_end(self, at: int, end: int) -> int:
        comment = _COMMENT.search(self.text, at, end)
        stop = comment.start() if comment is not None else end
        return at + len(self.text[at:stop].rstrip())

    # Brackets

    def _flow(self, entry: Entry, at: int, column: int) -> int:
        """Read what stands in brackets, up to the closing one or a line that cannot belong to it."""
        flow = Brackets(self.text, entry, at)
        while True:
            stop = self._line_end(flow.at)
            if flow.read(stop) or stop >= len(self.text):
                break
            if self._is_outside(stop + 1, column, closing=True):
                break
            flow.at = stop + 1
        entry.value_start, entry.value_end, entry.style = at, flow.at, "flow"
        return self._line_end(flow.at) + 1

    def _is_outside(self, start: int, column: int, *, closing: bool = False) -> bool:
        """Tell whether a line is indented too little to belong to a value of that column."""
        end = self._line_end(start)
        at = match_end(_INDENT, self.text, start, end)
        if at >= end:
            return False
        return at - start <= column and not (closing and self.text[at] in "]}")

    def _line_end(self, at: int) -> int:
        newline = self.text.find("\n", at)
        return newline if newline >= 0 else len(self.text)
