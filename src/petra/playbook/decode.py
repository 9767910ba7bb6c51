"""Tree to struct: every mistake reported, none twice, and always a struct in the end.

A broken value becomes the default of its field (or an empty value), so that the checks that follow can
still look at everything else. Where anything was reported as an error, the result is not for running.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec

from petra.playbook.durations import as_seconds
from petra.playbook.grammar import Field, Shape, extra_of, fields_of
from petra.playbook.problems import Mark, Problems, did_you_mean
from petra.playbook.tree import Map, Seq, Tree

S = TypeVar("S", bound=msgspec.Struct)
Path = tuple[str | int, ...]

_WORDS = {
    "any": "a value", "text": "text", "int": "a whole number", "number": "a number", "bool": "true or false",
    "null": "nothing", "list": "a list", "map": "a mapping", "struct": "a mapping",
}  # fmt: skip
_EMPTY: dict[str, Callable[[], Any]] = {
    "text": str, "int": int, "number": int, "bool": bool, "list": list, "map": dict,
}  # fmt: skip


# What an end of a transfer is; other engines have more of them.
_ENDS = (("source", "kind"), ("target", "kind"))


class Keys(Protocol):
    """Knows about keys that are no field of a struct, and whether the document is another engine's."""

    foreign: bool

    def enter(self, struct: type[msgspec.Struct], node: Map, path: Path, at: Mark) -> None:
        """Look at a mapping before it is decoded."""

    def take(
        self, decoder: Decoder, struct: type[msgspec.Struct], node: Map, key: str, path: Path
    ) -> bool:
        """Decide about a key without a field: whether the struct's extra field takes it.

        What is not taken has been reported.
        """


