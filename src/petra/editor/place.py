"""Where an entry stands in the grammar: what it is, and what may stand in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from petra.editor.entry import Entry
from petra.expr.scopes import Use
from petra.kinds import KINDS, SERVER_KINDS, Knobs, says
from petra.playbook import model
from petra.playbook.credentials import CREDENTIAL_KINDS
from petra.playbook.grammar import Field, Shape, extra_of, fields_of, shape_of

_TASK_USES = frozenset({"args"})


class Block(model.Part, frozen=True):
    """Tasks that are run again: `while` and `until`."""

    when: Annotated[model.PolicyGuard, says("The condition.")]
    do: Annotated[list[model.Task], says("The tasks.")]
    most: Annotated[int | None, says("How often at most.")] = msgspec.field(
        name="max", default=None
    )


class ChooseBranch(model.Part, frozen=True):
    """One branch of `choose`: `when` and `do`, or a closing `else`."""

    when: Annotated[model.PolicyGuard | None, says("The condition.")] = None
    do: Annotated[list[model.Task] | None, says("The tasks.")] = None
    otherwise: Annotated[list[model.Task], says("The tasks where no condition held.")] = (
        msgspec.field(name="else", default_factory=list)
    )


class Sugar(model.Part, frozen=True):
    """What may stand among the tasks of a step beside tasks."""

    choose: Annotated[
        list[ChooseBranch] | None, says("The first branch whose condition holds.")
    ] = None
    again: Annotated[Block | None, says("Again as long as the condition holds.")] = msgspec.field(
        name="while", default=None
    )
    until: Annotated[Block | None, says("Again until the condition holds.")] = None


@dataclass(frozen=True, slots=True)
class Place:
    """What the grammar says about an entry: the field it is, and the shapes its value may have."""

    field: Field | None
    shapes: tuple[Shape, ...]
    use: Use | None = None

    @property
    def structs(self) -> list[type[msgspec.Struct]]:
        """The structs that its value may be, itself or as the items of a list."""
        structs = [shape.struct for shape in _flat(self.shapes) if shape.struct is not None]
        items = [shape.item for shape in _flat(self.shapes) if shape.kind == "list" and shape.item]
        structs += [shape.struct for shape in _flat(items) if shape.struct is not None]
        return list(dict.fromkeys(structs))

    @property
    def choices(self) -> list[str]:
        """The words its value may be."""
        flat = [*_flat(self.shapes)]
        flat += [
            part for shape in flat if shape.kind == "list" and shape.item for part in _flat([shape.item])
        ]  # fmt: skip
        return [word for shape in flat for word in shape.choices if isinstance(word, str)]

    @property
    def facts(self) -> Mapping[str, Any]:
        """What its annotations say beside its type."""
        written: dict[str, Any] = {}
        for shape in _flat(self.shapes):
            written |= shape.note.facts
        return written


ROOT = Place(None, (shape_of(model.Playbook),))


def keys_of(entry: Entry, place: Place) -> dict[str, Field]:
    """Return the keys that an entry may have, by their names."""
    fields: dict[str, Field] = {}
    for struct in place.structs:
        fields |= _grammar(struct, entry)
    return fields


def inside(place: Place, entry: Entry) -> Place:
    """Return what the grammar says about an entry, given the place of the one around it."""
    if entry.is_item:
        return Place(place.field, tuple(_items(place.shapes)), place.use)
    assert entry.parent is not None
    assert entry.key is not None
    for struct in place.structs:
        field = _grammar(struct, entry.parent).get(entry.key)
        if field is not None:
            return Place(field, (field.shape,), _use(field, place, struct, entry))
    inner = [shape.item for shape in _flat(place.shapes) if shape.kind == "map" and shape.item]
    return Place(None, tuple(inner), place.use)


def _use(field: Field, place: Place, struct: type[msgspec.Struct], entry: Entry) -> Use | None:
    """Return the place of use of its templates, if it may hold any."""
    assert entry.parent is not None
    if struct is model.Task and field.key in _TASK_USES and _is_of_server(entry.parent):
        return Use.SERVER_TASK
    uses = [shape.note.facts.get("use") for shape in _flat((field.shape,))]
    return next((use for use in uses if use is not None), place.use)


def _is_of_server(task: Entry) -> bool:
    return task.text("kind") in SERVER_KINDS


def _grammar(struct: type[msgspec.Struct], holder: Entry) -> Mapping[str, Field]:
    """Return the keys of a struct, and the further ones that its extra field takes."""
    if struct in (model.Task, model.Credential):
        is_kind_open = holder.is_item and holder.find("kind") is None
        return _by_kind(struct, holder.text("kind"), sugar=is_kind_open)
    return _by_kind(struct)


@lru_cache(maxsize=256)
def _by_kind(
    struct: type[msgspec.Struct], kind: str = "", *, sugar: bool = False
) -> Mapping[str, Field]:
    grammar = dict(fields_of(struct))
    if struct is model.Task:
        grammar |= fields_of(KINDS[kind]) if kind in KINDS else {}
        grammar |= fields_of(Sugar) if sugar else {}
    elif struct is model.Credential:
        grammar |= {key: _ANY_FIELDS[key] for key in CREDENTIAL_KINDS.get(kind, ())}
    elif extra_of(struct) == "knobs":
        grammar |= fields_of(Knobs)
    return grammar


_ANY_FIELDS: Mapping[str, Field] = MappingProxyType(
    {
        key: Field(name=key, key=key, shape=Shape(kind="any"), required=False, default=lambda: None)
        for keys in CREDENTIAL_KINDS.values()
        for key in keys
    }
)


def _items(shapes: Iterable[Shape]) -> Iterator[Shape]:
    for shape in _flat(shapes):
        if shape.kind in ("list", "map") and shape.item is not None:
            yield shape.item  # the workbook may also be a list
        elif shape.struct is model.Cancels:  # its short form is the list of steps
            yield fields_of(model.Cancels)["steps"].shape


def _flat(shapes: Iterable[Shape]) -> Iterator[Shape]:
    for shape in shapes:
        if shape.kind == "union":
            for option in _flat(shape.options):
                note = shape.note
                yield option if not note.facts else _noted(option, note.facts)
        else:
            yield shape


def _noted(shape: Shape, facts: Mapping[str, Any]) -> Shape:
    """Hand the facts of a union down to its options."""
    return replace(shape, note=replace(shape.note, facts={**facts, **shape.note.facts}))
