"""The page of mistakes: each is made in a fresh folder, and Petra says what the page shows.

A fence ``diff FILE`` changes an example, a fence ``console`` holds commands, each with all it prints; ``…`` stands for
lines that differ from run to run. PETRA_WRITE_DOCS=1 writes the page anew.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.test_tutorial import plain, printed

PAGE = Path("docs/how-to/understand-what-petra-says.md")
FENCE = re.compile(r"^```(?P<info>diff \S+|console)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^### .*?(?=^##|\Z)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", re.MULTILINE)
ANY_ID = re.compile(r"\b(?:[0-9a-f]{12}-[0-9a-f]{12}|[0-9a-f]{24})\b")
# no word of these may ever reach somebody who made a mistake
OURS = re.compile(r"^Traceback |this is a bug in Petra|File \".*/petra/\w+/", re.MULTILINE)


def sections(root: Path) -> list[str]:
    return SECTION.findall((root / PAGE).read_text("utf-8"))


def title(section: str) -> str:
    return section.split("\n", 1)[0].removeprefix("### ")


ROOT = Path(__file__).parents[2]
SECTIONS = sections(ROOT)


def lay_out(root: Path, folder: Path) -> None:
    """Put the examples of the page into a folder, and a picture that is no text."""
    shutil.copytree(root / "examples/jobs", folder, dirs_exist_ok=True)
    shutil.copy(root / "examples/approval.yaml", folder)
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0 no text")


def change(folder: Path, name: str, body: str) -> None:
    """Make the change of a ``diff`` in a file, at the first place that has all the lines."""
    removed = "".join(f"{line[1:]}\n" for line in body.splitlines() if line.startswith("-"))
    added = "".join(f"{line[1:]}\n" for line in body.splitlines() if line.startswith("+"))
    text = (folder / name).read_text("utf-8")
    assert removed in text, f"{name} has no such lines"
    (folder / name).write_text(text.replace(removed, added, 1), "utf-8")


def said(folder: Path, command: str) -> str:
    if command.startswith("cp "):
        _, source, target = shlex.split(command)
        shutil.copy(folder / source, folder / target)
        return ""
    return printed(folder, command)


class Ids:
    """The ids of a page are numbers; those of a run are what they are."""

    def __init__(self) -> None:
        self.real: list[str] = []

    def meant(self, command: str) -> str:
        """Put real ids into a command of the page."""
        return ANY_ID.sub(lambda found: self._real(found[0]), command)

    def shown(self, got: str) -> str:
        """Put the ids of the page into what was printed."""
        for found in ANY_ID.findall(got):
            if found not in self.real:
                self.real.append(found)
        return ANY_ID.sub(lambda found: shown_id(self.real.index(found[0]) + 1), got)

    def _real(self, shown: str) -> str:
        known = {shown_id(number): real for number, real in enumerate(self.real, 1)}
        return known.get(shown, shown)


def shown_id(number: int) -> str:
    return f"01a1e{number:07}-{number:012}"


def played(section: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Make the mistake of a section; yield each command with what the page shows and what was printed."""
    ids = Ids()
    lay_out(ROOT, folder)
    for fence in FENCE.finditer(section):
        if fence["info"].startswith("diff "):
            change(folder, fence["info"].removeprefix("diff "), fence["body"])
            continue
        for command, shown in COMMAND.findall(fence["body"]):
            yield command, shown, ids.shown(said(folder, ids.meant(command)))


def fits(shown: str, got: str) -> bool:
    """Tell whether a text is what is shown; a line with ``…`` alone stands for any lines."""
    parts = [re.escape(part) for part in plain(shown).split("\n…\n")]
    return re.fullmatch("\n(?:.*\n)*".join(parts), plain(got)) is not None


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS, ids=title)
def test_petra_says_what_the_page_shows(section: str, tmp_path: Path) -> None:
    if os.environ.get("PETRA_WRITE_DOCS"):
        write(section, tmp_path)
        return
    for command, shown, got in played(section, tmp_path):
        assert not OURS.search(got), got
        assert shown == got or fits(shown, got), f"$ {command}\n{got}"


def write(section: str, folder: Path) -> None:
    """Put what was printed into the page; a shown ``…`` stays for the author to place anew."""
    outputs = [got for _, _, got in played(section, folder)]

    def fresh(fence: re.Match[str]) -> str:
        if fence["info"] != "console":
            return fence[0]
        told = [(command, outputs.pop(0)) for command, _ in COMMAND.findall(fence["body"])]
        lines = "".join(
            f"$ {command}\n" + (f"{got.rstrip()}\n" if got else "") for command, got in told
        )
        return f"```console\n{lines}```"

    page = ROOT / PAGE
    new = FENCE.sub(fresh, section)
    page.write_text(page.read_text("utf-8").replace(section, new), "utf-8")


def test_the_page_shows_an_answer_to_every_mistake() -> None:
    assert len(SECTIONS) >= 35
    for section in SECTIONS:
        shown = [words for _, words in COMMAND.findall(section)]
        assert any(words.strip("`\n") for words in shown), title(section)
