"""The tutorial, the reference and the example say what is so."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from typing import TYPE_CHECKING

import pytest

import petra.net

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_snippet_of_the_tutorial_prints_what_the_tutorial_says(root: Path) -> None:
    page = (root / "docs/tutorial/a-petri-net-in-ten-lines.md").read_text("utf-8")
    blocks = BLOCK.findall(page)
    assert len(blocks) == page.count("```python")
    scope: dict[str, object] = {}
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, scope)
        assert printed.getvalue() == expected


def test_the_first_net_of_the_tutorial_has_ten_lines(root: Path) -> None:
    page = (root / "docs/tutorial/a-petri-net-in-ten-lines.md").read_text("utf-8")
    (code, _), *_ = BLOCK.findall(page)
    assert len([line for line in code.splitlines() if line]) == 10


def test_the_reference_has_every_public_name_and_no_other(root: Path) -> None:
    page = (root / "docs/reference/net.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+)", page, re.MULTILINE)
    assert sorted(listed) == sorted(petra.net.__all__)


@pytest.mark.spec("003§7.4.3.3-3")
def test_the_approval_example_tells_both_stories(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(root / "examples/net/approval.py"), run_name="__main__")
    asked, decided, cancelled, *receipts, verified = capsys.readouterr().out.splitlines()
    assert asked.endswith("<Marking approval> · waiting for input")
    assert "<Marking end> · final" in decided
    assert "'decision': 'approved'" in decided
    assert "<Marking empty>" in cancelled
    assert [line.split()[1] for line in receipts] == [
        *("start", "fire", "exchange", "exchange", "fire", "fire")
    ]
    assert verified.endswith("True")
