"""Count what each package is made of: files, lines, functions, and how long a function is.

``python scripts/census.py`` prints a table of ``src/petra``; another folder may be named.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass
class Package:
    files: int = 0
    lines: int = 0
    classes: int = 0
    lengths: list[int] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.files += 1
        self.lines += len(text.splitlines())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.lengths.append((node.end_lineno or node.lineno) - node.lineno + 1)
            self.classes += isinstance(node, ast.ClassDef)

    def row(self, name: str) -> str:
        ordered = sorted(self.lengths) or [0]
        middle, most = ordered[len(ordered) // 2], ordered[len(ordered) * 9 // 10]
        numbers = (self.files, self.lines, self.classes, len(self.lengths), middle, most)
        return f"| {name} | " + " | ".join(str(number) for number in numbers) + " |"


def census(folder: Path) -> dict[str, Package]:
    """What each package directly under a folder is made of; single modules are one package, ``.``."""
    packages: dict[str, Package] = defaultdict(Package)
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        packages[inside[0] if len(inside) > 1 else "."].add(path.read_text("utf-8"))
    return dict(packages)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src" / "petra"
    packages = census(folder)
    total = Package()
    print("| package | files | lines | classes | functions | median | p90 |")
    print("|---|---|---|---|---|---|---|")
    for name, package in sorted(packages.items()):
        print(package.row(name))
        total.files += package.files
        total.lines += package.lines
        total.classes += package.classes
        total.lengths += package.lengths
    print(total.row("all"))


if __name__ == "__main__":
    main()
