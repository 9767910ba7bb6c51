"""The README's first command: what it says is what happened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_tour_ends_with_nothing_lost_and_nothing_twice(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(root / "scripts" / "demo.py")],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "0 steps lost, 0 decided twice" in done.stdout
    assert "the hash chain holds" in done.stdout