class Decoder:
    """Decodes one document."""

    def __init__(self, problems: Problems, keys: Keys) -> None:
        self.problems = problems
        self.keys = keys

    def struct(self, node: Tree, struct: type[S], path: Path, at: Mark) -> S:
        """Decode a mapping into a struct."""
        if not isinstance(node, Map):
            if node is not None or _has_required(struct):
                self._wrong(at, path, _WORDS["struct"], node)
                return _blank_struct(struct)
            node = Map(at)
        self.keys.enter(struct, node, path, at)
        grammar = fields_of(struct)
        values: dict[str, Any] = {}
        for key, field in grammar.items():
            if key in node:
                values[field.name] = self._field(node, field, path)
            else:
                values[field.name] = _blank(field.shape) if field.required else field.default()
                if field.required:
                    self._missing(at, path, field)
        self._extras(node, struct, path, values)
        return struct(**values)

    def _field(self, node: Map, field: Field, path: Path) -> Any:
        value, at = node[field.key], node.value_at(field.key)
        inner = (*path, field.key)
        if value is None and not field.required and not _takes_null(field.shape):
            return field.default()  # an empty value is an absent one
        return self.value(value, field.shape, inner, at)

    def _missing(self, at: Mark, path: Path, field: Field) -> None:
        example = f" {field.shape.choices[0]}" if field.shape.kind == "choice" else ""
        self.problems.error(
            "P102", at, f"{where(path)} has no '{field.key}'", f"add '{field.key}:{example}'"
        )

    def _extras(
        self, node: Map, struct: type[msgspec.Struct], path: Path, values: dict[str, Any]
    ) -> None:
        taken: dict[str, Any] = {}
        for key in node:
            if key not in fields_of(struct) and self.keys.take(self, struct, node, key, path):
                taken[key] = plain(node[key])
        if (extra := extra_of(struct)) is not None:
            values[extra] = taken

    def value(self, node: Tree, shape: Shape, path: Path, at: Mark) -> Any:
        """Decode a value; a wrong one is reported and replaced by an empty one."""
        match shape.kind:
            case "any":
                if shape.note.facts.get("placeholder") and node not in (None, "", {}, []):
                    self._reserved(at, path)
                return plain(node)
            case "struct":
                assert shape.struct is not None
                return self.struct(node, shape.struct, path, at)
            case "union":
                return self._union(node, shape, path, at)
            case "list":
                return self._list(node, shape, path, at)
            case "map":
                return self._map(node, shape, path, at)
            case "choice":
                return self._choice(node, shape, path, at)
            case _:
                return self._scalar(node, shape, path, at)

    def _union(self, node: Tree, shape: Shape, path: Path, at: Mark) -> Any:
        fitting = [option for option in shape.options if _fits(node, option)]
        structs = [option for option in fitting if option.kind == "struct"]
        if len(structs) > 1:  # the one whose keys the author used
            structs.sort(
                key=lambda o: -len(set(node) & set(fields_of(o.struct))) if o.struct else 0
            )
        chosen = structs or fitting
        if not chosen:
            if isinstance(node, str) and (
                words := [o for o in shape.options if o.kind == "choice"]
            ):
                return self._choice(node, words[0], path, at)
            self._wrong(
                at, path, " or ".join(_describe(o) for o in shape.options if o.kind != "null"), node
            )
            return _blank(shape)
        return self.value(node, chosen[0], path, at)

    def _list(self, node: Tree, shape: Shape, path: Path, at: Mark) -> list[Any]:
        assert shape.item is not None
        if not isinstance(node, Seq):
            self._wrong(at, path, _WORDS["list"], node)
            return []
        if shape.note.longest == 0 and node:
            self._reserved(at, path)
            return []
        if shape.note.shortest and len(node) < shape.note.shortest:
            self.problems.error("P103", at, f"{where(path)} is empty", "add at least one entry")
        return [
            self.value(item, shape.item, (*path, index), node.item_at(index))
            for index, item in enumerate(node)
        ]

    def _map(self, node: Tree, shape: Shape, path: Path, at: Mark) -> dict[str, Any]:
        assert shape.item is not None
        if not isinstance(node, Map):
            self._wrong(at, path, _WORDS["map"], node)
            return {}
        if shape.note.longest == 0 and node:
            self._reserved(at, path)
            return {}
        return {
            key: self.value(item, shape.item, (*path, key), node.value_at(key))
            for key, item in node.items()
        }

    def _choice(self, node: Tree, shape: Shape, path: Path, at: Mark) -> Any:
        if node in shape.choices and isinstance(node, str):
            return node
        shown = ", ".join(f"'{choice}'" for choice in shape.choices)
        if len(shape.choices) == 1 and path[-1] == "mode":
            self._reserved(at, path)
        elif isinstance(node, str) and self.keys.foreign and path[-2:] in _ENDS:
            words = f"{where(path)} is '{_short(node)}', which Petra does not know"
            self.problems.warn("P208", at, words, "this task cannot run here without a plug-in")
        elif isinstance(node, str):
            self.problems.error(
                "P106",
                at,
                f"{where(path)} cannot be '{_short(node)}'",
                did_you_mean(node, shape.choices) or f"one of {shown}",
            )
        else:
            self._wrong(at, path, f"one of {shown}", node)
        return shape.choices[0]

    def _scalar(self, node: Tree, shape: Shape, path: Path, at: Mark) -> Any:
        if not _fits(node, shape):
            self._wrong(at, path, _WORDS[shape.kind], node)
            return _blank(shape)
        note = shape.note
        if note.shortest and isinstance(node, str) and len(node) < note.shortest:
            self.problems.error("P103", at, f"{where(path)} is empty", "write its name")
        if note.longest and isinstance(node, str) and len(node) > note.longest:
            self.problems.error(
                "P103", at, f"{where(path)} is longer than {note.longest} characters", "shorten it"
            )
        if isinstance(node, int | float) and not isinstance(node, bool):
            if note.least is not None and node < note.least:
                self.problems.error(
                    "P103", at, f"{where(path)} is {node}", f"at least {note.least:g}"
                )
            if note.most is not None and node > note.most:
                self.problems.error(
                    "P103", at, f"{where(path)} is {node}", f"at most {note.most:g}"
                )
            if note.above is not None and node <= note.above:
                self.problems.error(
                    "P103", at, f"{where(path)} is {node}", f"must be more than {note.above:g}"
                )
        return node

    def _wrong(self, at: Mark, path: Path, wanted: str, node: Tree) -> None:
        if path[-1:] == ("tool",):
            wanted = "a task or a list of tasks"
        if node is None:
            self.problems.error("P103", at, f"{where(path)} is empty", f"give it {wanted}")
            return
        self.problems.error(
            "P103",
            at,
            f"{where(path)} must be {wanted}, not {name_of(node)}",
            _advice_here(path, node) or _advice(wanted, node),
        )

    def _reserved(self, at: Mark, path: Path) -> None:
        self.problems.error(
            "P113",
            at,
            f"{where(path)} is a placeholder for which only the default is supported",
            f"remove '{path[-1]}'",
        )


