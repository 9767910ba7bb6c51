from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def test_the_example_of_the_reference_runs(root: Path) -> None:
    text = (root / "docs/reference/store.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_reference_names_every_method_of_the_protocol(root: Path) -> None:
    text = (root / "docs/reference/store.md").read_text(encoding="utf-8")
    source = (root / "src/petra/store/base.py").read_text(encoding="utf-8")
    methods = re.findall(r"async def (\w+)\(", source)
    assert [method for method in methods if method not in text] == []
