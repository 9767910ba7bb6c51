"""Brackets in an outline: what stands in ``{}`` and ``[]``, closed or not, without recursion."""

from __future__ import annotations

import re

from petra.editor.entry import Entry, bare_words, match_end

_INDENT = re.compile(r"[ \t]*")
_FLOW_WORD = re.compile(r"(?:\{\{[^\n]*?\}\}|\{%[^\n]*?%\}|:(?![\s,\[\]{}]|$)|[^,:\[\]{}\n#]|(?<!\s)#)+", re.MULTILINE)  # fmt: skip


class Brackets:
    """Reads brackets, line by line."""

    def __init__(self, text: str, entry: Entry, at: int) -> None:
        self.text = text
        self.at = at
        self.done = False
        self.open: list[tuple[Entry, str]] = []
        self.waiting: Entry | None = entry

    def read(self, stop: int) -> bool:
        """Go on up to ``stop``, or to the end of the outermost bracket; whether that was reached."""
        while self.at < stop and not self.done:
            sign = self.text[self.at]
            if sign in "{[" and not self.text.startswith(("{{", "{%"), self.at):
                self._enter(sign)
            elif sign in "}]":
                self._leave(sign)
            elif sign == "#":
                self.at = stop
            elif sign in " \t\r,:":
                if sign == "," and self.open:
                    self.waiting = None
                self.at += 1
            else:
                self._word(stop)
        return self.done

    def _enter(self, sign: str) -> None:
        holder = self.waiting if self.waiting is not None else self._item(self.at)
        holder.style = "flow"
        holder.value_start = self.at
        self.open.append((holder, sign))
        self.waiting = None
        self.at += 1

    def _leave(self, sign: str) -> None:
        opening = "{" if sign == "}" else "["
        self.at += 1
        while self.open:
            holder, opened = self.open.pop()
            holder.value_end = self.at
            if opened == opening:
                break
        self.waiting = None
        self.done = not self.open

    def _word(self, stop: int) -> None:
        start = self.at
        quoted = self.text[start] in "\"'"
        end = self._quote_end(start, stop) if quoted else self._word_end(start, stop)
        self.at = end
        word = bare_words(self.text[start:end]) if quoted else self.text[start:end]
        if self.waiting is not None:
            entry, self.waiting = self.waiting, None
            entry.value, entry.value_start, entry.value_end = word, start, end
            entry.style = "quoted" if quoted else "plain"
        elif self.open and self.open[-1][1] == "{":
            self._key(word, start, end, stop)
        else:
            item = self._item(start)
            item.value, item.value_start, item.value_end = word, start, end
            item.style = "quoted" if quoted else "plain"

    def _key(self, word: str, start: int, end: int, stop: int) -> None:
        after = match_end(_INDENT, self.text, end, stop)
        is_key = after < stop and self.text[after] == ":"
        parent = self.open[-1][0]
        entry = Entry(word, start, end, parent.level + 1, parent, bare=not is_key)
        parent.entries.append(entry)
        if is_key:
            entry.value_start = entry.value_end = self.at = after + 1
            self.waiting = entry

    def _item(self, at: int) -> Entry:
        parent = self.open[-1][0]
        item = Entry(None, at, at, parent.level + 1, parent)
        parent.entries.append(item)
        return item

    def _quote_end(self, start: int, stop: int) -> int:
        sign = self.text[start]
        at = start + 1
        while at < stop:
            if self.text[at] == "\\" and sign == '"':
                at += 1
            elif self.text[at] == sign:
                if sign == "'" and self.text.startswith("''", at):
                    at += 1
                else:
                    return at + 1
            at += 1
        return stop

    def _word_end(self, start: int, stop: int) -> int:
        word = _FLOW_WORD.match(self.text, start, stop)
        if word is None:
            return start + 1
        return start + max(1, len(word[0].rstrip()))
