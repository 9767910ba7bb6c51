"""Count what each package is made of: files, lines, functions, and how long a function is.

``python scripts/census.py`` prints a table of ``src/petra``, ``python scripts/census.py COMMIT`` what it was then and is now.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = "src/petra"


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

    def numbers(self) -> tuple[int, ...]:
        ordered = sorted(self.lengths) or [0]
        middle, most = ordered[len(ordered) // 2], ordered[len(ordered) * 9 // 10]
        return self.files, self.lines, self.classes, len(self.lengths), middle, most


def census(texts: Iterable[tuple[str, str]]) -> dict[str, Package]:
    """Return what each package is made of, and all of them; single modules are one package, ``.``."""
    packages: dict[str, Package] = defaultdict(Package)
    for path, text in texts:
        first, slash, _ = path.partition("/")
        for name in (first if slash else ".", "all"):
            packages[name].add(text)
    return dict(packages)


def here() -> Iterator[tuple[str, str]]:
    """Yield the modules of the working tree."""
    for path in sorted((ROOT / SOURCES).rglob("*.py")):
        yield path.relative_to(ROOT / SOURCES).as_posix(), path.read_text("utf-8")


def then(commit: str) -> Iterator[tuple[str, str]]:
    """Yield the modules as a commit had them."""
    git = ("git", "-C", str(ROOT), "archive", commit, SOURCES)
    archive = subprocess.run(git, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            if member.name.endswith(".py") and (file := files.extractfile(member)) is not None:
                yield member.name.removeprefix(f"{SOURCES}/"), file.read().decode("utf-8")


def table(before: Mapping[str, Package] | None, after: Mapping[str, Package]) -> list[str]:
    """Return a table, with two numbers in a cell where there are two times."""
    lines = ["| package | files | lines | classes | functions | median | p90 |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name in sorted({*after, *(before or ())}, key=lambda name: (name == "all", name)):
        cells = [f"{number:,}" for number in after.get(name, Package()).numbers()]
        if before is not None:
            old = before[name].numbers() if name in before else None
            was = [f"{number:,}" for number in old] if old else ["–"] * len(cells)
            cells = [f"{a} → {b}" for a, b in zip(was, cells, strict=True)]
        lines.append(f"| {'single modules' if name == '.' else name} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    before = census(then(sys.argv[1])) if len(sys.argv) > 1 else None
    print("\n".join(table(before, census(here()))))


if __name__ == "__main__":
    main()
