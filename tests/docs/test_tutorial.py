"""The tutorial shows what really happens: its files are written, its commands run, its output compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ID = re.compile(r"\b[0-9a-f]{12}-[0-9a-f]{12}\b")
TIME = re.compile(r" +\d+(?:\.\d+)? ?m?s\b")


def _plain(text: str) -> str:
    """Leave out what differs from run to run: ids and durations."""
    return TIME.sub(" T", ID.sub("ID", text)).strip()


@pytest.mark.slow
def test_every_command_of_the_tutorial_does_what_it_shows(root: Path, tmp_path: Path) -> None:
    page = (root / "docs/tutorial/first-playbook.md").read_text()
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
    last = ""
    for kind, body in re.findall(r"```(yaml file=\S+|console)\n(.*?)```", page, re.DOTALL):
        if kind.startswith("yaml"):
            (tmp_path / kind.partition("=")[2]).write_text(body)
            continue
        for command, expected in re.findall(r"\$ petra (.*)\n((?:(?!\$ ).*\n?)*)", body):
            arguments = ID.sub(last, command).split()
            done = subprocess.run(
                [sys.executable, "-m", "petra", *arguments],
                cwd=tmp_path, env=environ, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert _plain(done.stdout) == _plain(expected), f"petra {command}\n{done.stderr}"
            found = ID.findall(done.stdout)
            last = found[0] if found else last
