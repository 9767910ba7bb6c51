"""Problems: what is wrong with a document, where, and what to do about it.

Reading never stops at the first problem. A problem is data; ``render`` makes it text:

    orders.yaml:41:13: arc leads to unknown step 'validte'; did you mean 'validate'? [P104]
       41 |         - step: validte
          |                 ^
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from petra.errors import PlaybookError
from petra.playbook.codes import CODES

Severity = Literal["error", "warning"]

# What ends a line for the YAML parser, and so for every place; ``str.splitlines`` knows other ends too.
_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
# Nobody reads hints beyond this many problems, and looking for near words costs time for each.
HINTED_MAX = 200
# An author's names may be as long as the file.
MESSAGE_MAX = 300


class Mark(NamedTuple):
    """A place in the text: line and column, both counted from 1."""

    line: int
    column: int


START = Mark(1, 1)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, or smells."""

    severity: Severity
    code: str
    line: int
    column: int
    message: str
    hint: str = ""

    @property
    def mark(self) -> Mark:
        """Where it is."""
        return Mark(self.line, self.column)


class Problems:
    """Collects problems in any order and gives them back in the order of the text."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}

    def error(self, code: str, mark: Mark, message: str, hint: str = "") -> None:
        """Report something that keeps the playbook from running."""
        self._report("error", code, mark, message, hint)

    def warn(self, code: str, mark: Mark, message: str, hint: str = "") -> None:
        """Report something that works, and probably not as meant."""
        self._report("warning", code, mark, message, hint)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Take over problems that were found elsewhere."""
        self._found.update(dict.fromkeys(problems))

    def _report(self, severity: Severity, code: str, mark: Mark, message: str, hint: str) -> None:
        assert code in CODES, code
        problem = Problem(
            severity=severity,
            code=code,
            line=mark[0],
            column=mark[1],
            message=_cut(message),
            hint=_cut(hint),
        )
        self._found[problem] = None

    def near(self, word: str, known: Iterable[str]) -> str:
        """Suggest a name of the author's own, as ``did_you_mean`` does, while hints are still read."""
        return did_you_mean(word, known) if len(self._found) < HINTED_MAX else ""

    def __iter__(self) -> Iterator[Problem]:
        return iter(sorted(self._found, key=lambda p: (p.line, p.column, p.severity, p.code)))

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def has_errors(self) -> bool:
        """Whether anything found keeps the playbook from running."""
        return any(problem.severity == "error" for problem in self._found)


class InvalidPlaybookError(PlaybookError):
    """A playbook with errors was used where a correct one is needed."""

    def __init__(self, problems: Sequence[Problem], text: str, name: str) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(render(p, text, name) for p in self.problems))


@lru_cache(
    maxsize=2
)  # a test file is asked once for each of the hundred playbooks that stand in it
def lines_of(text: str) -> tuple[str, ...]:
    """Split a text into the lines that places count."""
    lines = _LINE_END.split(text)
    return tuple(lines if lines[-1] else lines[:-1])  # the end of the last line begins no other


@lru_cache(maxsize=2)
def line_starts(text: str) -> tuple[int, ...]:
    """Return where each of the lines begins."""
    return (0, *(end.end() for end in _LINE_END.finditer(text)))


def near(word: str, known: Iterable[str]) -> str:
    """Return the known word that is nearest; nothing, where none is near."""
    lowered = {choice.lower(): choice for choice in reversed(list(known))}
    from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

    close = get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return lowered[close[0]] if close else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the nearest known word, or list them while they are few."""
    choices = list(dict.fromkeys(known))
    if close := near(word, choices):
        return f"did you mean '{close}'?"
    if 0 < len(choices) <= 16:
        return "known: " + ", ".join(choices)
    return ""


def _cut(words: str) -> str:
    return words if len(words) <= MESSAGE_MAX else words[: MESSAGE_MAX - 1] + "…"


def problem_data(problem: Problem) -> dict[str, str | int]:
    """Return a problem as plain data: what ``-o json`` prints and the API answers."""
    return {
        "severity": problem.severity,
        "code": problem.code,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "hint": problem.hint,
    }


def headline(problem: Problem, name: str) -> str:
    """Say a problem in one line: place, message, next move, code."""
    words = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
    return f"{name}:{problem.line}:{problem.column}: {words} [{problem.code}]"


def excerpt(problem: Problem, lines: Sequence[str], width: int = 100) -> str:
    """Show the line of a problem with a caret under the place, cut to fit ``width``."""
    if not 1 <= problem.line <= len(lines):
        return ""
    line = "".join(c if c.isprintable() else " " for c in lines[problem.line - 1])
    column = min(problem.column - 1, len(line))
    room = max(20, width - 9)
    start = max(0, column - room // 2) if len(line) > room else 0
    shown = line[start : start + room].rstrip()
    return f"{problem.line:>5} | {shown}\n      | {' ' * (column - start)}^"


def render(problem: Problem, text: str, name: str) -> str:
    """Show a problem as the two or three lines a person reads."""
    shown = excerpt(problem, lines_of(text))
    return headline(problem, name) + (f"\n{shown}" if shown else "")
