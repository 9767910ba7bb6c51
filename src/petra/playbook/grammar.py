"""The grammar: the structs of the model and of the kinds, read as shapes.

One description serves the reader, the JSON Schema, the writer and the walk over all templates, so they
cannot disagree. Shapes are made once per struct, from its type hints.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Struct, field


class Note(Struct, frozen=True):
    """What the annotation of a field says beside its type."""

    description: str = ""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    shortest: int | None = None
    longest: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def plus(self, meta: Meta) -> Note:
        """Add a further annotation; the outer one wins."""
        return Note(
            description=meta.description or self.description,
            least=_either(meta.ge, self.least),
            most=_either(meta.le, self.most),
            above=_either(meta.gt, self.above),
            shortest=_either(meta.min_length, self.shortest),
            longest=_either(meta.max_length, self.longest),
            facts={**self.facts, **(meta.extra or {})},
        )


class Shape(Struct, frozen=True):
    """What a value may look like. ``kind`` says which of the other fields speak."""

    kind: Literal[
        "any", "text", "int", "number", "bool", "null", "choice", "list", "map", "struct", "union"
    ]
    note: Note = Note()
    choices: tuple[Any, ...] = ()
    item: Shape | None = None
    struct: type[msgspec.Struct] | None = None
    options: tuple[Shape, ...] = ()


class Field(Struct, frozen=True):
    """One key of a struct."""

    name: str
    key: str
    shape: Shape
    required: bool
    default: Callable[[], Any]


@cache
def fields_of(struct: type[msgspec.Struct]) -> Mapping[str, Field]:
    """Return the fields of a struct by the key an author writes."""
    hints = get_type_hints(struct, include_extras=True)
    return {
        info.encode_name: Field(
            name=info.name,
            key=info.encode_name,
            shape=shape_of(hints[info.name]),
            required=info.required,
            default=_default(info),
        )
        for info in msgspec.structs.fields(struct)
        if info.name not in (extra_of(struct), getattr(struct, "aside", None))
    }


_FOR_THE_CODE = re.compile(r" \(S\d+(?:, S\d+)*\)|; the keys of its kind are in ``\w+``")


def about(struct: type) -> str:
    """Return what a struct is, for authors: its first line, without what concerns only the code."""
    line = (struct.__doc__ or "").strip().split("\n")[0]
    return _FOR_THE_CODE.sub("", line).replace("``", "`")


def extra_of(struct: type[msgspec.Struct]) -> str | None:
    """Return the field that takes keys of another grammar, if the struct has one."""
    return getattr(struct, "extra", None)


@cache
def shape_of(hint: Any) -> Shape:
    """Read a type hint as a shape."""
    note = Note()
    if get_origin(hint) is Annotated:
        hint, *metas = get_args(hint)
        for meta in metas:
            note = note.plus(meta)
    return _bare(hint, note)


_SIMPLE: Mapping[Any, str] = {
    Any: "any", str: "text", int: "int", float: "number", bool: "bool", type(None): "null",
}  # fmt: skip


def _bare(hint: Any, note: Note) -> Shape:
    if hint in _SIMPLE:
        return Shape(kind=_SIMPLE[hint], note=note)  # type: ignore[arg-type]
    origin = get_origin(hint)
    if origin is Literal:
        return Shape(kind="choice", note=note, choices=get_args(hint))
    if origin is list:
        return Shape(kind="list", note=note, item=shape_of(get_args(hint)[0]))
    if origin is dict:
        return Shape(kind="map", note=note, item=shape_of(get_args(hint)[1]))
    if origin in (Union, types.UnionType):
        return Shape(kind="union", note=note, options=tuple(shape_of(o) for o in get_args(hint)))
    assert isinstance(hint, type), hint
    assert issubclass(hint, msgspec.Struct), hint
    return Shape(kind="struct", note=note, struct=hint)


def _default(info: msgspec.structs.FieldInfo) -> Callable[[], Any]:
    if info.default_factory is not NODEFAULT:
        factory: Callable[[], Any] = info.default_factory
        return factory
    value = None if info.default is NODEFAULT else info.default
    return lambda: value


def _either(first: Any, second: Any) -> Any:
    return first if first is not None else second
