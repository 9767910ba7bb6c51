"""The names in a case: steps, tasks and signals that its playbooks do not have are mistakes (S1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from petra.playbook import Playbook
from petra.playbook.company import tasks
from petra.playbook.model import Task
from petra.playbook.problems import Mark, Problems, did_you_mean
from petra.playbook.tree import Map, Seq, Tree
from petra.testing.scripts import called

_LISTS = ("done", "never", "cancelled")
_COUNTS = ("runs", "attempts")
_LISTED = ("done", "cancelled")
"""What lists the steps of the playbook that is tested, and no others."""
_FREE = ("save", "comment", "patch_ctx", "signal")
"""Acts whose content is the author's own."""
_TRIGGERS = ("when_open", "when_waiting")
_WHICH = ("item", "step")


class CaseNames:
    """Knows every name that a case may use."""

    def __init__(
        self, own: Playbook, others: Sequence[tuple[str, Playbook]], problems: Problems
    ) -> None:
        """``others`` are what may be called, each with the file it lies in where it is called by that."""
        self._problems = problems
        self._own = {step.step for step in own.workflow}
        self._steps: set[str] = set()
        self._tasks: set[str] = set()
        self._signals: set[str] = set()
        self._any_signal = False
        self._learn(own, {""})
        if any(
            task.kind == "playbook"
            for book in (own, *dict(others).values())
            for task in tasks(book)
        ):
            for place, book in (("", own), *others):
                self._learn(book, called(book, place))

    def _learn(self, book: Playbook, names: Collection[str]) -> None:
        """Learn a playbook that is called by these names; under no name it is the one that is tested."""
        for step in book.workflow:
            undo = step.spec.compensate
            own = [*step.tool, *(undo.tool if undo is not None else ())]
            named = {f"{name}:{step.step}" if name else step.step for name in names}
            self._steps |= named
            for task in own:
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
            for word, name, mark in _expected(expect):
                known = self._own if word in _LISTED else self._steps
                self._known(name, known, mark, "step")
        world = case.get("world")
        for item in world if isinstance(world, Seq) else ():
            if isinstance(item, Map):
                self._happens(item)

    def _happens(self, item: Map) -> None:
        acts = [body for key, body in item.items() if isinstance(body, Map) and key not in _FREE]
        for holder, words in ((item, (*_TRIGGERS, *_WHICH)), *((body, _WHICH) for body in acts)):
            for word in words:
                if isinstance(name := holder.get(word), str):
                    self._known(name, self._steps, holder.value_at(word), "step")
        signal = item.get("signal")
        name = signal.get("name") if isinstance(signal, Map) else signal
        if isinstance(name, str) and self._is_misspelt(name):
            self._known(name, self._signals, item.value_at("signal"), "signal")

    def _is_misspelt(self, signal: str) -> bool:
        """Whether a signal looks like one that is waited for; any other may be sent to see it refused (S15)."""
        return not self._any_signal and did_you_mean(signal, self._signals).startswith("did you")

    def _known(self, name: Any, known: Iterable[str], mark: Mark, what: str) -> None:
        listed = set(known)
        if isinstance(name, str) and name not in listed:
            hint = did_you_mean(name, sorted(listed)) or "see the playbook of the case"
            code = "P106" if what == "signal" else "P104"
            self._problems.error(code, mark, f"there is no {what} '{name}'", hint)


def _expected(expect: Map) -> Iterator[tuple[str, Tree, Mark]]:
    for word in _LISTS:
        names = expect.get(word)
        if isinstance(names, Seq):
            yield from ((word, name, names.item_at(number)) for number, name in enumerate(names))
    for word in _COUNTS:
        counts = expect.get(word)
        if isinstance(counts, Map):
            yield from ((word, name, counts.key_at(name)) for name in counts)
