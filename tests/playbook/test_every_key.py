"""Every key of every document has an effect, or a problem: nothing that somebody wrote is dropped in silence (S1).

The files of the corpus use every key of the grammar, and every construct of the dialects. In each of them each value
is replaced by another one, of its own type and of others, and a key that nobody knows is put into each mapping. The
playbook that is read must be another one, or something must be said that was not said before, unless the key stands in
a part that is reported as a whole.

The same key stands in hundreds of places: each change of it is tried in the first ``OFTEN`` of them, and in all by
``make soak``.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from texts import ROOT
from thoroughness import some

from petra import kinds
from petra.playbook import model
from petra.playbook.problems import Mark, Problem, Problems
from petra.playbook.read import read_tree
from petra.playbook.tree import Map, Places, Seq, Tree, copy_tree
from petra.playbook.yaml12 import parse

pytestmark = pytest.mark.spec("S1")

FOLDERS = (
    "examples",
    "tests/playbook/corpus",
    "tests/playbook/valid",
    "tests/playbook/seeds",
    "tests/playbook/wild",
)
FILES = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.yaml"))
    if "kind: Playbook" in path.read_text("utf-8")
]
SAMPLE = 5
OFTEN = int(os.environ.get("PETRA_KEYS", "2"))
UNKNOWN = "zzz_unknown"
OTHERS: tuple[Any, ...] = ("zzz", 7)
Place = tuple[str | int, ...]


class Change(NamedTuple):
    """What is written where, instead of what stands there or beside it."""

    place: Place
    value: Any


def changes(node: Tree, place: Place = ()) -> Iterator[Change]:
    """Yield every change of a document."""
    if isinstance(node, Map):
        yield Change((*place, UNKNOWN), 1)
        for key, value in node.items():
            yield from (Change((*place, key), other) for other in others(value))
            yield from changes(value, (*place, key))
    elif isinstance(node, Seq):
        for index, value in enumerate(node):
            yield from changes(value, (*place, index))


def others(value: Tree) -> Iterator[Any]:
    """Yield values unlike one: of its own type, and of the other types."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield value + 1
        case str():
            yield value + "x"
        case _:
            pass
    yield from (other for other in OTHERS if type(other) is not type(value))
    if not isinstance(value, Seq):
        yield seq("zzz")
    if not isinstance(value, Map):
        made = Map(Mark(1, 1))
        made.write(UNKNOWN, 1, Mark(1, 1), Mark(1, 1))
        yield made


def seq(*items: Any) -> Seq:
    made = Seq(Mark(1, 1))
    for item in items:
        made.write(item, Mark(1, 1))
    return made


def changed(tree: Map, change: Change) -> Map:
    made = copy_tree(tree)
    holder: Any = made
    for part in change.place[:-1]:
        holder = holder[part]
    key = change.place[-1]
    assert isinstance(holder, Map)
    holder.write(
        str(key), copy_tree(change.value), holder.key_at(str(key)), holder.value_at(str(key))
    )
    assert isinstance(made, Map)
    return made


def outcome(tree: Map, text: str) -> tuple[Any, list[tuple[str, str]], tuple[Problem, ...]]:
    reading = read_tree(tree, text, "x", Problems())
    return reading.playbook, [(p.code, p.message) for p in reading.problems], reading.problems


def silent(path: Path, tried: list[Change]) -> list[str]:
    """Return the changes of a file that change nothing, and of which nothing is said."""
    text, tree = path.read_text("utf-8"), tree_of(path)
    model, said, problems = outcome(_copy(tree), text)
    reported = {problem.mark for problem in problems}
    places = Places(tree)
    found = []
    for change in tried:
        around = {
            mark
            for n in range(1, len(change.place) + 1)
            for mark in _marks(places, change.place[:n])
        }
        if around & reported:
            continue
        again, words, _ = outcome(changed(tree, change), text)
        if (again, words) == (model, said):
            found.append(f"{'.'.join(map(str, change.place))} = {change.value!r}")
    return found


@cache
def tree_of(path: Path) -> Map:
    tree = parse(path.read_text("utf-8"), Problems())
    return tree if isinstance(tree, Map) else Map(Mark(1, 1))


@cache
def unlike() -> dict[Path, list[Change]]:
    """Choose the changes of each file that were not tried ``OFTEN`` times before, in this or in another one."""
    seen: Counter[object] = Counter()
    found: dict[Path, list[Change]] = {}
    for path in FILES:
        tree = tree_of(path)
        found[path] = []
        for change in changes(tree):
            alike = _alike(tree, change)
            seen[alike] += 1
            if seen[alike] <= OFTEN:
                found[path].append(change)
    return found


def _alike(tree: Map, change: Change) -> tuple[object, ...]:
    """Two changes are alike: of one key, in mappings of one kind at one place, in one dialect, by one type."""
    holder: Any = tree
    for part in change.place[:-1]:
        holder = holder[part]
    keys = tuple(part for part in change.place if isinstance(part, str))
    return tree.get("apiVersion"), keys, str(holder.get("kind")), type(change.value)


def _copy(tree: Map) -> Map:
    made = copy_tree(tree)
    assert isinstance(made, Map)
    return made


def _marks(places: Places, place: Place) -> tuple[Mark, Mark]:
    return places.key_at(*place), places.at(*place)


@pytest.mark.parametrize("path", some(FILES), ids=lambda path: path.stem)
def test_nothing_that_is_written_is_dropped_in_silence(path: Path) -> None:
    every = list(changes(tree_of(path)))
    step = max(1, len(every) // SAMPLE)
    assert silent(path, every[step // 2 :: step]) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_at_all_is_dropped_in_silence(path: Path) -> None:
    assert silent(path, unlike()[path]) == []


# What is reserved: accepted when it is empty, and refused otherwise.
RESERVED = {"LoopPolicy.ordering", "LoopPolicy.partitioning", "LoopPolicy.dedupe"}


@pytest.mark.slow
def test_every_field_of_the_model_is_read_by_some_code() -> None:
    read = set()
    for path in (ROOT / "src").rglob("*.py"):
        if path.name in ("model.py", "kinds.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Attribute(attr=word) | ast.Constant(value=str(word)):
                    read.add(word)
                case _:
                    pass
    structs = [
        found
        for module in (model, kinds)
        for found in vars(module).values()
        if isinstance(found, type) and issubclass(found, msgspec.Struct)
    ]
    unread = {
        f"{struct.__name__}.{field.name}"
        for struct in structs
        for field in msgspec.structs.fields(struct)
        if not {field.name, field.encode_name} & read
    }
    assert unread == RESERVED
