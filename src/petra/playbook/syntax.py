"""What to say where a text is no YAML: the parser's complaint, in the words of an author.

Most such faults in a playbook are templates without quotes; those get a code of their own and a suggestion
that can be pasted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import yaml

from petra.playbook.problems import START, Mark

_VALUE = re.compile(r"(?:^|[:\-,]\s|[\[{]\s*)\s*(?=[^\s#'\"]*\{[{%])")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")
_IN_FLOW = re.compile(r"(?:\{\{.*?\}\}|\{%.*?%\}|[^{},\[\]])*")
_SHOWN_MAX = 60


class Fault(NamedTuple):
    """A fault of the text on its way to a problem."""

    code: str
    mark: Mark
    message: str
    hint: str


class _Words(NamedTuple):
    """What we say for a complaint; ``at_context`` where the construct began is the better place."""

    message: str
    hint: str
    at_context: bool = False


_QUOTES = "put the value in quotes"
_INDENT = "check the indentation of this line against the lines above"
_WORDS = (
    ("expected alphabetic or numeric", _Words("a value that begins with '*' or '&' needs quotes", _QUOTES, at_context=True)),
    ("unexpected end of stream", _Words("a quote that is never closed", "close it on this line", at_context=True)),
    ("tab character", _Words("a tab indents this line", "indent with spaces, not tabs")),
    ("cannot start any token", _Words("no value can begin with this character", _QUOTES)),
    ("mapping values are not allowed", _Words("a ':' cannot stand here", "quote the text if it holds ': ', or check the indentation")),
    ("could not find expected ':'", _Words("a key without ':'", "a key needs ':' and a space after it; check the indentation", at_context=True)),
    ("expected '-' indicator", _Words("a key stands among the entries of a list", "start it with '- ', or check the indentation")),
    ("sequence entries are not allowed", _Words("a list cannot begin on this line", "put '- ' on a line of its own")),
    ("unknown escape character", _Words("a backslash in double quotes begins an escape", "use single quotes, or write two backslashes")),
    ("comment or line break", _Words("'|' and '>' begin a block of lines", "write the text on the next line, or put it in quotes")),
    ("expected node content", _Words("a value is missing here", _QUOTES)),
    ("expected key", _Words("this line does not fit to the lines above", _INDENT)),
    ("<block end>", _Words("this line does not fit to the lines above", _INDENT)),
)  # fmt: skip


def fault(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> Fault:
    """Say what a syntax error is, where it is best mended, and how."""
    place = _mark(error.problem_mark) or _mark(error.context_mark) or START
    context = _mark(error.context_mark) or place
    for number in dict.fromkeys((place.line, context.line, place.line - 1)):
        line = _line(lines, number)
        value = next((m for m in _VALUE.finditer(line) if _is_open(line, m.end())), None)
        if value is not None:
            return unquoted(lines, Mark(number, value.end() + 1))
    complaint = error.problem or "the text cannot be read"
    if "expected ',' or" in complaint:
        return _open_bracket(complaint, place, context, lines)
    return _in_our_words(complaint, place, context, lines)


def unquoted(lines: Sequence[str], mark: Mark) -> Fault:
    """Say that a value with a template needs quotes, and how it looks in quotes."""
    line = _line(lines, mark.line)
    rest = line[mark.column - 1 :]
    if _is_flow(line[: mark.column - 1]):
        match = _IN_FLOW.match(rest)
        rest = match[0] if match else rest
    written = re.split(r"\s#", rest)[0].strip()
    shown = written if 0 < len(written) <= _SHOWN_MAX else "{{ … }}"
    message = "a template at the start of a value needs quotes"
    if not rest.startswith("{"):
        message = "a value with a template needs quotes between braces or brackets"
    return Fault("P007", mark, message, f"write {_quoted(shown)}")


def _is_open(line: str, start: int) -> bool:
    """Tell whether braces in a line are a fault: at the start of a value, or anywhere in flow style."""
    return line.startswith(("{{", "{%"), start) or _is_flow(line[:start])


def _is_flow(before: str) -> bool:
    bare = _TEMPLATE.sub("", before)
    return bare.count("{") + bare.count("[") > bare.count("}") + bare.count("]")


def _quoted(text: str) -> str:
    if '"' not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def _open_bracket(complaint: str, place: Mark, context: Mark, lines: Sequence[str]) -> Fault:
    closing = complaint[-2]
    opening = {"]": "[", "}": "{"}.get(closing, "[")
    if place.line > len(lines):
        return Fault(
            "P004", context, f"not YAML: this '{opening}' is never closed", f"add '{closing}'"
        )
    message = f"not YAML: ',' or '{closing}' is missing before this place"
    return Fault("P004", place, message, f"the '{opening}' stands on line {context.line}")


def _in_our_words(complaint: str, place: Mark, context: Mark, lines: Sequence[str]) -> Fault:
    line = _line(lines, place.line)
    if "\t" in line[: len(line) - len(line.lstrip())]:
        complaint = "tab character"
    if "expected key" in complaint and line[: place.column - 1].rstrip().endswith(("'", '"')):
        hint = "put all of it between one pair of quotes; a single quote inside is written twice"
        return Fault("P004", place, "not YAML: the text goes on after the closing quote", hint)
    words = next((words for part, words in _WORDS if part in complaint), None)
    if words is None:
        hint = "check quotes, brackets and indentation near this place"
        return Fault("P004", place, f"not YAML: {complaint}", hint)
    at = context if words.at_context else place
    return Fault("P004", at, f"not YAML: {words.message}", words.hint)


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number - 1] if 1 <= number <= len(lines) else ""


def _mark(at: yaml.Mark | None) -> Mark | None:
    return Mark(at.line + 1, at.column + 1) if at else None
