"""Every limit of the engine is named once, and the page of limits shows all of them."""

from __future__ import annotations

import re
from pathlib import Path

from petra.engine import limits


def test_every_constant_of_the_limits_is_in_the_table() -> None:
    constants = {
        name: value for name, value in vars(limits).items() if name.isupper() and name != "LIMITS"
    }
    assert {limit.name: limit.value for limit in limits.LIMITS} == constants


def test_the_engine_names_its_limits_in_one_place(root: Path) -> None:
    elsewhere = [
        f"{file.name}: {line}"
        for file in sorted((root / "src/petra/engine").glob("*.py"))
        if file.name != "limits.py"
        for line in re.findall(
            r"^[A-Z_]+ *(?:: *\w+)? *= *[0-9].*$", file.read_text(), re.MULTILINE
        )
    ]
    assert elsewhere == []


def test_the_page_shows_every_limit(root: Path) -> None:
    page = (root / "docs/reference/limits.md").read_text()
    for limit in limits.LIMITS:
        assert f"| `{limit.name}` | {limit.value:,g} | {limit.unit} | {limit.at} |" in page
