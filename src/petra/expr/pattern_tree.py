"""The grammar of patterns: text to tree. What a pattern does with a text is in ``petra.expr.patterns``."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from petra.errors import ExpressionError

NESTED_MAX: Final = 30
_REPEAT_MAX: Final = 1_000
_COUNTS: Final = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}")
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_CLASSES: Final = frozenset("dDwWsS")
_ASSERTS: Final = frozenset("bBAZ")


class Node(NamedTuple):
    """A part of a pattern: a character class, an assertion, a sequence, a choice, a repetition, a group."""

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()
    least: int = 0
    most: int | None = None
    lazy: bool = False
    group: int = 0


def _fault(message: str, hint: str | None = None) -> ExpressionError:
    return ExpressionError(f"the pattern {message}", kind="type", hint=hint)


class Parser:
    """Reads a pattern."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._depth = 0
        self.groups = 0

    def whole(self) -> Node:
        """Read all of it."""
        node = self._choice()
        if self._at < len(self._source):
            raise _fault("closes a group that was not opened", "write \\) for the sign itself")
        return node

    def _peek(self) -> str:
        return self._source[self._at : self._at + 1]

    def _take(self) -> str:
        character = self._peek()
        if not character:
            raise _fault("ends in the middle")
        self._at += 1
        return character

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > NESTED_MAX:
            raise _fault(f"is nested more than {NESTED_MAX} levels deep")
        options = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            options.append(self._sequence())
        self._depth -= 1
        return options[0] if len(options) == 1 else Node("choice", parts=tuple(options))

    def _sequence(self) -> Node:
        parts = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return Node("sequence", parts=tuple(parts))

    def _repeated(self, node: Node) -> Node:
        counts = self._counts()
        if counts is None:
            return node
        if node.kind == "assert":
            raise _fault("repeats what takes no character")
        lazy = self._peek() == "?"
        self._at += lazy
        if self._peek() in ("*", "+") or self._counts() is not None:
            raise _fault("repeats a repetition", "put a group around the inner one: (a+)*")
        return Node("repeat", parts=(node,), least=counts[0], most=counts[1], lazy=lazy)

    def _counts(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._peek())
        if simple is not None:
            self._at += 1
            return simple
        match = _COUNTS.match(self._source, self._at)
        if match is None:
            return None
        self._at = match.end()
        least = int(match[1])
        most = least if match[2] is None else int(match[3]) if match[3] else None
        if least > _REPEAT_MAX or (most is not None and not least <= most <= _REPEAT_MAX):
            raise _fault(f"repeats {match[0]}: from low to high, at most {_REPEAT_MAX:,}")
        return least, most

    def _atom(self) -> Node:
        sign = self._take()
        if sign == "(":
            return self._group()
        if sign == "[":
            return Node("char", self._class())
        if sign == "\\":
            return self._escape(self._take())
        if sign in "*+?":
            raise _fault(f"has nothing to repeat before '{sign}'", f"write \\{sign} for the sign")
        if sign in "^$":
            return Node("assert", sign)
        return Node("char", r"[^\n]" if sign == "." else f"[{re.escape(sign)}]")

    def _group(self) -> Node:
        group = 0
        if self._peek() == "?":
            if self._source[self._at : self._at + 2] != "?:":
                hint = (
                    "groups are (…) and (?:…); there is no looking around, and flags are arguments"
                )
                raise _fault(f"has a group '({self._source[self._at : self._at + 3]}'", hint)
            self._at += 2
        else:
            self.groups += 1
            group = self.groups
        inner = self._choice()
        if self._peek() != ")":
            raise _fault("has a group that is not closed")
        self._at += 1
        return Node("group", parts=(inner,), group=group)

    def _escape(self, sign: str) -> Node:
        if sign in _ASSERTS:
            return Node("assert", sign)
        if sign.isdigit():
            raise _fault("refers back to a group", "only the replacement may say \\1")
        return Node("char", f"[{self._member(sign)}]")

    def _member(self, sign: str) -> str:
        """Return what an escape says, as ``re`` writes it in a class."""
        if sign in _CLASSES:
            return f"\\{sign}"
        if sign in _CONTROLS:
            return re.escape(_CONTROLS[sign])
        if sign.isalnum():
            raise _fault(f"has '\\{sign}', which means nothing here")
        return re.escape(sign)

    def _class(self) -> str:
        out = ["["]
        if self._peek() == "^":
            out.append(self._take())
        first = True
        while (sign := self._take()) != "]" or first:
            first = False
            low = self._member(self._take()) if sign == "\\" else re.escape(sign)
            ahead = self._source[self._at : self._at + 2]
            if ahead[:1] == "-" and ahead[1:] not in ("]", ""):
                self._at += 1
                sign = self._take()
                high = self._member(self._take()) if sign == "\\" else re.escape(sign)
                low = f"{low}-{high}"
            out.append(low)
        out.append("]")
        try:
            re.compile("".join(out))
        except re.error as error:
            raise _fault(f"has a class that is none: {error.msg}") from None
        return "".join(out)


