"""The page of the language: it names every key of the grammar, its links lead somewhere, its example works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from petra.kinds import KINDS, Knobs
from petra.playbook import Playbook, read
from petra.playbook.grammar import Shape, fields_of

PAGE = (Path(__file__).parents[2] / "docs/reference/language.md").read_text(encoding="utf-8")
CHAPTERS = dict(re.findall(r"^### (.+)\n((?:(?!^##).*\n?)*)", PAGE, re.MULTILINE))


def structs(shape: Shape) -> Iterator[type[msgspec.Struct]]:
    if shape.struct is not None:
        yield shape.struct
    for part in (*shape.options, *((shape.item,) if shape.item is not None else ())):
        yield from structs(part)


def every_struct() -> set[type[msgspec.Struct]]:
    found: set[type[msgspec.Struct]] = set()
    waiting: list[Any] = [Playbook, Knobs, *KINDS.values()]
    while waiting:
        struct = waiting.pop()
        if struct not in found:
            found.add(struct)
            waiting += [s for field in fields_of(struct).values() for s in structs(field.shape)]
    return found


@pytest.mark.spec("S1")
def test_every_key_of_the_grammar_has_a_row_with_a_meaning() -> None:
    kinds: dict[type, str] = {struct: f"kind: {kind}" for kind, struct in KINDS.items()}
    for struct in every_struct():
        chapter = CHAPTERS[kinds.get(struct, struct.__name__)]
        rows = re.findall(r"^\| `(\w+)` \| .+ \| .* \| (.+) \|$", chapter, re.MULTILINE)
        assert [key for key, _ in rows] == list(fields_of(struct)), struct


def test_no_chapter_stands_twice() -> None:
    titles = re.findall(r"^##+ (.+)$", PAGE, re.MULTILINE)
    assert len(titles) == len(set(titles))


def test_every_link_inside_the_page_leads_to_a_heading() -> None:
    titles = re.findall(r"^##+ (.+)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= anchors


def test_the_example_has_no_problems() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert read(example).problems == ()
