"""Made-up results: what a tool might return, judged by how the playbook reads it.

A path that is read gets a value; one that is compared gets a value near what it is compared with; one that
is counted or gone through becomes a list. Everything is drawn from dice with a seed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from petra.errors import ExpressionError
from petra.expr import paths
from petra.playbook.model import Playbook, Step
from petra.playbook.write import to_plain
from petra.values import texts_in

_Item = TypeVar("_Item")

_COMPARED = re.compile(
    r"""\s*(?:==|!=|<=|>=|<|>)\s*(?P<one>'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?|true|false)"""
    r"""|\s+(?:not\s+)?in\s+\[(?P<several>[^\]]*)\]"""
)
_COUNTED = re.compile(r"\s*\|\s*(?:length|count|sum|first|last|map|join|select|reject|sort|unique)")
_APPENDED = re.compile(r"\[\]\s*\)*\s*\+\s*$")
_LITERAL = re.compile(r"""'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?|true|false""")
_ITEM = "*"
"""The part that stands for any item of a list."""
_ITEMS_MAX = 3
_NUMBER_MAX = 9


class Dice:
    """Numbers that look random, and are the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._thrown = 0

    def below(self, limit: int) -> int:
        """Return a number from 0 up to, and without, a limit."""
        self._thrown += 1
        digest = hashlib.sha256(f"{self.seed}\0{self._thrown}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def pick(self, among: Sequence[_Item]) -> _Item:
        """Return one of several."""
        return among[self.below(len(among))]


@dataclass(slots=True)
class Shape:
    """What is read of a value: its parts, what it is compared with, whether it is a list."""

    parts: dict[str, Shape] = field(default_factory=dict)
    samples: list[Any] = field(default_factory=list)
    many: bool = False

    def at(self, path: Sequence[str]) -> Shape:
        """Return the shape of a part, made where it is new."""
        shape = self
        for part in path:
            shape = shape.parts.setdefault(part, Shape())
        return shape

    def make(self, dice: Dice) -> Any:
        """Make up a value."""
        numbers = [int(part) for part in self.parts if part.isdigit()]
        if self.many or numbers:
            least = min(max(numbers, default=-1) + 1, _ITEMS_MAX)
            item = next((self.parts[part] for part in self.parts), Shape())
            return [item.make(dice) for _ in range(least + dice.below(_ITEMS_MAX + 1))]
        if self.parts:
            return {part: shape.make(dice) for part, shape in self.parts.items()}
        return dice.pick(self.samples) if self.samples else dice.below(_NUMBER_MAX + 1)


class Guess:
    """The shapes of what the steps of a playbook result in."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook
        keys = "|".join(sorted(map(re.escape, _empty_lists(to_plain(playbook)))))
        self._lists_read = re.compile(rf"\b(?:iter|ctx)\.(?:{keys})\b") if keys else None
        self._texts = self._texts_of(playbook)
        self._known: dict[str, Shape] = {}

    def _texts_of(self, part: Any) -> list[str]:
        """Return the texts of a part; a variable that begins as an empty list is written as one."""
        texts = texts_in(to_plain(part))
        lists = self._lists_read
        return [lists.sub("[]", text) for text in texts] if lists else list(texts)

    def result_of(self, step: str, task: str = "") -> Shape:
        """Return the shape of a task's result; without a task, that of the step's last one."""
        (authored,) = (candidate for candidate in self._playbook.workflow if candidate.step == step)
        names = [named.name for named in authored.tool]
        number = names.index(task) if task in names else len(names) - 1
        key = f"{step}\0{number}"
        if key not in self._known:
            self._known[key] = self._shape(authored, number)
        return self._known[key]

    def _shape(self, step: Step, number: int) -> Shape:
        """Gather who reads it: the task's own policy, the tasks after it, and all others if it is the last."""
        task = step.tool[number]
        shape = Shape()
        own = [("outcome", "result"), (task.name,)]
        if task is step.tool[-1] and step.loop is None:
            own.append(("event", "result"))
            everywhere = [(step.step,), ("step", step.step, "result")]
            for text in self._texts:
                _note(shape, text, everywhere)
            own += everywhere
        for text in self._texts_of(task):
            _note(shape, text, [("outcome", "result")])
        for text in self._texts_of(step):
            _note(shape, text, [root for root in own if root[0] in ("event", task.name)])
        for later in step.tool[number + 1 : number + 2]:
            for text in self._texts_of(later):
                _note(shape, text, [("_prev",)])
        for text, item_texts, item in self._lists():
            _note_list(shape, text, own, item_texts, item)
        return shape

    def _lists(self) -> Iterator[tuple[str, list[str], tuple[str, ...]]]:
        """Yield the templates that must give lists, and where an item is read by what name."""
        for step in self._playbook.workflow:
            if step.loop is not None and isinstance(step.loop.items, str):
                yield step.loop.items, self._texts_of(step), ("iter", step.loop.iterator)
            for arc in step.next.arcs if step.next else ():
                if isinstance(arc.foreach, str):
                    target = next(
                        candidate
                        for candidate in self._playbook.workflow
                        if candidate.step == arc.step
                    )
                    yield arc.foreach, self._texts_of(target), ("args", arc.item)


