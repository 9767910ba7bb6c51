"""Small playbooks for tests: written as an author writes them, with the header left out."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from petra.playbook import Playbook, Problem, Reading, read

ROOT = Path(__file__).parents[1]
PETRA = "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: test}\n"
NOETL = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: test}\n"


def playbook(body: str, header: str = PETRA) -> str:
    """Put the header before a body."""
    return header + dedent(body).lstrip("\n")


def workflow(steps: str, header: str = PETRA) -> str:
    """Put header and ``workflow:`` before a list of steps."""
    return header + "workflow:\n" + indent(dedent(steps).strip("\n"), "  ") + "\n"


def model(text: str) -> Playbook:
    """Read a playbook that must have no errors."""
    return read(text).checked()


def told(reading: Reading) -> list[str]:
    """Say each problem as ``code line``; what a table of expectations compares."""
    return [f"{problem.code} {problem.line}" for problem in reading.problems]


def codes(text: str) -> list[str]:
    """Return the codes of the problems of a text, in order."""
    return [problem.code for problem in read(text).problems]


def only(text: str) -> Problem:
    """Return the one problem of a text."""
    problems = read(text).problems
    assert len(problems) == 1, [f"{p.code} {p.line}: {p.message}" for p in problems]
    return problems[0]


def corpus() -> list[Path]:
    """Return every playbook of the checkout, tests' and examples'."""
    folders = ("examples", "tests/playbook/wild", "tests/playbook/seeds", "tests/playbook/valid")
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.yaml"))]
    return [path for path in files if "kind: Playbook" in path.read_text("utf-8")]
