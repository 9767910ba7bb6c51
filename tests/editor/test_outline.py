"""The outline of a text agrees with YAML where the text is YAML, and exists where it is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import corpus
from thoroughness import some

from petra.editor.complete import complete
from petra.editor.entry import Entry
from petra.editor.hover import hover
from petra.editor.names import Text
from petra.editor.outline import outline
from petra.playbook.problems import Problems
from petra.playbook.tree import Map, Seq, Tree
from petra.playbook.yaml12 import parse

FILES = [path for path in corpus() if "&" not in path.read_text("utf-8")]
PIECES = ["- ", "step: ", "a", "{", "}", "[", "]", "{{ ", " }}", '"', "'", "\n", "\n  ", "\n    ", ": ", ", ", "|", "#", "\t", "é", "\r\n", "when: "]  # fmt: skip


def shape(node: Tree) -> Any:
    """Return the keys and lists of a tree, without its scalars."""
    if isinstance(node, Map):
        return {key: shape(value) for key, value in node.items()}
    if isinstance(node, Seq):
        return [shape(value) for value in node]
    return None


def drawn(entry: Entry) -> Any:
    if not entry.entries:
        return None
    if entry.entries[0].is_item:
        return [drawn(item) for item in entry.entries]
    return {part.key: drawn(part) for part in entry.entries if not part.bare}


def emptied(node: Any) -> Any:
    """An outline cannot tell an empty collection from a scalar; nobody asks it to."""
    if isinstance(node, dict):
        return {key: emptied(value) for key, value in node.items()} or None
    if isinstance(node, list):
        return [emptied(value) for value in node] or None
    return node


@pytest.mark.parametrize("path", some(FILES), ids=lambda path: path.name)
def test_it_has_the_keys_and_lists_that_yaml_has(path: Path) -> None:
    text = path.read_text("utf-8")
    tree = parse(text, Problems())
    if isinstance(tree, Map):
        assert drawn(outline(text)) == emptied(shape(tree))


@pytest.mark.parametrize("path", FILES[:40], ids=lambda path: path.name)
def test_its_keys_stand_where_yaml_says(path: Path) -> None:
    text = path.read_text("utf-8")
    tree = parse(text, Problems())
    if not isinstance(tree, Map):
        return
    for entry in outline(text).entries:
        line = text.count("\n", 0, entry.start) + 1
        assert entry.key is not None
        assert line == tree.key_at(entry.key).line
        assert text[entry.start : entry.end].strip("'\"") == entry.key


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.integers(0, 100))
def test_every_text_has_an_outline_and_every_place_an_answer(text: str, at: int) -> None:
    found = Text("kind: Playbook\nworkflow:\n" + text)
    list(found.names())
    offset = min(at, len(found.text))
    hover(found, offset)
    complete(found.text, offset)


@given(st.text(max_size=60), st.integers(0, 60))
def test_no_character_is_too_odd(text: str, at: int) -> None:
    hover(Text(text), min(at, len(text)))
    complete(text, at)


def test_deep_brackets_are_no_recursion() -> None:
    text = "a: " + "[" * 20_000
    assert outline(text).find("a") is not None
    assert complete(text, len(text)) == []


def test_an_open_bracket_ends_with_the_lines_that_cannot_belong_to_it() -> None:
    text = "workflow:\n  - step: a\n    tool: {kind: \n  - step: b\n"
    assert list(Text(text).steps) == ["a", "b"]


def test_an_open_quote_ends_with_its_line() -> None:
    text = 'workflow:\n  - step: "a\n  - step: b\n'
    assert list(Text(text).steps) == ["a", "b"]
