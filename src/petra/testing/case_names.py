"""The names in a case: steps, tasks and signals that its playbooks do not have are mistakes (S1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from petra.playbook import Playbook
from petra.playbook.model import Task
from petra.playbook.problems import Mark, Problems, did_you_mean
from petra.playbook.tree import Map, Seq, Tree

_LISTS = ("done", "never", "cancelled")
_COUNTS = ("runs", "attempts")
_TRIGGERS = ("when_open", "when_waiting", "step")
_OF_ITEM = ("data", "reason", "on_behalf_of", "step", "item")
_BODIES = {
    "signal": ("name", "key", "payload"),
    "complete": ("action", *_OF_ITEM),
    "cancel": ("reason",),
    "pause": ("reason",),
    "resume": ("reason",),
    **dict.fromkeys(
        ("claim", "release", "start", "fail", "cancel_item", "suspend", "resume_item"), _OF_ITEM
    ),
    **dict.fromkeys(("delegate", "reassign"), ("to", *_OF_ITEM)),
    "group": ("step", "add", "close", "cancel", "complete"),
    "override": ("step", "ok", "result", "error", "reason"),
}
"""What each act takes; a draft and a comment are the author's own."""


class CaseNames:
    """Knows every name that a case may use."""

    def __init__(self, books: Iterable[tuple[str, Playbook]], problems: Problems) -> None:
        """Learn the names of playbooks, each with the place of its file, where it is called by that."""
        self._problems = problems
        self._steps: set[str] = set()
        self._tasks: set[str] = set()
        self._signals: set[str] = set()
        self._any_signal = False
        for place, book in books:
            self._learn(place, book)

    def _learn(self, place: str, book: Playbook) -> None:
        paths = {book.metadata.name, book.metadata.path or book.metadata.name}
        paths |= (
            {place, place.removesuffix(".yaml"), place.removesuffix(".yml")} if place else set()
        )
        for step in book.workflow:
            undo = step.spec.compensate
            tasks = [*step.tool, *(undo.tool if undo is not None else ())]
            named = {step.step, *(f"{path}:{step.step}" for path in paths)}
            self._steps |= named
            for task in tasks:
                self._tasks |= {f"{name}/{task.name}" for name in named}
                self._learn_signals(task)
            if undo is not None:
                self._tasks |= {f"{name}/compensate" for name in named}

    def _learn_signals(self, task: Task) -> None:
        for wait in (task.fields, *(task.fields.get("any_of") or ())):
            signal = wait.get("signal") if isinstance(wait, dict) else None
            name = signal.get("name") if isinstance(signal, dict) else signal
            if isinstance(name, str):
                self._signals.add(name)
                self._any_signal |= "{{" in name

    def check(self, case: Map) -> None:
        """Report every name that nothing has."""
        tools = case.get("tools")
        if isinstance(tools, Map):
            for key in tools:
                self._known(key, {*self._steps, *self._tasks}, tools.key_at(key), "step or task")
        expect = case.get("expect")
        if isinstance(expect, Map):
            for name, mark in _expected(expect):
                self._known(name, {*self._steps, *self._tasks}, mark, "step")
        for item in case.get("world") or ():
            if isinstance(item, Map):
                self._happens(item)

    def _happens(self, item: Map) -> None:
        self._bodies(item)
        for word in _TRIGGERS:
            if isinstance(name := item.get(word), str):
                self._known(name, self._steps, item.value_at(word), "step")
        for word in ("group", "override"):
            act = item.get(word)
            if isinstance(act, Map) and isinstance(name := act.get("step"), str):
                self._known(name, self._steps, act.value_at("step"), "step")
        signal = item.get("signal")
        name = signal.get("name") if isinstance(signal, Map) else signal
        if isinstance(name, str) and self._is_misspelt(name):
            self._known(name, self._signals, item.value_at("signal"), "signal")

    def _bodies(self, item: Map) -> None:
        """Report every key that an act does not take."""
        for act, known in _BODIES.items():
            body = item.get(act)
            if not isinstance(body, Map):
                continue
            for key in [key for key in body if key not in known]:
                at, words = body.key_at(key), f"unknown key '{key}' in '{act}'"
                self._problems.error("P101", at, words, did_you_mean(key, known))

    def _is_misspelt(self, signal: str) -> bool:
        """Whether a signal looks like one that is waited for; any other may be sent to see it refused (S15)."""
        return not self._any_signal and did_you_mean(signal, self._signals).startswith("did you")

    def _known(self, name: Any, known: Iterable[str], mark: Mark, what: str) -> None:
        listed = set(known)
        if isinstance(name, str) and name not in listed:
            hint = did_you_mean(name, sorted(listed)) or "see the playbook of the case"
            code = "P106" if what == "signal" else "P104"
            self._problems.error(code, mark, f"there is no {what} '{name}'", hint)


def _expected(expect: Map) -> Iterator[tuple[Tree, Mark]]:
    for word in _LISTS:
        names = expect.get(word)
        if isinstance(names, Seq):
            yield from ((name, names.item_at(number)) for number, name in enumerate(names))
    for word in _COUNTS:
        counts = expect.get(word)
        if isinstance(counts, Map):
            yield from ((name, counts.key_at(name)) for name in counts)
