"""What may stand at a place of the text: keys, words, names, filters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from petra.editor.entry import Entry
from petra.editor.names import Text
from petra.editor.place import Place, keys_of
from petra.editor.words import NAMES, PARTS, STATES, filters, tests
from petra.expr import FUNCTIONS, SCOPES, Use
from petra.kinds import KINDS
from petra.playbook.credentials import CREDENTIAL_KINDS
from petra.playbook.grammar import Field, about
from petra.playbook.model import Credential, Task

Kind = Literal["key", "word", "step", "task", "name", "filter"]
_CURSOR = "\ue000"
_LONGEST = 1_000
_DOTTED = re.compile(r"(?:[A-Za-z_]\w*\s*\.\s*)*\w*\Z")
_FILTER = re.compile(r"\|\s*\w*\Z")
_TEST = re.compile(r"\bis\s+(?:not\s+)?\w*\Z")
_OPEN = re.compile(r"\{[{%]")
_CLOSED = re.compile(r"[}%]\}")
_ON_WORKER = frozenset({Use.TASK, Use.POLICY, Use.PATCH})


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something that may be written from ``start`` to ``end``."""

    label: str
    kind: Kind
    about: str
    insert: str
    start: int
    end: int


def complete(text: str, offset: int, more_steps: Sequence[str] = ()) -> list[Suggestion]:
    """Return what may stand at a place; ``more_steps`` are those of the playbook that a test file names."""
    offset = max(0, min(offset, len(text)))
    here = Text(text[:offset] + _CURSOR + text[offset:])
    entry, is_key = _entry_of_cursor(here, offset)
    if entry is None:
        return []
    return _Here(here, entry, offset, more_steps).suggestions(is_key=is_key)


def _entry_of_cursor(here: Text, offset: int) -> tuple[Entry | None, bool]:
    for entry in here.root.walk():
        if entry.start > offset:
            break
        if entry.key is not None and _CURSOR in entry.key:
            return entry, True
        if entry.style not in ("", "flow") and entry.value_start <= offset < entry.value_end:
            return entry, False
    return None, False


