"""Tables of the pages: a bar inside a cell, code or not, would cut it where the page is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

BAR = re.compile(r"(?<!\\)\|")
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def uneven(page: str) -> Iterator[str]:
    """Yield the rows that have more cells than the head of their table, or fewer."""
    for table in TABLE.findall(FENCE.sub("", page) + "\n"):
        head, *rows = table.splitlines()
        yield from (row for row in rows if len(BAR.findall(row)) != len(BAR.findall(head)))


def test_every_row_of_a_table_has_as_many_cells_as_its_head(root: Path) -> None:
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    assert len(pages) > 100
    found = {str(page.relative_to(root)): list(uneven(page.read_text("utf-8"))) for page in pages}
    assert {page: rows for page, rows in found.items() if rows} == {}
