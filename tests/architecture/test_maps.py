"""A large package has a map: its docstring names each of its modules once, grouped by what they do together."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "petra"
MAPPED = ("desk", "engine", "kernel", "server", "store", "worker")


@pytest.mark.parametrize("package", MAPPED)
def test_the_map_of_a_package_names_each_of_its_modules_once(package: str) -> None:
    folder = SOURCES / package
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    entries = [line for line in text.splitlines() if line.startswith(("- ", "  "))]
    named = Counter(re.findall(r"``(\w+)``", "\n".join(entries)))
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    assert sorted(named) == sorted(modules), "a module is to be put on the map where it belongs"
    assert [name for name, times in named.items() if times > 1] == []