class _Here:
    def __init__(self, text: Text, entry: Entry, offset: int, more_steps: Sequence[str]) -> None:
        self.text = text
        self.entry = entry
        self.offset = offset
        self.steps = [*text.steps, *more_steps]
        self.start, self.end = _word_around(text.text, offset)

    def suggestions(self, *, is_key: bool) -> list[Suggestion]:
        if is_key:
            return list(self._keys(self.entry.parent or self.text.root))
        written = self.text.text[self.entry.value_start : self.offset]
        opened = max((m.end() for m in _OPEN.finditer(written)), default=-1)
        closed = max((m.end() for m in _CLOSED.finditer(written)), default=-1)
        place = self.text.place(self.entry)
        if opened > closed:
            return list(self._expression(written[opened:][-_LONGEST:], place))
        if self.entry.style == "block":
            return []
        if self.entry.is_item and place.structs:
            return list(self._keys(self.entry))
        return list(self._values(place))

    # Keys

    def _keys(self, holder: Entry) -> Iterator[Suggestion]:
        place = self.text.place(holder)
        keys = keys_of(holder, place)
        there = {entry.key for entry in holder.entries if not entry.bare}
        dash = "- " if _needs_dash(holder, place) else ""
        for key, field in keys.items():
            if key not in there:
                yield self._made(key, "key", _about(field), f"{dash}{key}: ")
        if not keys:
            for name in self._free_keys(holder):
                if name not in there:
                    yield self._made(name, "name", "", f"{name}: ")

    def _free_keys(self, holder: Entry) -> Iterable[str]:
        """Return the author's own names that may be keys of a mapping."""
        if holder.key == "set_ctx":
            return self.text.ctx_keys
        if self.text.is_test and holder.key in ("tools", "runs", "attempts"):
            return self.steps
        return ()

    # Values

    def _values(self, place: Place) -> Iterator[Suggestion]:
        parent = self.entry.parent
        facts = place.facts
        if facts.get("step") or facts.get("step_or_region") or self._names_steps():
            yield from self._all(self.steps, "step", "A step.")
        if facts.get("step_or_region"):
            regions = self.text.keys_under("executor", "spec", "regions")
            yield from self._all(regions, "name", "A region.")
        if parent is not None:
            yield from self._of_tasks(parent)
        yield from self._all(place.choices, "word", _about(place.field))
        if any(shape.kind == "bool" for shape in place.shapes):
            yield from self._all(("true", "false"), "word", _about(place.field))

    def _names_steps(self) -> bool:
        """Tell whether a test file names a step here."""
        around = self.entry.parent.key if self.entry.is_item and self.entry.parent else None
        return self.text.is_test and (
            self.entry.key in ("when_open", "when_waiting", "item", "step")
            or around in ("done", "never", "cancelled")
        )

    def _of_tasks(self, parent: Entry) -> Iterator[Suggestion]:
        structs = self.text.place(parent).structs
        if self.entry.key == "kind" and Task in structs:
            for kind, fields in KINDS.items():
                yield self._made(kind, "word", about(fields), kind)
            yield self._made("workbook", "word", "A task of the workbook, by its name.", "workbook")
        elif self.entry.key == "kind" and Credential in structs:
            yield from self._all(CREDENTIAL_KINDS, "word", "Where a secret comes from.")
        elif self.entry.key == "to":
            step = self.text.step_around(self.entry)
            names = self.text.tasks(step) if step is not None else ()
            yield from self._all(names, "task", "A task of this step.")
        elif self.entry.key == "auth":
            yield from self._all(self.text.credentials, "name", "An entry of the keychain.")
        elif self.entry.key == "name" and parent.text("kind") == "workbook":
            yield from self._all(self.text.workbook, "task", "A task of the workbook.")

    # Expressions

    def _expression(self, written: str, place: Place) -> Iterator[Suggestion]:
        if _FILTER.search(written):
            yield from self._described(filters(), "filter")
            return
        if _TEST.search(written):
            yield from self._described(tests(), "filter")
            return
        dotted = _DOTTED.search(written)
        *path, _ = re.split(r"\s*\.\s*", dotted[0]) if dotted is not None else [""]
        if path:
            yield from self._described(self._parts(tuple(path)), "name")
        else:
            yield from self._described(self._scope(place.use), "name")
            yield from self._all(self.steps, "step", "The result of this step.")

    def _scope(self, use: Use | None) -> dict[str, str]:
        names = SCOPES[use] if use is not None else SCOPES[Use.OUTPUT]
        described = {name: NAMES.get(name, "") for name in sorted(names)}
        step = self.text.step_around(self.entry)
        if use in _ON_WORKER and step is not None:
            described |= dict.fromkeys(self.text.tasks(step), "The result of this task.")
        return described | dict.fromkeys(FUNCTIONS, "A function.")

    def _parts(self, path: tuple[str, ...]) -> Mapping[str, str]:
        """Return what may follow a path and its dot."""
        head = path[0]
        if head == "ctx" and len(path) == 1:
            return dict.fromkeys([*self.text.ctx_keys, "_last_error"], "A key of ctx.")
        if head == "workload":
            return dict.fromkeys(self.text.keys_under(*path), "A part of the workload.")
        if head == "keychain" and len(path) == 1:
            return dict.fromkeys(self.text.credentials, "A secret.")
        if head == "args" and len(path) == 1:
            return dict.fromkeys(self._arguments(), "An argument of the token.")
        if head == "iter":
            fixed = dict.fromkeys(PARTS[("iter",)], "The loop's own.")
            return dict.fromkeys(self._iterators(), "The item, or what set_iter wrote.") | fixed
        if head == "step":
            by_length = {
                1: dict.fromkeys(self.steps, "A step."),
                2: {"result": "What it came to.", "status": "How far it is."},
                3: STATES if path[2] == "status" else {},
            }
            return by_length.get(len(path), {})
        return dict.fromkeys(PARTS.get(path, ()), NAMES.get(head, ""))

    def _arguments(self) -> Iterator[str]:
        """Yield the arguments that arcs give to the step around."""
        step = self.text.step_around(self.entry)
        name = step.text("step") if step is not None else ""
        for entry in self.text.root.walk():
            if entry.key == "step" and entry.value == name and entry.parent is not step:
                arc = entry.parent
                args = arc.find("args") if arc is not None else None
                yield from (part.key for part in args.entries if part.key) if args else ()
                if arc is not None and arc.find("foreach") is not None:
                    yield arc.text("as") or "item"

    def _iterators(self) -> Iterator[str]:
        step = self.text.step_around(self.entry)
        for entry in step.walk() if step is not None else ():
            if entry.key == "iterator" and entry.value:
                yield entry.value
            elif entry.key == "set_iter":
                yield from (part.key for part in entry.entries if part.key)

    # Making them

    def _all(self, labels: Iterable[str], kind: Kind, about: str) -> Iterator[Suggestion]:
        for label in dict.fromkeys(labels):
            if _CURSOR not in label:
                yield self._made(label, kind, about, label)

    def _described(self, described: Mapping[str, str], kind: Kind) -> Iterator[Suggestion]:
        for label, words in described.items():
            if _CURSOR not in label:
                yield self._made(label, kind, words, label)

    def _made(self, label: str, kind: Kind, about: str, insert: str) -> Suggestion:
        """Make a suggestion that replaces the word around the cursor."""
        if insert.endswith(": ") and self.text.text.startswith(":", self.end + 1):
            insert = insert[:-2]
        return Suggestion(label, kind, about, insert, self.start, self.end)


def _word_around(text: str, offset: int) -> tuple[int, int]:
    """Return where the word begins and ends that the cursor stands in, in the text without the cursor."""
    start, end = offset, offset + 1
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_-"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] in "_-"):
        end += 1
    return start, end - 1


def _needs_dash(holder: Entry, place: Place) -> bool:
    """Tell whether an entry of a list is meant, and its dash is not written yet."""
    lists = any(shape.kind == "list" for shape in place.shapes)
    return lists and not holder.is_item and holder.key != "tool" and holder.style != "flow"


def _about(field: Field | None) -> str:
    if field is None:
        return ""
    shapes = [field.shape, *field.shape.options]
    said = [shape.note.description for shape in shapes if shape.note.description]
    said += [about(shape.struct) for shape in shapes if shape.struct is not None]
    needed = " Required." if field.required else ""
    return (said[0] if said else "") + needed
