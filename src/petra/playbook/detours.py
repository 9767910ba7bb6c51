"""Steps that a rewrite adds, for what other dialects do where canonical playbooks have no words for it.

| written | becomes |
|---|---|
| an arc that writes ctx | an arc to a step that writes it, and goes on to where the arc led |
| ``bind`` of a step with a loop | a step ahead of it, which binds before the list is read |

What a token brings is handed on, so the steps on both sides do not see that there is one between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from petra.expr.names import dotted
from petra.playbook import walk
from petra.playbook.problems import START, Mark
from petra.playbook.tree import (
    AnyMap,
    Tree,
    as_map,
    as_seq,
    child,
    insert,
    key_mark,
    move,
    new_map,
    new_seq,
    put,
    value_mark,
)

PATCH = "set_ctx"
"""The argument that takes what an arc writes to the step that writes it."""
_HALF = 90
"""A name of two names has half the room for each."""


def write_on_the_way(step: AnyMap, arc: AnyMap, changes: AnyMap, taken: set[str]) -> AnyMap:
    """Lead an arc of a step over a step that writes ctx, and return that one; its name is none of those taken.

    What is written is computed where the arc is, and travels as an argument; what needs no computing does not.
    """
    mark = getattr(changes, "mark", START)
    target = arc.get("step")
    name = _new_name(f"{walk.short_name(step)[:_HALF]}_to_{str(target)[:_HALF]}", taken)
    args = child(arc, "args", mark)
    handed_on = [*args, *_item(arc)]
    parcel = _new_name(PATCH, {*handed_on})
    computed = new_map({}, mark, like=step)
    read = new_map({}, mark, like=step)
    for key, value in changes.items():
        at = key_mark(changes, key)
        if _is_computed(value):
            put(computed, key, value, at)
        put(read, key, _read("args", parcel, key) if key in computed else value, at)
    if computed:
        put(args, parcel, computed, mark)
    tool = new_map({"kind": "noop", "set_ctx": read}, mark, like=step)
    handed = {key: _read("args", key) for key in handed_on}
    onward = _arc(target, value_mark(arc, "step"), handed, mark, like=step)
    if not args:
        del arc["args"]
    put(arc, "step", name, value_mark(arc, "step"))
    return new_map({"step": name, "tool": tool, "next": onward}, mark, like=step)


class Binding(NamedTuple):
    """What is to be bound ahead of a step, by which tasks."""

    step: AnyMap
    tasks: list[Tree]
    mark: Mark


def bind_ahead(document: AnyMap, bindings: list[Binding]) -> None:
    """Put a step ahead of each that binds: what led to that one leads to it, and through its gate."""
    taken = names_of_steps(document)
    ahead = {
        str(binding.step.get("step")): _new_name(f"{walk.short_name(binding.step)}_bind", taken)
        for binding in bindings
    }
    brought = _lead(document, ahead)
    spec = as_map((as_map(document.get("executor")) or {}).get("spec")) or {}
    if (entry := str(spec.get("entry_step"))) in ahead:
        put(spec, "entry_step", ahead[entry], value_mark(spec, "entry_step"))
    for names in _sets_of_steps(document, spec):
        names.extend([ahead[str(name)] for name in names if str(name) in ahead])
    for step, tasks, mark in bindings:
        name = str(step.get("step"))
        detour = new_map({"step": ahead[name]}, mark, like=step)
        _move_gate(step, detour, mark)
        put(detour, "tool", new_seq(tasks, mark, like=step), mark)
        onward = _arc(name, mark, _handed_on(brought[name]), mark, like=step)
        put(detour, "next", onward, mark)
        put_beside(document, step, detour, after=0)


def _move_gate(step: AnyMap, detour: AnyMap, mark: Mark) -> None:
    """What decides when a step may start decides it ahead of the binding."""
    spec = as_map(step.get("spec")) or {}
    policy = as_map(spec.get("policy")) or {}
    if "join" in spec:
        move(spec, "join", child(detour, "spec", mark))
    if "admit" in policy:
        move(policy, "admit", child(child(detour, "spec", mark), "policy", mark))
        if not policy:
            del spec["policy"]
    if "spec" in step and not spec:
        del step["spec"]


def _lead(document: AnyMap, ahead: Mapping[str, str]) -> dict[str, list[list[str]]]:
    """Let the arcs to some steps lead to those ahead of them; return the arguments each brings."""
    brought: dict[str, list[list[str]]] = {name: [] for name in ahead}
    for step in walk.steps(document):
        for arc in walk.arcs(step):
            target = arc.get("step")
            if isinstance(target, str) and target in ahead:
                put(arc, "step", ahead[target], value_mark(arc, "step"))
                brought[target].append([*(as_map(arc.get("args")) or ()), *_item(arc)])
    return brought


def _handed_on(brought: list[list[str]]) -> dict[str, str]:
    """Return the arguments that go on; what some arcs do not bring is null."""
    names = dict.fromkeys(key for keys in brought for key in keys)
    return {
        key: _read("args", key, optional=not all(key in keys for keys in brought)) for key in names
    }


def _sets_of_steps(document: AnyMap, spec: Mapping[str, Tree]) -> Iterable[Tree]:
    """Yield the lists that name steps to be withdrawn."""
    yield from (names for names in (as_map(spec.get("regions")) or {}).values() if as_seq(names))
    for step in walk.steps(document):
        cancels = (as_map(step.get("spec")) or {}).get("cancels")
        names = as_seq(cancels) or as_seq((as_map(cancels) or {}).get("steps"))
        if names:
            yield names


def _item(arc: AnyMap) -> list[str]:
    return [str(arc.get("as", "item"))] if arc.get("foreach") is not None else []


def _arc(target: Tree, at: Mark, args: Mapping[str, str], mark: Mark, *, like: AnyMap) -> AnyMap:
    """Return a router with one arc."""
    arc = new_map({}, mark, like=like)
    put(arc, "step", target, at)
    if args:
        put(arc, "args", new_map(args, mark, like=like), mark)
    return new_map({"arcs": new_seq([arc], mark, like=like)}, mark, like=like)


def _read(*path: str, optional: bool = False) -> str:
    return "{{ " + dotted(path) + (" | default(none)" if optional else "") + " }}"


def _is_computed(value: Tree) -> bool:
    if (node := as_map(value)) is not None:
        return any(_is_computed(item) for item in node.values())
    if (items := as_seq(value)) is not None:
        return any(_is_computed(item) for item in items)
    return isinstance(value, str) and "{{" in value


def names_of_steps(document: AnyMap) -> set[str]:
    """Return the names that no other step may have."""
    return {str(step.get("step")) for step in walk.steps(document)}


def _new_name(wanted: str, taken: set[str]) -> str:
    """Make a name that is not taken, and take it."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def put_beside(document: AnyMap, step: AnyMap, detour: AnyMap, *, after: int) -> None:
    """Put a step into the workflow, so many places behind the beginning of another one."""
    workflow = as_seq(document.get("workflow"))
    assert workflow is not None, "the step stands in it"
    index = next(number for number, other in enumerate(workflow) if other is step)
    insert(workflow, index + after, detour, getattr(detour, "mark", START))
