"""Writes the pages under docs that are made from the code; ``--check`` only tells which are stale.

A further page is a further row of ``PAGES``: its path, and a function that returns its whole text.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from petra.playbook.codes import CODES

ROOT = Path(__file__).parents[1]

_GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "P0": "The text: errors before anything has been understood",
        "P1": "The document: errors that keep a playbook from running",
        "P2": "Warnings: the playbook runs, though perhaps not as meant",
        "P3": "The net: what the analysis of the flow finds",
    }
)


def error_index() -> str:
    """List every code with its sentence and its page."""
    lines = [
        "# Codes of problems",
        "",
        "Every problem that Petra reports ends with a code in brackets, such as `[P104]`. A code keeps its",
        "meaning for good; its page says how the problem comes about and how to mend it.",
    ]
    for prefix, title in _GROUPS.items():
        codes = [code for code in CODES if code.startswith(prefix)]
        if codes:
            lines += ["", f"## {title}", "", "| code | meaning |", "|---|---|"]
            lines += [f"| [{code}]({code}.md) | {CODES[code]} |" for code in codes]
    return "\n".join(lines) + "\n"


PAGES: Sequence[tuple[str, Callable[[], str]]] = (("docs/reference/errors/README.md", error_index),)


def stale(root: Path) -> dict[str, str]:
    """Return the pages whose file is missing or says something else, with the text they should have."""
    made = {path: write() for path, write in PAGES}
    return {path: text for path, text in made.items() if _text_of(root / path) != text}


def _text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write the stale pages, or with ``--check`` list them; the exit code."""
    parser = argparse.ArgumentParser(description="Write the generated pages under docs.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if any is stale"
    )
    check = parser.parse_args(arguments).check
    pages = stale(root)
    for path, text in pages.items():
        print(f"stale: {path}" if check else f"wrote {path}")
        if not check:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
    return 1 if check and pages else 0


if __name__ == "__main__":
    sys.exit(main())
