"""Every limit of the engine is named once, and the page of limits shows all of them."""

from __future__ import annotations

import re
from pathlib import Path

from petra.engine import limits
from petra.expr import limits as expression
from petra.playbook.model import Limits
from petra.references import SERVER_ROOM, WORKER_ROOM
from petra.worker.loaded import BUDGET_BYTES
from petra.worker.playbooks import INLINE_MOST


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
        assert f"| `{limit.name}` | {limit.value:,} | {limit.unit} | {limit.at} |" in page


def test_the_page_of_expressions_has_the_limits_of_the_code(root: Path) -> None:
    page = (root / "docs/reference/expressions.md").read_text()
    table = page.partition("## Limits")[2].partition("## ")[0]
    shown = {
        name: int(value.replace(",", ""))
        for name, value in re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", table, re.MULTILINE)
    }
    assert shown == {name: getattr(expression, name) for name in shown}
    named = {name for name in vars(expression) if name.isupper()}
    inner = {
        "CELL",
        "MAX_INT",
        "MIN_INT",
        "CHARS_PER_FUEL",
    }  # parts of others, and the range of JSON
    assert set(shown) == named - inner


def test_the_pages_of_limits_and_of_expressions_say_the_same(root: Path) -> None:
    """What the words of one page say in KiB and MiB is what the other has in bytes, and what the code has."""
    words = (root / "docs/reference/expressions.md").read_text()
    page = (root / "docs/reference/limits.md").read_text()
    inline = Limits().max_payload_bytes
    for value, said in (
        (inline, f"more than {inline // 1024} KiB"),
        (BUDGET_BYTES, f"at most {BUDGET_BYTES // 2**20} MiB"),
        (SERVER_ROOM.built, f"to {SERVER_ROOM.built // 2**20} MiB"),
        (WORKER_ROOM.built, f"and {WORKER_ROOM.built // 2**20} MiB"),
    ):
        assert said in words.replace("\n", " ")
        assert f" {value:,} bytes " in page
    for value in (expression.MAX_RESULT, expression.MAX_RANGE, expression.FUEL, INLINE_MOST):
        assert f"| {value:,} " in page