def first_of(node: Node) -> frozenset[str] | None:
    """Return the classes that a match can begin with; None where it may be empty, or asks before it takes."""
    match node.kind:
        case "char":
            return frozenset({node.text})
        case "sequence":
            # What may be empty is left to the machine: None for all of it.
            return first_of(node.parts[0]) if node.parts else None
        case "group":
            return first_of(node.parts[0])
        case "choice":
            firsts = [first_of(part) for part in node.parts]
            known = [first for first in firsts if first is not None]
            return frozenset[str]().union(*known) if len(known) == len(firsts) else None
        case "repeat":
            return first_of(node.parts[0]) if node.least else None
        case _:
            return None


STEADY_MAX: Final = 64
"""Characters that a steady pattern may look at and then give up."""


def least_of(node: Node) -> int:
    """Return how many characters a match has at least."""
    match node.kind:
        case "char":
            return 1
        case "sequence" | "group":
            return sum(map(least_of, node.parts))
        case "choice":
            return min(map(least_of, node.parts))
        case "repeat":
            return node.least * least_of(node.parts[0])
        case _:
            return 0


def is_steady(tree: Node) -> bool:
    """Tell whether trying one way after the other takes a bounded number of steps for each character of any text.

    It does where nothing can be given back: characters in a row, and at the end of a way a repetition of one of them, which
    takes all it finds. What a way looks at and gives up is no more than what it needs at least.
    """
    return _ends_steadily(tree) and _given_up(tree) <= STEADY_MAX


def _ends_steadily(node: Node) -> bool:
    match node.kind:
        case "choice":
            return all(map(_ends_steadily, node.parts))
        case "group":
            return _ends_steadily(node.parts[0])
        case "sequence":
            *before, last = node.parts or (Node("sequence"),)
            return all(map(_is_fixed, before)) and (
                _is_fixed(last) or (bool(node.parts) and _ends_steadily(last))
            )
        case "repeat":
            return _is_one(node.parts[0])
        case _:
            return True


def _is_fixed(node: Node) -> bool:
    """Tell whether a part matches in one way only, and always as many characters."""
    if node.kind == "repeat":
        return node.least == node.most and _is_one(node.parts[0])
    return node.kind in ("char", "assert") or (
        node.kind in ("sequence", "group") and all(map(_is_fixed, node.parts))
    )


def _is_one(node: Node) -> bool:
    """Tell whether a part is a single character, however it is put into groups."""
    if node.kind in ("group", "sequence"):
        return len(node.parts) == 1 and _is_one(node.parts[0])
    return node.kind == "char"


def _given_up(node: Node) -> int:
    """Return how many characters all ways of a pattern together may look at in vain."""
    if node.kind == "choice":
        return sum(map(_given_up, node.parts))
    if node.kind in ("sequence", "group"):
        return sum(map(_given_up, node.parts))
    return least_of(node) if node.kind == "repeat" else 1
