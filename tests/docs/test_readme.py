"""What README claims with a number is what was measured."""

from __future__ import annotations

import re
from pathlib import Path


def test_many_steps_at_once_are_as_much_faster_as_the_readme_says(root: Path) -> None:
    assert "at least ten times as many steps a second as DBOS" in (root / "README.md").read_text()
    figures = (root / "benchmarks/results/peers.md").read_text()
    ratios = re.findall(r"^\| W[23]: .*? \| .*? \| .*? \| .*? \| ([\d.]+)", figures, re.MULTILINE)
    assert len(ratios) == 6
    assert min(map(float, ratios)) >= 10
