"""Verbs that are asked often import little: what they read is a row, not an execution."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli.processes import petra

PROGRAM = """
import sys
from petra.cli import petra
petra(sys.argv[1:], standalone_mode=False)
print(*sorted(name for name in sys.modules if name.startswith("petra.")), sep="\\n", file=sys.stderr)
"""
HEAVY = (
    "petra.engine",
    "petra.kernel",
    "petra.playbook",
    "petra.net",
    "petra.embedded",
    "petra.desk",
)


@pytest.mark.slow
def test_ps_imports_the_store_and_nothing_of_the_engine(tmp_path: Path) -> None:
    petra(tmp_path, "init", "hello")
    petra(tmp_path, "run", "hello.yaml")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "ps"], cwd=tmp_path, capture_output=True, text=True, check=True
    )  # fmt: skip
    assert "✓ completed" in done.stdout
    imported = done.stderr.split()
    assert "petra.store.sqlite" in imported
    assert [name for name in imported if name.startswith(HEAVY)] == []
