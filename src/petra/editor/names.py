"""The names of a text: where steps, tasks, credentials and ctx keys are written, and where they are named."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from petra.editor.entry import Entry
from petra.editor.outline import outline
from petra.editor.place import ROOT, Place, inside

Kind = Literal["step", "task", "credential", "workbook"]
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{\{.*|\{%.*", re.DOTALL)
_NAME = re.compile(r"(?<![\w.'\"])(step\.|step\[['\"])?([A-Za-z_]\w*)")
_HELPER = re.compile(
    r"\b(?:done|ok|fail|running|loop_done|all_done|any_done)\(\s*\[?((?:\s*['\"][^'\"]*['\"],?)+)"
)
_WORD = re.compile(r"[^\s'\",\[\]]+")


@dataclass(frozen=True, slots=True)
class Name:
    """A name at its place in the text; ``within`` is the step that a task's name belongs to."""

    kind: Kind
    name: str
    start: int
    end: int
    within: str = ""


class Text:
    """A text with its outline and its names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = outline(text)
        self.is_test = self.root.text("kind") == "Test"
        self._workflow = self.root.find("workflow")
        self.workflow = self._items("workflow")
        self._places: dict[int, Place] = {}

    @property
    def grammar(self) -> Place:
        """The grammar of the whole text."""
        if self.root.text("kind") in ("Schedule", "Trigger"):
            return _document_grammar(self.root.text("kind") or "")
        return _test_grammar() if self.is_test else ROOT

    def place(self, entry: Entry) -> Place:
        """Return what the grammar says about an entry."""
        place = self.grammar
        for part in entry.ancestors:
            known = self._places.get(id(part))
            place = known if known is not None else inside(place, part)
            self._places[id(part)] = place
        return place

    def at(self, offset: int) -> tuple[Entry | None, bool]:
        """Return the entry at a place, and whether it is the key that stands there."""
        entries, starts = self._in_order
        number = bisect_right(starts, offset) - 1
        entry = entries[number] if number >= 0 else None
        if entry is None:
            return None, False
        if not entry.is_item and offset <= entry.end:
            return entry, True
        has_value = entry.style not in ("", "flow")
        if has_value and entry.value_start <= offset <= entry.value_end:
            return entry, False
        return None, False

    @cached_property
    def _in_order(self) -> tuple[list[Entry], list[int]]:
        """All entries with where they begin; no two values overlap, so the last one before a place decides."""
        entries = list(self.root.walk())
        return entries, [entry.start for entry in entries]

    # What the author has named

    @cached_property
    def steps(self) -> dict[str, Entry]:
        """The steps, by name; the first wins."""
        by_name: dict[str, Entry] = {}
        for item in self.workflow:
            if name := item.text("step"):
                by_name.setdefault(name, item)
        return by_name

    def tasks(self, step: Entry) -> dict[str, Entry]:
        """The tasks of a step that have names."""
        by_name: dict[str, Entry] = {}
        for entry in step.walk():
            name = entry.find("name")
            if entry.is_item and name is not None and _is_task(entry):
                by_name.setdefault(name.value, entry)
        return by_name

    @property
    def ctx_keys(self) -> list[str]:
        """The keys of ctx that are declared or written anywhere."""
        names: dict[str, None] = {}
        executor = self.root.find("executor")
        spec = executor.find("spec") if executor is not None else None
        declared = spec.find("ctx") if spec is not None else None
        names |= dict.fromkeys(_keys(declared))
        for entry in self.root.walk():
            if entry.key == "set_ctx":
                names |= dict.fromkeys(_keys(entry))
            elif entry.key == "into" and entry.value:
                names[entry.value] = None
        return [key for key in names if key]

    def keys_under(self, *path: str) -> list[str]:
        """The keys under a path of keys, such as those of workload."""
        entry: Entry | None = self.root
        for part in path:
            entry = entry.find(part) if entry is not None else None
        return list(_keys(entry))

    @property
    def credentials(self) -> dict[str, Entry]:
        """The entries of the keychain, by name."""
        return {item.text("name"): item for item in self._items("keychain") if item.text("name")}

    @property
    def workbook(self) -> dict[str, Entry]:
        """The tasks of the workbook, by name."""
        workbook = self.root.find("workbook")
        entries = workbook.entries if workbook is not None else []
        named = {(entry.key or entry.text("name")): entry for entry in entries}
        return {name: entry for name, entry in named.items() if name}

    def step_around(self, entry: Entry | None) -> Entry | None:
        """The step that an entry stands in."""
        inside = entry.ancestors if entry is not None else []
        return next((part for part in inside if part.parent is self._workflow and part.is_item), None)  # fmt: skip

    def _items(self, key: str) -> list[Entry]:
        entry = self.root.find(key)
        return [item for item in entry.entries if item.is_item] if entry is not None else []

    # Where names are written and named

    def definition(self, name: Name) -> Entry | None:
        """Return the entry that a name stands for."""
        if name.kind == "step":
            return self.steps.get(name.name)
        if name.kind == "credential":
            return self.credentials.get(name.name)
        if name.kind == "workbook":
            return self.workbook.get(name.name)
        step = self.steps.get(name.within)
        return self.tasks(step).get(name.name) if step is not None else None

    def names(self) -> Iterator[Name]:
        """Yield every name of a step, task, credential or workbook task, in the order of the text."""
        steps = frozenset(self.steps)
        for entry in self.root.walk():
            yield from self._names_in(entry, steps)

    def name_at(self, offset: int) -> Name | None:
        """Return the name at a place."""
        here = (name for name in self.names() if name.start <= offset <= name.end)
        return next(here, None)

    def _names_in(self, entry: Entry, steps: frozenset[str]) -> Iterator[Name]:
        if entry.style in ("", "flow"):
            return
        if "{{" in entry.value or "{%" in entry.value:
            yield from self._in_templates(entry, steps)
            return
        kind = self._kind(entry)
        if kind is not None and entry.value:
            start = self.text.find(entry.value, entry.value_start, entry.value_end)
            start = start if start >= 0 else entry.value_start
            around = self.step_around(entry) if kind == "task" else None
            within = around.text("step") if around is not None else ""
            yield Name(kind, entry.value, start, start + len(entry.value), within)

    def _kind(self, entry: Entry) -> Kind | None:
        """Tell what kind of name a plain value is, if any."""
        parent = entry.parent
        if parent is None:
            return None
        if entry.key == "step" and parent.is_item and parent.parent is self._workflow:
            return "step"
        if entry.key == "auth":
            return "credential"
        if entry.key == "to" and parent.text("do") == "jump":
            return "task"
        if entry.key == "name" and parent.text("kind") == "workbook":
            return "workbook"
        if entry.key == "name" and _is_task(parent):
            return "task"
        facts = self.place(entry).facts
        return "step" if facts.get("step") or facts.get("step_or_region") else None

    def _in_templates(self, entry: Entry, steps: frozenset[str]) -> Iterator[Name]:
        text = self.text[entry.value_start : entry.value_end]
        if entry.style == "block" and self.place(entry).use is None:
            return
        for tag in _TAG.finditer(text):
            base = entry.value_start + tag.start()
            for match in _NAME.finditer(tag[0]):
                if match[2] in steps:
                    yield Name("step", match[2], base + match.start(2), base + match.end(2))
            for call in _HELPER.finditer(tag[0]):
                for word in _WORD.finditer(call[1]):
                    start = base + call.start(1) + word.start()
                    yield Name("step", word[0], start, start + len(word[0]))


@lru_cache(maxsize=16)
def text_of(text: str) -> Text:
    """Return a text with its outline; the last few are kept."""
    return Text(text)


def _keys(entry: Entry | None) -> Iterator[str]:
    for inner in entry.entries if entry is not None else ():
        if inner.key and not inner.bare:
            yield inner.key


def _is_task(entry: Entry) -> bool:
    """Tell whether an entry is a task: it has a kind, or stands in a list of tasks."""
    around = entry.parent
    return around is not None and around.key in ("tool", "do", "else")


@lru_cache(maxsize=2)
def _document_grammar(kind: str) -> Place:
    from petra.playbook.documents import KINDS  # noqa: PLC0415 - only for those
    from petra.playbook.grammar import shape_of  # noqa: PLC0415 - see below

    return Place(None, (shape_of(KINDS[kind]),))


@lru_cache(maxsize=1)
def _test_grammar() -> Place:
    from petra.playbook.grammar import shape_of  # noqa: PLC0415 - see below
    from petra.testing.words import TestFile  # noqa: PLC0415 - only for test files

    return Place(None, (shape_of(TestFile),))
