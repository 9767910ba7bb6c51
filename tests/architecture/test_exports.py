"""What a package hands on (its ``__all__``) is taken from there by somebody: another package, a test, a script.

Public packages are left out: who takes their names is not here.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PUBLIC = {"petra", "petra.net", "petra.testing", "petra.tools", "petra.client"}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def exports_of(path: Path) -> list[str]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


EXPORTS = {
    module_of(path): names
    for path in sorted((ROOT / "src").rglob("__init__.py"))
    if (names := exports_of(path)) and module_of(path) not in PUBLIC
}


@cache
def taken() -> set[tuple[str, str]]:
    """Return every package with a name that another file takes from it."""
    places = (ROOT / folder for folder in ("src", "tests", "scripts", "benchmarks"))
    return {pair for place in places for path in place.rglob("*.py") for pair in taken_by(path)}


def taken_by(path: Path) -> set[tuple[str, str]]:
    tree = ast.parse(path.read_text("utf-8"))
    own = module_of(path) if path.is_relative_to(ROOT / "src") else ""
    packages: dict[str, str] = {}
    pairs: set[tuple[str, str]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module != own:
            pairs |= {(node.module, alias.name) for alias in node.names}
            packages |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            pairs.add((packages.get(node.value.id, ""), node.attr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and own == "":
            package, _, name = node.value.rpartition(".")
            pairs.add((package, name))
    return pairs


@pytest.mark.parametrize("package", sorted(EXPORTS))
def test_what_a_package_hands_on_is_taken_from_it(package: str) -> None:
    assert [name for name in EXPORTS[package] if (package, name) not in taken()] == []
