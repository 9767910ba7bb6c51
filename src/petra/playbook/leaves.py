"""The leaves of a playbook: every value with its place and what the grammar says about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from petra.expr.scopes import Use
from petra.kinds import KINDS, SERVER_KINDS, Knobs
from petra.playbook.grammar import Shape, extra_of, fields_of, shape_of
from petra.playbook.model import Playbook, Task
from petra.playbook.write import to_plain

Path = tuple[str | int, ...]


class Leaf(NamedTuple):
    """A value whose annotation says something beside its type, e.g. that it holds templates."""

    path: Path
    value: Any
    facts: Mapping[str, Any]

    @property
    def use(self) -> Use | None:
        """The place of use of its templates, if it may hold any."""
        use: Use | None = self.facts.get("use")
        return use


def leaves(playbook: Playbook) -> Iterator[Leaf]:
    """Yield every annotated value of a playbook, in the order of the grammar."""
    yield from _walk(to_plain(playbook), shape_of(Playbook), ())


def strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield every string inside a value with its place."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, (*path, index))


def _walk(value: Any, shape: Shape, path: Path) -> Iterator[Leaf]:
    if shape.note.facts:
        yield Leaf(path, value, shape.note.facts)
    if shape.kind == "struct" and isinstance(value, dict):
        assert shape.struct is not None
        yield from _struct(value, shape.struct, path)
    elif shape.kind == "list" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, _item(shape), (*path, index))
    elif shape.kind == "map" and isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, _item(shape), (*path, key))
    elif shape.kind == "union":
        yield from _walk(value, _option(value, shape), path)


def _item(shape: Shape) -> Shape:
    assert shape.item is not None
    return shape.item


def _struct(value: dict[str, Any], struct: type[msgspec.Struct], path: Path) -> Iterator[Leaf]:
    grammar = fields_of(struct)
    more: Mapping[str, Any] = {}
    if struct is Task:
        kind = KINDS.get(value.get("kind", ""))
        more = fields_of(kind) if kind is not None else {}
    elif extra_of(struct) == "knobs":
        more = fields_of(Knobs)
    on_server = struct is Task and value.get("kind") in SERVER_KINDS
    for key, item in value.items():
        if on_server and key == "args":  # they leave with the server, for a child or a form
            yield Leaf((*path, key), item, {"use": Use.SERVER_TASK})
            continue
        field = grammar.get(key) or more.get(key)
        if field is not None:
            yield from _walk(item, field.shape, (*path, key))
        elif struct is Task:
            yield Leaf((*path, key), item, {"use": Use.TASK})


_FORMS: Mapping[Any, tuple[str, ...]] = {
    dict: ("struct", "map"), list: ("list",), str: ("choice", "text"),
}  # fmt: skip


def _option(value: Any, shape: Shape) -> Shape:
    """Choose the option of a union that a value was read by."""
    wanted = _FORMS.get(type(value), ())
    fitting = [
        option for option in shape.options if option.kind in wanted or option.kind == "union"
    ]
    if isinstance(value, dict):
        fitting.sort(
            key=lambda o: -len(set(value) & set(fields_of(o.struct))) if o.struct is not None else 0
        )
    return fitting[0] if fitting else Shape(kind="any")
