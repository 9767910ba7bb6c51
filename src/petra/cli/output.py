"""What people see: problems on a terminal, in 80 columns, with or without colour."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import click

from petra.playbook import Problem
from petra.playbook.problems import excerpt

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
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def print_problem(problem: Problem, lines: Sequence[str], name: str, *, err: bool = False) -> None:
    """Print a problem: place, message and fix, then the line with a caret."""
    place = f"{name}:{problem.line}:{problem.column}:"
    label = "" if problem.severity == "error" else " warning:"
    words = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
    head = folded(f"{place}{label} {words} [{problem.code}]")
    styled = click.style(place, bold=True)
    if label:
        styled += click.style(label, fg=_COLOURS[problem.severity])
    click.echo(styled + head[len(place) + len(label) :], err=err)
    if shown := excerpt(problem, lines, width()):
        source, caret = shown.split("\n")
        click.echo(click.style(source, dim=True), err=err)
        click.echo(click.style(caret, fg=_COLOURS[problem.severity]), err=err)


def count(number: int, word: str) -> str:
    """Say a number with its noun."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def width() -> int:
    """How wide a line may be: the terminal, within reason; 100 for a pipe."""
    return min(shutil.get_terminal_size((100, 24)).columns, 120) if sys.stdout.isatty() else 100


def cut(text: str) -> str:
    """Cut a line for a terminal; a pipe gets it whole."""
    if not sys.stdout.isatty() or len(text) <= width():
        return text
    return text[: width() - 1] + "…"


_COLOURING = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Return what a program printed without what would steer the terminal of whoever reads it."""
    text = _COLOURING.sub("", text)
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def folded(text: str, hang: str = "    ") -> str:
    """Fold a line for a terminal; a pipe gets it whole, so that tools can read it."""
    if not sys.stdout.isatty() or len(text) <= width():
        return text
    folded = textwrap.wrap(
        text, width(), subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(folded)
