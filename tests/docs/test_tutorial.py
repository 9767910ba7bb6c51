"""README and the tutorial show what really happens: their files are written, commands run, output compared.

A fence ``yaml file=NAME`` is a file. A fence ``console`` holds commands, each with everything it prints. The ids of a
page stand for those of the executions that its commands make.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import forks

PAGES = (
    "README",
    "docs/tutorial/first-hour",
    "docs/tutorial/first-playbook",
    "docs/tutorial/first-failure",
    "docs/tutorial/first-approval",
    "docs/tutorial/first-replay",
    "docs/how-to/move-a-live-execution",
)
ID = re.compile(r"\b[0-9a-f]{12}-[0-9a-f]{12}\b")
CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d "), "DATE "),
    (re.compile(r"\d\d:\d\d:\d\d(?:\.\d+)?"), "CLOCK"),
    (re.compile(r"; [0-9a-f]{16}$", re.MULTILINE), "; HASH"),
    (re.compile(r" +\d+(?:\.\d+)? ?m?s\b"), " T"),
)


def plain(text: str) -> str:
    """Leave out what differs from run to run: times and hashes."""
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    return text.strip()


def printed(folder: Path, command: str) -> str:
    """Run a command of a page; what it says to people comes after what it prints."""
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
    program, *arguments = shlex.split(command)
    assert program == "petra"
    done = forks.PETRA.run(folder, *arguments, environment=environ)
    return done.stdout + done.stderr


def commands(page: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Write the files of a page; yield its commands with what they are said to print."""
    for kind, body in re.findall(r"```(yaml file=\S+|console)\n(.*?)```", page, re.DOTALL):
        if kind.startswith("yaml"):
            (folder / kind.partition("=")[2]).write_text(body)
            continue
        yield from re.findall(r"\$ (petra .*)\n((?:(?!\$ ).*\n?)*)", body)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_the_tutorial_does_what_it_shows(
    name: str, root: Path, tmp_path: Path
) -> None:
    page = (root / f"{name}.md").read_text()
    real: dict[str, str] = {}
    for command, expected in commands(page, tmp_path):
        got = printed(tmp_path, ID.sub(lambda found: real.get(found[0], found[0]), command))
        for shown, found in zip(ID.findall(expected), ID.findall(got), strict=False):
            real.setdefault(shown, found)
        wanted = ID.sub(lambda found: real.get(found[0], found[0]), expected)
        assert plain(got) == plain(wanted), command
