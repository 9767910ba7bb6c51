"""Keys that cannot be there: fields of results, inputs that nobody declares, ctx that nothing writes (S1).

A result whose kind has a known shape has no other fields: an error. Of ``workload`` and ``ctx`` others may bring
keys, a caller or an operator: there, a key is an error when one that is there looks like it, else a warning. What
the author expects to be absent (``| default``, ``is defined``) is nobody's mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from petra.expr import PathUse, Template
from petra.expr.scopes import BUILT_IN, Use
from petra.playbook.checks.document import Document
from petra.playbook.checks.names import ENGINE_KEYS, actions
from petra.playbook.decode import Path
from petra.playbook.model import Step, Task
from petra.playbook.problems import Mark

_ROWS = ("rows", "count")
RESULT_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "http": ("status", "headers", "data", "encoding"),
        "postgres": _ROWS,
        "sqlite": _ROWS,
        "duckdb": _ROWS,
        "shell": ("stdout", "stderr", "exit_code"),
        "transfer": ("count", "chunks"),
        "llm": ("text", "data", "tool_calls", "message", "finish", "model", "usage", "cost"),
        "mcp": ("text", "data", "content"),
        "human": ("action", "data", "actor"),
        "wait": ("which", "payload"),
    }
)
"""What the results of these kinds are made of; those of others are the author's own."""
_CLOSED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"execution": ("id", "playbook", "started_at"), "_task": ("name", "key")}
)
"""Names that have these parts and no others."""
_SIMILAR = 0.8
_COMBINED = ("allOf", "anyOf", "oneOf")
_OPEN = ("$ref", "patternProperties", "if", "dependentSchemas")


_LEAVES_WRITES = frozenset({"P104", "P108", "P109", "P118", "P119", "P120", "P128", "P205"})
"""Errors of arcs, jumps, resources and expressions: what steps write was read all the same."""

_SAID = {
    "workload": ("neither 'workload' nor 'input_schema' has '{}'", "add it under 'workload'"),
    "ctx": ("nothing writes 'ctx.{}'", "write it with 'set_ctx'"),
    "iter": ("no loop here has 'iter.{}'", "name the item with 'iterator'"),
}


class Fault(NamedTuple):
    """What is wrong with a key, and whether that is certain."""

    message: str
    hint: str
    certain: bool


class _Fields(NamedTuple):
    """What a result has, and how the author calls it."""

    names: frozenset[str]
    whose: str
    kinds: frozenset[str]