def plain(node: Tree) -> Any:
    """Turn a tree into plain JSON."""
    if isinstance(node, dict):
        return {key: plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [plain(value) for value in node]
    return node


_ITEMS = {
    "workflow": "step", "tool": "task", "arcs": "arc", "rules": "rule", "keychain": "keychain entry",
    "resources": "resource", "escalate": "escalation", "any_of": "alternative", "workbook": "task",
}  # fmt: skip


def where(path: Path) -> str:
    """Name a place in few words; its line says the rest: ``this arc``, ``'then.do'``."""
    last = max((i for i, part in enumerate(path) if isinstance(part, int)), default=-1)
    tail = path[last + 1 :]
    if tail[:1] == ("workbook",) and len(tail) == 2:
        return f"workbook task '{tail[1]}'"
    if tail:
        return "'" + ".".join(str(part) for part in tail) + "'"
    if last < 0:
        return "the playbook"
    return f"this {_ITEMS.get(str(path[last - 1]), f'entry of {path[last - 1]}')}"


def name_of(node: Tree) -> str:
    """Name a value for an error message, short."""
    match node:
        case None:
            return "empty"
        case bool():
            return "true" if node else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"the text '{_short(node)}'"
        case _:
            return f"the number {_short(str(node))}"


def _short(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= 40 else words[:39] + "…"


def _advice_here(path: Path, node: Tree) -> str:
    if path[-1:] == ("auth",):
        return "name an entry of the keychain"
    if path == ("workflow",) and isinstance(node, dict) and "step" not in node:
        return "write each step as an entry: '- step: name'"
    if path[-1:] == ("args",) and isinstance(node, str):
        return f"give it a name: 'args: {{data: {node}}}'"
    if path[-1:] == ("loop",) and isinstance(node, str):
        return f"write 'in: {node}' and 'iterator: item' under 'loop:'"
    if path[-2:-1] == ("arcs",) and isinstance(node, str):
        return f"write '- step: {node}'"
    return ""


def _advice(wanted: str, node: Tree) -> str:
    if wanted == "a list" and isinstance(node, dict):
        return "start each entry with '- '"
    if wanted.startswith("a mapping with 'rules'") and isinstance(node, list):
        return "put the list under 'rules:'"
    if (
        wanted.startswith("a mapping with '") and isinstance(node, list) and node
        and not any(isinstance(entry, dict) for entry in node)
    ):  # fmt: skip
        return f"write {{{wanted.split(chr(39))[1]}: […]}}"
    if wanted.startswith("a mapping") and isinstance(node, list):
        return "remove the '- ' in front of the keys"
    if isinstance(node, str) and "{{" in node:
        return "a template cannot stand here"
    if wanted == "a number" and isinstance(node, str):
        return as_seconds(node)
    if wanted == "text" and not isinstance(node, dict | list):
        return "put it in quotes" if node is not None else "write a value"
    return ""


def _blank(shape: Shape) -> Any:
    """Make the emptiest value of a shape, for where the author gave none that fits."""
    if shape.kind == "struct" and shape.struct is not None:
        return _blank_struct(shape.struct)
    if shape.kind == "choice":
        return shape.choices[0]
    if shape.kind == "union" and not _takes_null(shape):
        return _blank(shape.options[0])
    return _EMPTY.get(shape.kind, lambda: None)()


def _blank_struct(struct: type[S]) -> S:
    grammar = fields_of(struct).values()
    return struct(**{f.name: _blank(f.shape) if f.required else f.default() for f in grammar})


def _has_required(struct: type[msgspec.Struct]) -> bool:
    return any(field.required for field in fields_of(struct).values())


def _takes_null(shape: Shape) -> bool:
    return shape.kind in ("any", "null") or any(_takes_null(option) for option in shape.options)


def _describe(shape: Shape) -> str:
    if shape.kind == "choice":
        return "one of " + ", ".join(f"'{choice}'" for choice in shape.choices)
    if shape.kind == "struct" and shape.struct is not None:
        return "a mapping with " + ", ".join(
            f"'{key}'" for key in list(fields_of(shape.struct))[:4]
        )
    if shape.kind == "union":
        return " or ".join(_describe(option) for option in shape.options if option.kind != "null")
    return _WORDS[shape.kind]


_FORMS: dict[str, Callable[[Tree], bool]] = {
    "any": lambda _: True,
    "null": lambda node: node is None,
    "bool": lambda node: isinstance(node, bool),
    "int": lambda node: isinstance(node, int) and not isinstance(node, bool),
    "number": lambda node: isinstance(node, int | float) and not isinstance(node, bool),
    "text": lambda node: isinstance(node, str),
    "list": lambda node: isinstance(node, Seq),
    "map": lambda node: isinstance(node, Map),
    "struct": lambda node: isinstance(node, Map),
}


def _fits(node: Tree, shape: Shape) -> bool:
    """Tell whether a value is of the outer form of a shape."""
    if shape.kind == "choice":
        return isinstance(node, str) and node in shape.choices
    if shape.kind == "union":
        return any(_fits(node, option) for option in shape.options)
    return _FORMS[shape.kind](node)
