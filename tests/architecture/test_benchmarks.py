"""A benchmark that cannot even be loaded is found before somebody wants its figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PEERS = {"dbos_side", "temporal_side"}
"""They load what only ``make bench`` installs."""
NAMES = sorted({path.stem for path in BENCHMARKS.glob("*.py")} - PEERS)

LOAD = """
import sys, traceback
from importlib import import_module
for name in sys.argv[1:]:
    try:
        import_module(name)
    except Exception:
        print(name, traceback.format_exc())
"""


@pytest.mark.slow
def test_every_benchmark_can_be_loaded() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD, *NAMES],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout == ""