def _note(shape: Shape, text: str, roots: list[tuple[str, ...]]) -> None:
    """Note what a template reads below some roots."""
    for path, before, rest in _reads(text, roots):
        part = shape.at(path)
        if compared := _COMPARED.match(rest):
            literals = compared["several"] if compared["one"] is None else compared["one"]
            part.samples += [
                sample for literal in _LITERAL.findall(literals) for sample in _near(literal)
            ]
        elif _COUNTED.match(rest) or _APPENDED.search(before):
            part.many = True


def _note_list(
    shape: Shape,
    text: str,
    roots: list[tuple[str, ...]],
    item_texts: list[str],
    item: tuple[str, ...],
) -> None:
    for path, _, rest in _reads(text, roots):
        if rest.strip() == "}}":
            sample = shape.at(path)
            sample.many = True
            for one in item_texts:
                _note(sample.at((_ITEM,)), one, [item])


def _reads(text: str, roots: list[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield the paths below some roots that a template reads, with the text before and after each."""
    try:
        uses = paths(text)
    except ExpressionError:
        return  # code of another language
    for use in uses:
        for root in roots:
            if use.path[: len(root)] == root and not use.call:
                yield use.path[len(root) :], text[: use.start], text[use.end :]


def _near(literal: str) -> list[Any]:
    """Return the value of a literal, and values on both sides of it."""
    if literal[0] in "'\"":
        return [literal[1:-1]]
    number = json.loads(literal)
    return [True, False] if isinstance(number, bool) else [number - 1, number, number + 1]


def fill(schema: dict[str, Any], value: Any, dice: Dice) -> Any:
    """Fill in a form as far as its schema says how; what is proposed stays."""
    if value is not None and schema.get("type") != "object":
        return value
    if "const" in schema or schema.get("enum"):
        return schema["const"] if "const" in schema else dice.pick(schema["enum"])
    match schema.get("type"):
        case "object":
            filled = dict(value) if isinstance(value, dict) else {}
            for key, part in (schema.get("properties") or {}).items():
                filled[key] = fill(part if isinstance(part, dict) else {}, filled.get(key), dice)
            return filled
        case "array":
            return []
        case "boolean":
            return bool(dice.below(2))
        case "string":
            return "x" * max(1, schema.get("minLength", 0))
        case _:
            return schema.get("minimum", 0) + dice.below(_NUMBER_MAX + 1)


def _empty_lists(value: Any) -> set[str]:
    """Return the keys that are given an empty list somewhere."""
    if isinstance(value, list):
        return {key for item in value for key in _empty_lists(item)}
    if not isinstance(value, dict):
        return set()
    return {key for key, item in value.items() if item == []} | {
        key for item in value.values() for key in _empty_lists(item)
    }
