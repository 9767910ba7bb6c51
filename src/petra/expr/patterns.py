r"""Regular expressions whose work is bounded: all ways through a pattern are followed side by side, one character at a time.

A pattern that tries one way after the other, as Python's ``re`` does, can take longer than the age of the universe on
thirty characters, and nothing can stop it. Here a text of n characters and a pattern of m parts take n · m steps at most
(Thompson, Pike), each paid for from the fuel. Which match is found is the same: the leftmost, then by the order of writing.

Rule 1: known are literals, ``.``, classes, ``\d \w \s \b``, ``^ $``, groups, ``|`` and ``* + ? {m,n}``, also lazy (``*?``).
Rule 2: backreferences and looking around need another machine, and are refused by name.
Rule 3: a pattern that has nothing to give back (``[^a-z]``, ``\\s+``, ``foo|bar``) is left to ``re``: one way after the other is then no
more work than all at once, and a good deal faster.
Rule 4: single characters are asked of ``re``, by classes this module has written itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from petra.errors import ExpressionError
from petra.expr.frame import Frame
from petra.expr.pattern_tree import Node, Parser, first_of, is_steady, least_of

SOURCE_MAX: Final = 1_000
"""Characters of a pattern."""
PROGRAM_MAX: Final = 2_000
"""Steps that a pattern is compiled to; repetitions such as ``{100}`` are written out."""
_KNOWN_CHARS: Final = 4_096

# What a step of a program does: take a character, go two ways, go elsewhere, note the place, ask about it, end.
_CHAR, _SPLIT, _JUMP, _SAVE, _ASSERT, _MATCH = range(6)

_Step = tuple[int, int, int]
Spans = tuple[int, ...]
"""Where the match, then each group, begins and ends; -1 where a group took no part."""


class Pattern:
    """A compiled pattern."""

    def __init__(self, source: str, *, ignore_case: bool, many_lines: bool) -> None:
        parser = Parser(source)
        tree = parser.whole()
        self.groups = parser.groups
        self._flags = re.IGNORECASE if ignore_case else 0
        self.least = least_of(tree)
        lines = re.MULTILINE if many_lines else 0
        self.steady = re.compile(source, self._flags | lines) if is_steady(tree) else None
        self._many_lines = many_lines
        self._steps: list[_Step] = []
        self._chars: list[re.Pattern[str]] = []
        self._known: list[dict[str, bool]] = []
        self._asserts: list[str] = []
        self._emit(Node("group", parts=(tree,), group=0), whole=True)
        self._add(_MATCH)
        first = first_of(tree)
        self._first = (
            None
            if first is None
            else re.compile("|".join(sorted(first)) or r"[^\d\D]", self._flags)
        )

    def find(self, frame: Frame, text: str, start: int, *, but: int = -1) -> Spans | None:
        """Return the first match from a place on, other than the empty one at ``but``."""
        best: Spans | None = None
        live: list[tuple[int, Spans]] = []
        seen: set[int] = set()
        nothing = (-1,) * (2 * self.groups + 2)
        position, end = start, len(text)
        while position <= end and (live or best is None):
            if not live:
                position = self._ahead(frame, text, position)
                if position > end:
                    break
            if best is None:
                self._follow(text, position, 0, nothing, live, seen)
            frame.spend(2 + 4 * len(seen))
            following: list[tuple[int, Spans]] = []
            reached: set[int] = set()
            for step, spans in live:
                if self._steps[step][0] != _MATCH:
                    if position < end and self._takes(step, text[position]):
                        self._follow(text, position + 1, step + 1, spans, following, reached)
                elif not position == but == spans[0]:
                    best = spans
                    break
            live, seen = following, reached
            position += 1
        return best

    def _ahead(self, frame: Frame, text: str, position: int) -> int:
        """Return the next place where a match may begin, or one behind the end."""
        if self._first is None:
            return position
        match = self._first.search(text, position)
        place = len(text) + 1 if match is None else match.start()
        frame.spend_text(place - position)
        return place

    def _follow(  # noqa: PLR0913, PLR0917 - one way through the pattern, and where it goes
        self, text: str, position: int, step: int, spans: Spans, live: list[tuple[int, Spans]], seen: set[int]
    ) -> None:  # fmt: skip
        """Go on from a step until a character is needed, the preferred way first."""
        waiting = [(step, spans)]
        while waiting:
            step, spans = waiting.pop()
            if step in seen:
                continue
            seen.add(step)
            kind, one, two = self._steps[step]
            if kind == _SPLIT:
                waiting += ((two, spans), (one, spans))
            elif kind == _JUMP:
                waiting.append((one, spans))
            elif kind == _SAVE:
                waiting.append((step + 1, (*spans[:one], position, *spans[one + 1 :])))
            elif kind == _ASSERT:
                if self._holds(self._asserts[one], text, position):
                    waiting.append((step + 1, spans))
            else:
                live.append((step, spans))

    def _takes(self, step: int, char: str) -> bool:
        number = self._steps[step][1]
        known = self._known[number]
        fits = known.get(char)
        if fits is None:
            fits = self._chars[number].match(char) is not None
            if len(known) < _KNOWN_CHARS:
                known[char] = fits
        return fits

    def _holds(self, what: str, text: str, position: int) -> bool:
        end = len(text)
        if what in "^A":
            lines = what == "^" and self._many_lines
            return position == 0 or (lines and text[position - 1] == "\n")
        if what == "Z":
            return position == end
        if what == "$":
            last = position == end or (position == end - 1 and text[position] == "\n")
            return last or (self._many_lines and text[position] == "\n")
        before = position > 0 and _is_word(text[position - 1])
        after = position < end and _is_word(text[position])
        return (before != after) == (what == "b")

    # Compiling

    def _add(self, kind: int, one: int = 0, two: int = 0) -> int:
        if len(self._steps) >= PROGRAM_MAX:
            raise ExpressionError("the pattern is too large; repeat less", kind="limit")
        self._steps.append((kind, one, two))
        return len(self._steps) - 1

    def _emit(self, node: Node, *, whole: bool = False) -> None:
        match node.kind:
            case "char":
                self._add(_CHAR, len(self._chars))
                self._chars.append(re.compile(node.text, self._flags))
                self._known.append({})
            case "assert":
                self._add(_ASSERT, len(self._asserts))
                self._asserts.append(node.text)
            case "sequence":
                for part in node.parts:
                    self._emit(part)
            case "group":
                if node.group or whole:
                    self._add(_SAVE, 2 * node.group)
                self._emit(node.parts[0])
                if node.group or whole:
                    self._add(_SAVE, 2 * node.group + 1)
            case "choice":
                self._emit_choice(node)
            case _:
                self._emit_repeat(node)

    def _emit_choice(self, node: Node) -> None:
        jumps = []
        for option in node.parts[:-1]:
            split = self._add(_SPLIT)
            self._emit(option)
            jumps.append(self._add(_JUMP))
            self._steps[split] = (_SPLIT, split + 1, len(self._steps))
        self._emit(node.parts[-1])
        for jump in jumps:
            self._steps[jump] = (_JUMP, len(self._steps), 0)

    def _emit_repeat(self, node: Node) -> None:
        inner = node.parts[0]
        for _ in range(node.least):
            self._emit(inner)
        if node.most is None:
            split = self._add(_SPLIT)
            self._emit(inner)
            self._add(_JUMP, split)
            self._branch([split], lazy=node.lazy)
            return
        splits = []
        for _ in range(node.most - node.least):
            splits.append(self._add(_SPLIT))
            self._emit(inner)
        self._branch(splits, lazy=node.lazy)

    def _branch(self, splits: list[int], *, lazy: bool) -> None:
        """Lead splits into what follows them, or past all of it; the first is preferred."""
        end = len(self._steps)
        for split in splits:
            ways = (end, split + 1) if lazy else (split + 1, end)
            self._steps[split] = (_SPLIT, *ways)


@lru_cache(maxsize=4096)
def _is_word(char: str) -> bool:
    return re.match(r"\w", char) is not None


@lru_cache(maxsize=512)
def compiled(source: str, *, ignore_case: bool = False, many_lines: bool = False) -> Pattern:
    """Compile a pattern; the last few hundred are remembered.

    Raises:
        ExpressionError: it is none, or too large.
    """
    if len(source) > SOURCE_MAX:
        message = f"the pattern has more than {SOURCE_MAX:,} characters"
        raise ExpressionError(message, kind="limit")
    return Pattern(source, ignore_case=ignore_case, many_lines=many_lines)
