"""Every target of the Makefile is in the table of CONTRIBUTING.md, with the time it takes; none there is made up."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE)


def rows() -> list[tuple[list[str], str]]:
    """The targets of each row of the table, and what is said of their time."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `make")]
    return [(re.findall(r"`make ([a-z-]+)", cell[0]), cell[-1].strip()) for cell in cells]


def test_every_target_of_the_makefile_is_in_the_table_once() -> None:
    named = [target for targets, _ in rows() for target in targets]
    assert sorted(named) == sorted(set(TARGETS) - {"help"})


def test_the_table_says_how_long_each_takes() -> None:
    assert [targets for targets, time in rows() if not time] == []


def test_no_target_is_taken_for_a_file() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert sorted(phony.split()) == sorted(TARGETS)
