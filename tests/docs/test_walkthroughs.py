"""The pages that show the command line: their files are written, their commands run, their output compared.

A fence ``yaml NAME`` is a file, ``yaml NAME +`` is added to it, ``yaml NAME s/OLD/NEW/`` edits it. A fence
``console`` holds a command after ``$`` and what it prints.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from petra.cli import petra
from petra.playbook.grammar import fields_of
from petra.testing import words

ROOT = Path(__file__).parents[2]
PAGES = (
    "docs/tutorial/first-test.md",
    "docs/how-to/test-a-playbook.md",
    "docs/how-to/call-a-playbook.md",
    "docs/reference/test-files.md",
    "docs/how-to/undo-what-was-done.md",
    "docs/how-to/start-by-the-clock.md",
    "docs/how-to/start-by-an-event.md",
    "docs/how-to/limit-what-runs.md",
    "docs/how-to/come-from-another-system.md",
    "docs/concepts/idempotency.md",
    "docs/concepts/unit-of-durability.md",
)
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
TIME = re.compile(r"in \d+\.\d\d s =*$", re.MULTILINE)


def write(folder: Path, info: str, body: str) -> None:
    _, name, *how = info.split(" ", 2)
    file = folder / name
    if not how:
        file.write_text(body, "utf-8")
    elif how == ["+"]:
        file.write_text(file.read_text("utf-8") + body, "utf-8")
    else:
        _, old, new, _ = how[0].split("/")
        assert old in file.read_text("utf-8")
        file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")


def printed(command: str) -> str:
    program, *arguments = command.split()
    assert program == "petra"
    return CliRunner().invoke(petra, arguments).output


def transcript(page: str, folder: Path) -> str:
    """The page with the output that its commands have now."""

    def fresh(fence: re.Match[str]) -> str:
        info, body = fence["info"], fence["body"]
        if info.startswith("yaml "):
            write(folder, info, body)
        if info != "console":
            return fence[0]
        (command,) = re.findall(r"^\$ (.*)$", body, re.MULTILINE)
        return f"```console\n$ {command}\n{printed(command)}```"

    return FENCE.sub(fresh, page)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text("utf-8")
    assert TIME.sub("", transcript(text, tmp_path)) == TIME.sub("", text)


def test_the_reference_of_test_files_has_every_key() -> None:
    page = (ROOT / "docs/reference/test-files.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `(\w+)[:`]", page, re.MULTILINE))
    known = {
        *fields_of(words.TestFile),
        *fields_of(words.TestCase),
        *fields_of(words.Happening),
        *fields_of(words.Expect),
        *fields_of(words.Script),
    }
    assert known <= listed
    for status in fields_of(words.Expect)["status"].shape.options[0].choices:
        assert f"`{status}`" in page
