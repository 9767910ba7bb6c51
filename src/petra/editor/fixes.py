"""Problems in an editor: how far each reaches, and the edits that mend it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from petra.editor.names import Text
from petra.playbook.problems import Problem, line_starts

_WORD = re.compile(r"[\w.$-]+")
_LINE = re.compile("[^\n\r\x85\u2028\u2029]*")
_NEAR = re.compile(r"\Adid you mean '([^']+)'\?")
_SAY = re.compile(r"\Asay '([\w.]+)'")
_WRITE = re.compile(r"\Awrite ([\"'].*[\"'])\Z", re.DOTALL)
_PLACEHOLDER = "…"


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the text that mends a problem."""

    title: str
    start: int
    end: int
    text: str


def extent(text: Text, problem: Problem, starts: Sequence[int]) -> tuple[int, int]:
    """Return from where to where a problem reaches: its key, its value, or the word that stands there."""
    start = offset_of(text.text, problem, starts)
    entry, is_key = text.at(start)
    if entry is not None and is_key and entry.start == start:
        return start, entry.end
    if entry is not None and entry.value_start == start and entry.style in ("plain", "quoted"):
        return start, entry.value_end
    word = _WORD.match(text.text, start)
    if word is not None:
        return start, word.end()
    line = _LINE.match(text.text, start)
    end = line.end() if line is not None else start
    return start, max(start, start + len(text.text[start:end].rstrip()))


def offset_of(text: str, problem: Problem, starts: Sequence[int]) -> int:
    """Return where a problem begins, as an offset."""
    line = min(max(problem.line, 1), len(starts))
    return min(starts[line - 1] + problem.column - 1, len(text))


def fix(text: Text, problem: Problem, starts: Sequence[int] | None = None) -> Edit | None:
    """Return the edit that a problem's hint describes, where it is one that can be made."""
    start, end = extent(text, problem, starts or line_starts(text.text))
    if match := _NEAR.match(problem.hint) or _SAY.match(problem.hint):
        return _replaced(text.text, start, end, match[1])
    match = _WRITE.match(problem.hint)
    if match is not None and _PLACEHOLDER not in match[1]:
        written = match[1]
        if problem.code == "P007":
            bare = written[1:-1].replace("''", "'") if written[0] == "'" else written[1:-1]
            end = start + len(bare) if text.text.startswith(bare, start) else end
        return Edit(f"Write {written}", start, end, written)
    return None


def _replaced(text: str, start: int, end: int, word: str) -> Edit:
    """Put another word where one stands; quotes around it stay."""
    if text[start:end][:1] in ("'", '"') and end - start >= 2:
        start, end = start + 1, end - 1
    return Edit(f"Change to '{word}'", start, end, word)