class Keys:
    """Judges the keys that templates read, for one playbook."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.doubts: list[tuple[Fault, Mark]] = []
        self._known_items: dict[int, frozenset[str]] = {}

    def fault(self, path: Path, template: Template, use: Use, read: PathUse) -> Fault | None:
        """Say what is wrong with the key that a template reads, if anything is."""
        if read.call or len(read.path) == 1:
            return None
        expected = (one.path for one in template.paths if one.optional)
        if any(one[: len(read.path)] == read.path for one in expected):
            return None
        first, key = read.path[:2]
        if first in _CLOSED:
            return _not_in(key, first, _CLOSED[first])
        if first == "workload":
            return None if self._inputs is None else _unlike(key, first, self._inputs)
        if first == "ctx":
            return _unlike(key, first, self._written)
        if first == "iter":
            return _unlike(key, first, self._items(int(path[1]))) if path[0] == "workflow" else None
        return self._result(path, use, read.path)

    def report(self, fault: Fault, at: Mark) -> None:
        """Report a fault; in files of other engines as a warning."""
        if fault.certain and not self.document.is_foreign:
            self.document.problems.error("P128", at, fault.message, fault.hint)
        else:
            self.doubts.append((fault, at))

    def tell(self) -> None:
        """Tell the warnings, unless what was read with errors may have been what writes these keys."""
        errors = [found for found in self.document.problems if found.severity == "error"]
        if _LEAVES_WRITES.issuperset(found.code for found in errors):
            told = {(found.line, found.column) for found in errors}
            for fault, at in self.doubts:
                if at not in told:  # a name that is not there has no keys
                    self.document.problems.warn("P128", at, fault.message, fault.hint)

    @cached_property
    def _inputs(self) -> frozenset[str] | None:
        """The keys of the workload; None where a schema leaves them open."""
        playbook = self.document.playbook
        schema = playbook.executor.spec.input_schema or {}
        declared = list(_properties(schema))
        if None in declared:
            return None
        return frozenset(playbook.workload) | {name for name in declared if name is not None}

    @cached_property
    def _written(self) -> frozenset[str]:
        spec = self.document.playbook.executor.spec
        known = {*spec.ctx, *ENGINE_KEYS}
        for step in self.document.playbook.workflow:
            merge = step.spec.join.merge if step.spec.join is not None else None
            if merge is not None and merge.into is not None:
                known.add(merge.into)
        for path, _, tasks in self.document.pipelines():
            for index, task in enumerate(tasks):
                for _, action in actions(task, (*path, index)):
                    known.update(action.set_ctx or {})
        return frozenset(key.partition(".")[0] for key in known)

    def _items(self, step: int) -> frozenset[str]:
        """The keys of ``iter`` in a step: the items of its loops, and what its tasks write."""
        if step not in self._known_items:
            known = {"index", "parent"}
            loop = self.document.playbook.workflow[step].loop
            while loop is not None:
                known.add(loop.iterator)
                loop = loop.loop
            for place, _, tasks in self.document.pipelines():
                if place[1] == step:
                    for index, task in enumerate(tasks):
                        for _, action in actions(task, (*place, index)):
                            known.update(key.partition(".")[0] for key in action.set_iter or {})
            self._known_items[step] = frozenset(known)
        return self._known_items[step]

    # Results

    def _result(self, path: Path, use: Use, read: tuple[str, ...]) -> Fault | None:
        step = self.document.playbook.workflow[int(path[1])] if path[0] == "workflow" else None
        meant = self._meant(path, use, read, step)
        if meant is None:
            return None
        length, fields = meant
        if len(read) <= length or read[length] in fields.names:
            return None
        before, key = ".".join(read[:length]), read[length]
        hint = (
            f"write '{before}.data.{key}'"
            if fields.kinds == {"http"}
            else f"it has {', '.join(sorted(fields.names))}"
        )
        return Fault(f"the result of {fields.whose} has no '{key}'", hint, certain=True)

    def _meant(
        self, path: Path, use: Use, read: tuple[str, ...], step: Step | None
    ) -> tuple[int, _Fields] | None:
        """Return how many parts of a path name a result, and what that has."""
        tasks, own = _pipeline(path, step)
        if read[:2] == ("event", "result") and use is Use.ARC and step is not None:
            return _with(2, self._of_step(step))
        if read[:2] == ("outcome", "result") and own is not None:
            return _with(2, _of_tasks([own], f"task '{own.name}'"))
        if read[0] == "step" and read[2:3] == ("result",) and read[1] in self.document.steps:
            return _with(3, self._of_step(self.document.steps[read[1]]))
        offset = 1 if read[0] == "results" else 0
        name = read[offset] if len(read) > offset else ""
        named = next((task for task in tasks if task.name == name), None)
        if named is not None and step is not None and step.loop is None:
            return _with(offset + 1, _of_tasks([named], f"task '{name}'"))
        if not offset and name in self.document.steps and name not in BUILT_IN and named is None:
            return _with(1, self._of_step(self.document.steps[name]))
        return None

    def _of_step(self, step: Step) -> _Fields | None:
        """What the result of a step has: that of whichever task ends it."""
        if step.loop is not None:
            return None
        ends = [
            task
            for task in step.tool
            if any(action.do == "break" for _, action in actions(task, ()))
        ]
        results = [task for task in step.tool if task.kind != "noop"]
        return _of_tasks([*ends, *results[-1:]], f"step '{step.step}'")


def _unlike(key: str, scope: str, known: frozenset[str]) -> Fault | None:
    """Say that an open scope does not have a key; it is surely a mistake when another looks like it."""
    if key in known:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

    near = get_close_matches(key, sorted(known), n=1, cutoff=_SIMILAR)
    words, add = _SAID[scope]
    hint = f"did you mean '{scope}.{near[0]}'?" if near else f"{add}, or read it with 'default'"
    return Fault(words.format(key), hint, certain=bool(near))


def _not_in(key: str, scope: str, known: Sequence[str]) -> Fault | None:
    """Say that a name does not have a part."""
    if key in known:
        return None
    return Fault(f"'{scope}' has no '{key}'", f"it has {' and '.join(known)}", certain=True)


def _with(length: int, fields: _Fields | None) -> tuple[int, _Fields] | None:
    return None if fields is None else (length, fields)


def _of_tasks(tasks: list[Task], whose: str) -> _Fields | None:
    kinds = frozenset(task.kind for task in tasks)
    if not kinds or not kinds <= RESULT_FIELDS.keys():
        return None
    names = frozenset(name for kind in kinds for name in RESULT_FIELDS[kind])
    return _Fields(names, f"{whose}, of kind {' or '.join(sorted(kinds))},", kinds)


def _pipeline(path: Path, step: Step | None) -> tuple[list[Task], Task | None]:
    """Return the tasks whose results a place can name, and the task it belongs to."""
    if step is None:
        return [], None
    if path[2:3] == ("tool",) and isinstance(path[3], int):
        return step.tool, step.tool[path[3]]
    if path[2:5] == ("spec", "compensate", "tool") and step.spec.compensate is not None:
        tasks = step.spec.compensate.tool
        return tasks, tasks[int(path[5])]
    return [], None


def _properties(schema: Any) -> Iterator[str | None]:
    """Yield the properties that a schema declares; None where others may be meant."""
    if not isinstance(schema, dict):
        return
    if any(word in schema for word in _OPEN):
        yield None
    declared = schema.get("properties")
    yield from declared if isinstance(declared, dict) else ()
    required = schema.get("required")
    yield from required if isinstance(required, list) else ()
    for word in _COMBINED:
        for item in schema.get(word) or ():
            yield from _properties(item)
