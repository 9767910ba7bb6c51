"""How many bytes the pages of the web UI are over the wire, and how many they may be: the same on every machine."""

from __future__ import annotations

import gzip
import json
from typing import Any, NamedTuple

from build_ui import BUILT

ENTRY = "index.html"
LIST = "src/features/executions/ExecutionsPage.tsx"
FIRST_KB = 250
LAZY = {
    "execution page": ("src/features/execution/ExecutionPage.tsx", 110),
    "editor": ("src/features/editor/EditorPage.tsx", 160),
    "story in the editor": ("src/viewer/StoryViewer.tsx", 110),
    "form": ("src/kit/SchemaForm.tsx", 150),
}
"""What other pages add to the first, in kilobytes."""


class Size(NamedTuple):
    """A page, or a part of one: how many kilobytes it may have, and has."""

    what: str
    budget: int
    found: float


def sizes() -> list[Size]:
    """Return the sizes of what was built: of the first page, and what others add to it."""
    manifest = json.loads((BUILT / "manifest.json").read_text("utf-8"))
    first = _files_of(manifest, ENTRY, LIST)
    rows = [Size("entry: shell and list, JS and CSS, gzip", FIRST_KB, _packed(first))]
    for name, (source, budget) in LAZY.items():
        more = _files_of(manifest, source) - first
        rows.append(Size(f"{name}, beyond that", budget, _packed(more)))
    return rows


def _files_of(manifest: dict[str, Any], *entries: str) -> set[str]:
    """Return the files that a page needs, with all that they take in at once."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        part = manifest[name]
        found |= {part["file"], *part.get("css", [])}
        waiting += part.get("imports", [])
    return found


def _packed(files: set[str]) -> float:
    return sum(len(gzip.compress((BUILT / file).read_bytes(), 9)) for file in files) / 1000
