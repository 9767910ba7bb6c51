"""The page about a first server, as a newcomer follows it: three terminals, two folders, a server, a worker elsewhere.

A fence ``console in=FOLDER`` holds commands of a terminal there. What ``stays`` runs until the page is through, and has
said what the page shows before the next command is given. Address, token and ids of the page stand for real ones.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from docs.test_tutorial import ID, plain
from server.conftest import launch
from support import forks
from support.processes import ending

pytestmark = pytest.mark.slow

FENCE = re.compile(r"```(?:\w+ file=(\S+)|console in=(\w+)( stays)?)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"\$ (.*)\n((?:(?!\$ ).*\n?)*)")
REAL = re.compile(rf"{ID.pattern}|http://127\.0\.0\.1:\d+|petra_\w+")
CHANGING = re.compile(r"(?<=code=)\S+|(?<=token )\w+|\d+\.\d+\.\d+|(?<=default 0/)\d+")


class Newcomer:
    """Follows a page in a folder; knows what the real things are called that the page has made-up names for."""

    def __init__(self, folder: Path, staying: ExitStack) -> None:
        self.folder = folder
        self.real: dict[str, str] = {}
        self._staying = staying

    def follow(self, page: str) -> None:
        """Do what a page says, and hold what comes against what it shows."""
        for file, place, stays, body in FENCE.findall(page):
            if file:
                (self.folder / file).parent.mkdir()
                (self.folder / file).write_text(body)
                continue
            given = {"NO_COLOR": "1", "COLUMNS": "80"}
            for line, shown in COMMAND.findall(body):
                program, *words = shlex.split(self._meant(line))
                if program == "export":
                    given |= dict(word.split("=", 1) for word in words)
                    continue
                assert program == "petra"
                do = self._stay if stays else _done
                self._compare(line, shown, do(self.folder / place, words, given, shown))

    def _stay(self, folder: Path, words: list[str], given: dict[str, str], shown: str) -> str:
        free = ("--port", "0") if words == ["dev"] else ()
        process = launch(
            *words, *free, cwd=folder, env=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._staying.enter_context(ending(process))
        assert process.stdout is not None
        said = "".join(process.stdout.readline() for _ in shown.splitlines())
        if free:
            let_in(re.findall(r"open +(\S+)", said)[0])
        return said

    def _meant(self, text: str) -> str:
        """Put the real things where the made-up ones stand."""
        return REAL.sub(lambda found: self.real.get(found[0], found[0]), text)

    def _compare(self, line: str, shown: str, came: str) -> None:
        for made_up, real in zip(REAL.findall(shown), REAL.findall(came), strict=False):
            self.real.setdefault(made_up, real)
        assert _plain(came) == _plain(self._meant(shown)), line


def _done(folder: Path, words: list[str], given: dict[str, str], _: str) -> str:
    done = forks.PETRA.run(folder, *words, environment={**os.environ, **given})
    return done.stdout + done.stderr


def _plain(text: str) -> str:
    return plain(CHANGING.sub("…", text))


def let_in(address: str) -> None:
    """Open the address that a server gave, as a browser does."""
    with httpx2.Client(follow_redirects=True, timeout=60) as browser:
        assert browser.get(address).status_code == 200
        at = address.partition("/login")[0]
        assert browser.get(f"{at}/api/v1/playbooks").json()["items"][0]["path"] == "shop/ship"


@pytest.mark.spec("S14")
def test_a_newcomer_gets_from_a_server_to_a_worker_elsewhere(root: Path, tmp_path: Path) -> None:
    with ExitStack() as staying:
        newcomer = Newcomer(tmp_path, staying)
        newcomer.follow((root / "docs/tutorial/first-server.md").read_text("utf-8"))
    assert len(newcomer.real) == 3, "an address, an execution and a token"
