"""Which rules of the specification have a test: docs/reference/conformance.md.

Rules are named by ``@pytest.mark.spec("S8", "000§4.3-1")`` on tests, their parameters and modules. A marker
without a running number ("000§4.3") carries every row of that section. Run without arguments to write the page.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "conformance.md"
LEDGER = ROOT.parent / "shared" / "design" / "ledger.md"
RULES = [f"S{number}" for number in range(1, 25)]
_ROW = re.compile(r"^\| (\d{3}§\S+) \|.*?\| must \|", re.MULTILINE)


def markers(tests: Path) -> dict[str, list[str]]:
    """Collect the names of tests by the rule they carry."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(tests.rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        module = set(_rules_in([node for node in tree.body if _is_pytestmark(node)]))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for rule in module | set(_rules_in(node.decorator_list)):
                    found[rule].add(f"{path.relative_to(tests).with_suffix('')}::{node.name}")
    for path in sorted(tests.rglob("S[0-9][0-9]*.test.yaml")):  # a file of cases per chapter
        for case in re.findall(r"^  - name: (.+)$", path.read_text("utf-8"), re.MULTILINE):
            found[f"S{int(path.name[1:3])}"].add(f"{path.relative_to(tests)}::{case}")
    for path in sorted(tests.glob("obligations/*.yaml")):  # a case names its rows in brackets
        for rows, case in re.findall(
            r'^  - name: "\[(.+?)\] (.+)"$', path.read_text("utf-8"), re.MULTILINE
        ):
            for row in rows.split():
                found[row].add(f"{path.relative_to(tests)}::{case}")
    return {rule: sorted(names) for rule, names in found.items()}


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
    )


def _rules_in(nodes: list[ast.stmt] | list[ast.expr]) -> Iterator[str]:
    for outer in nodes:
        for node in ast.walk(outer):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
                yield from (str(ast.literal_eval(argument)) for argument in node.args)


def musts(ledger: Path) -> list[str]:
    """Return the rows of the ledger that are obligations."""
    return _ROW.findall(ledger.read_text("utf-8"))


def carriers(rule: str, found: dict[str, list[str]]) -> list[str]:
    """Return the tests of a rule: those that name it, or a chapter or section around it."""
    section = rule.rpartition("-")[0]
    inside = [name for key, names in found.items() if key.startswith(f"{rule}.") for name in names]
    return sorted({*found.get(rule, []), *found.get(section, []), *inside})


def page(found: dict[str, list[str]], rows: list[str]) -> str:
    """Write the page."""
    tested = [row for row in rows if carriers(row, found)]
    missing = [row for row in rows if row not in set(tested)]
    lines = [
        "# Conformance",
        "",
        "Which rules have a test. Written by `make docs`.",
        "",
        "## Chapters",
        "",
        "| rule | has tests in |",
        "|---|---|",
        *(f"| {rule} | {_folders(carriers(rule, found)) or 'none yet'} |" for rule in RULES),
        "",
        f"## Obligations: {len(tested)} of {len(rows)} have a test",
        "",
        *(
            f"- `{row}`: {', '.join(f'`{name}`' for name in carriers(row, found))}"
            for row in tested
        ),
        "",
        "## Obligations without a test",
        "",
        *_wrapped(missing),
    ]
    return "\n".join(lines) + "\n"


def _folders(names: list[str]) -> str:
    """Return where tests are. How many there are changes with every commit, and nobody would keep it true."""
    return ", ".join(sorted({name.partition("/")[0].partition("::")[0] for name in names}))


def _wrapped(rows: list[str]) -> Iterator[str]:
    for start in range(0, len(rows), 8):
        yield " ".join(f"`{row}`" for row in rows[start : start + 8])


def main() -> None:
    """Write the page anew, where the ledger of obligations is at hand."""
    if not LEDGER.exists():
        print("the ledger is not here; nothing was written")
        return
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(markers(ROOT / "tests"), musts(LEDGER)), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
