"""What people see, and the one place where it is laid out.

Rule 1: words go out by ``tell``, which folds them for a terminal; data goes out by ``print_text`` and ``print_json``, as it is.
Rule 2: a pipe gets every line whole, so that tools can read it.
Rule 3: a name, an id or a path is never broken, and a command stays one that can be copied.
Rule 4: words may hold what tasks, callers and files say. Nothing of it steers the terminal, or turns the direction of a line.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

from petra.errors import UsageError

if TYPE_CHECKING:  # most verbs print no problem, and read no playbook
    from petra.playbook import Problem

_COLOURS = {"error": "red", "warning": "yellow"}

as_json = click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How to print the result.",
)


def print_json(document: Any) -> None:
    """Print one JSON document on stdout."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    print_text(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_text(text: str, *, end: str = "\n") -> None:
    """Print data on stdout as it is."""
    _write(text + end, nl=False)


def tell(words: str = "", *, err: bool = False) -> None:
    """Tell people something, in lines that fit their terminal."""
    words = harmless(words)
    if _COLOURING.search(words) and not words.endswith(_PLAIN):
        words += _PLAIN  # somebody else's colour ends here
    _write(folded(words, err=err), err=err)


def _write(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write to a stream.

    Raises:
        UsageError: it takes nothing: it is a file on a full disk, say.
    """
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        raise  # its reader has seen enough
    except OSError as error:
        stream = "standard error" if err else "standard output"
        raise UsageError(f"{stream} takes nothing more: {error.strerror or error}") from error


def print_problem(problem: Problem, lines: Sequence[str], name: str, *, err: bool = False) -> None:
    """Print a problem: place, message and fix, then the line with a caret."""
    from petra.playbook.problems import excerpt  # noqa: PLC0415 - see above

    place = f"{name}:{problem.line}:{problem.column}:"
    label = "" if problem.severity == "error" else " warning:"
    words = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
    styled = click.style(place, bold=True)
    if label:
        styled += click.style(label, fg=_COLOURS[problem.severity])
    tell(f"{styled} {words} [{problem.code}]", err=err)
    if shown := excerpt(problem, lines, width(err=err)):
        source, caret = shown.split("\n")
        _write(click.style(printable(source), dim=True), err=err)
        _write(click.style(caret, fg=_COLOURS[problem.severity]), err=err)


def count(number: int, word: str) -> str:
    """Say a number with its noun."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines whose columns stand below each other."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ([f"{cell:<{room}}" for cell, room in zip(row, wide, strict=True)] for row in rows)
    return ["  ".join(row).rstrip() for row in padded]


_WIDTH_MAX = 120
_PIPE_WIDTH = 100


def width(*, err: bool = False) -> int:
    """How wide a line may be: the terminal, within reason; 100 for a pipe."""
    stream = sys.stderr if err else sys.stdout
    return min(_columns(stream), _WIDTH_MAX) if stream.isatty() else _PIPE_WIDTH


def _columns(stream: TextIO) -> int:
    """Return how wide a terminal is; the other stream may lead elsewhere, or nowhere."""
    if not os.environ.get("COLUMNS"):
        try:
            return os.get_terminal_size(stream.fileno()).columns or _PIPE_WIDTH
        except (OSError, ValueError):
            pass
    return shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns


def cut(text: str) -> str:
    """Cut a line for a terminal; a pipe gets it whole."""
    if not sys.stdout.isatty() or len(text) <= width():
        return text
    return text[: width() - 1] + "…"


_COLOURING = re.compile(r"\x1b\[[0-9;]*m")
_PLAIN = "\x1b[0m"
# All control characters but tab and line break, what turns the direction of a line, and every escape but the colours of ours.
_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\x1b(?!\[(?:[0-4]|2[2-4]|[39][0-7])m)"
)


def printable(text: str) -> str:
    """Return what a program printed without what would steer the terminal of whoever reads it, and without its colours."""
    return harmless(_COLOURING.sub("", text))


def harmless(words: str) -> str:
    """Return words with what would steer a terminal spelled out; colours stay."""
    return _STEERING.sub(_spelled, words)


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def folded(text: str, hang: str | None = None, *, err: bool = False) -> str:
    """Fold words for a terminal, the rest of each line further in, or by ``hang``; a pipe gets them whole."""
    if not (sys.stderr if err else sys.stdout).isatty():
        return text
    return fold(text, width(err=err), hang)


# A line that somebody is to type; what stands before it says when.
_COMMAND = re.compile(r"(?: |\x1b\[[0-9;]*m)*(?:[a-z ]+: )?petra ")
_QUOTED = re.compile(r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+|\s+")
# What is said of a command stays together, so that it can be copied: 'petra watch ID'.
_BARE = re.compile(r"\S+|\s+")
_WORD = re.compile(r"[^\s']*'petra [^'\n]{1,60}'\S*|\S+|\s+")


def fold(text: str, columns: int, hang: str | None = None) -> str:
    """Fold each line of a text at its spaces; of a command, so that it can still be pasted."""
    return "\n".join(_fold(line, columns, hang) for line in text.split("\n"))


def _fold(line: str, columns: int, hang: str | None) -> str:
    if _long(line) <= columns:
        return line
    indent = " " * (len(line) - len(line.lstrip(" ")))
    hang = indent + ("  " if indent else "    ") if hang is None else hang
    command = _COMMAND.match(line) is not None
    pieces = (
        _QUOTED.findall(line[len(indent) :])
        if command
        else _words(line, indent, columns - len(hang))
    )
    lines, space = [indent], ""
    for piece in pieces:
        if piece.isspace():
            space = piece
            continue
        room = columns - (2 if command else 0)
        if lines[-1].strip() and _long(lines[-1] + space + piece) > room:
            lines.append(hang)
            space = ""
        lines[-1] += space + piece
        space = ""
    return (" \\\n" if command else "\n").join(lines)


def _words(line: str, indent: str, room: int) -> list[str]:
    """Return the words of a line; a command that is quoted is one, where there is room for it."""
    pieces = _WORD.findall(line[len(indent) :])
    parts = ([piece] if _long(piece) <= room else _BARE.findall(piece) for piece in pieces)
    return [part for several in parts for part in several]


def _long(text: str) -> int:
    return len(_COLOURING.sub("", text))


_CARETS = re.compile(r"\s*[~^][~^ ]*")


class Quoted:
    """Lays out what a program printed, line by line, behind words that say where it comes from.

    Carets under a line that had to be folded would point at nothing, and are left out.
    """

    def __init__(self) -> None:
        self._folded = False

    def line(self, before: str, text: str) -> str | None:
        """Return a line as it is shown; None where there is nothing to show of it."""
        whole = f"{before}{text}".rstrip()
        if not sys.stdout.isatty():
            return whole
        plain = _COLOURING.sub("", text)
        if self._folded and _CARETS.fullmatch(plain):
            return None
        indent = len(plain) - len(plain.lstrip(" "))
        hang = " " * (_long(before) + indent + 2)
        shown = fold(whole, width(), hang if len(hang) <= width() // 2 else "    ")
        self._folded = "\n" in shown
        return shown
