"""The renamed dialect: ``input``, ``output``, ``set`` become ``args``, ``outcome``, ``set_ctx`` (S1).

Rule 1: the two dialects may be mixed in one file; canonical words are left alone.
Rule 2: a task's own ``set`` is its ``set_ctx`` and ``set_iter``, which patch on success only; a step's ``set`` is that
of its last task.
Rule 3: templates are rewritten where the old names meant something: ``output`` in a task policy is the
outcome, in an arc it is the boundary event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from petra.playbook import walk
from petra.playbook.notes import Notes
from petra.playbook.problems import Mark
from petra.playbook.tree import (
    AnyMap,
    Tree,
    as_map,
    as_seq,
    child,
    key_mark,
    put,
    rename,
    value_mark,
)

Path = tuple[str, ...]

_OLD_NAMES = ("output", "input", "execution_id")


def rewrite_renamed(document: AnyMap, notes: Notes) -> None:
    """Turn the words of the renamed dialect into the canonical ones, in place."""
    for step in walk.steps(document):
        _step(step, notes)
    for task in workbook_tasks(document):
        _task(task, notes)


def workbook_tasks(document: AnyMap) -> list[AnyMap]:
    """Return the reusable tasks, in either shape of the workbook."""
    book = document.get("workbook")
    items = list((as_map(book) or {}).values()) + list(as_seq(book) or ())
    return [task for item in items if (task := as_map(item)) is not None]


def _step(step: AnyMap, notes: Notes) -> None:
    for task in walk.tasks(step):
        _task(task, notes)
    pipeline = list(walk.tasks_of(step.get("tool")))
    if "input" in step:
        _default_args(step, "input", pipeline, notes)
    if "set" in step:
        mark = key_mark(step, "set")
        if pipeline:
            notes.renamed(
                mark, "set on a step", f"patches of task '{pipeline[-1].get('name', 'its last')}'"
            )
            patch_on_success(pipeline[-1], patches(step["set"], step, notes), mark)
        else:
            notes.refuse(
                mark,
                "a step without a task cannot 'set' anything",
                "give it a 'noop' task with the patch",
            )
        del step["set"]
    for arc in walk.arcs(step):
        _arc(arc, notes)
    for part in ("loop", "spec"):
        walk.edit_strings(step.get(part), lambda text: _renamed(text, _args))


def _task(task: AnyMap, notes: Notes) -> None:
    if "input" in task and "args" not in task:
        notes.renamed(key_mark(task, "input"), "input", "args")
        rename(task, "input", "args")
    for rule in walk.rules(task):
        _edit(rule, _outcome, notes)
        action = walk.action_of(rule)
        if action is not None and "set" in action:
            mark = key_mark(action, "set")
            notes.renamed(mark, "set", "set_ctx, set_iter")
            found = patches(action.pop("set"), action, notes)
            _add_patches(action, found, mark)
    if "set" in task:
        mark = key_mark(task, "set")
        notes.renamed(mark, "set on a task", "set_ctx, set_iter")
        found = patches(task.pop("set"), task, notes)
        patch_on_success(task, found, mark)
    walk.edit_strings(task, lambda text: _renamed(text, _args))


def _arc(arc: AnyMap, notes: Notes) -> None:
    if "set" in arc and "args" not in arc:
        mark = key_mark(arc, "set")
        notes.renamed(mark, "set on an arc", "args")
        rename(arc, "set", "args")
        args = as_map(arc["args"])
        for key in list(args or ()):
            _arc_arg(args, key, notes)
    _edit(arc, _event, notes)


def _arc_arg(args: AnyMap | None, key: str, notes: Notes) -> None:
    assert args is not None
    scope, dot, name = key.partition(".")
    if not dot or not name:
        return
    if scope not in ("args", "input"):
        notes.ignore(
            key_mark(args, key), f"an arc passes arguments: '{key}' becomes 'args.{name}'",
            f"to change {scope}, use a task policy's set_{scope}" if scope in ("ctx", "iter") else "read it as args",
        )  # fmt: skip
    rename(args, key, name)


def _default_args(step: AnyMap, key: str, pipeline: list[AnyMap], notes: Notes) -> None:
    mark = key_mark(step, key)
    given = as_map(step[key])
    notes.renamed(mark, f"{key} on a step", "args of its tasks")
    for task in pipeline:
        if given is None:
            continue
        args = child(task, "args", mark)
        for name, value in given.items():
            if name not in args:
                put(args, name, value, value_mark(given, name))
        walk.edit_strings(args, lambda text: _renamed(text, _args))
    if not pipeline:
        notes.refuse(
            mark, f"a step without a task has no use for '{key}'", "pass args on the arc instead"
        )
    del step[key]


def _edit(node: AnyMap, path: Callable[[Path], Path | None], notes: Notes) -> None:
    changed = False

    def edit(text: str) -> str:
        nonlocal changed
        new = _renamed(text, path)
        changed = changed or new != text
        return new

    walk.edit_strings(node, edit)
    if changed:
        mark = next((key_mark(node, key) for key in node), Mark(1, 1))
        notes.renamed(mark, "output", "outcome" if path is _outcome else "event")


def _renamed(text: str, path: Callable[[Path], Path | None]) -> str:
    """Rename what a template reads; most read no name of this dialect, and parsing each takes long."""
    return walk.renamed(text, path) if any(word in text for word in _OLD_NAMES) else text


def _outcome(path: Path) -> Path | None:
    match path:
        case ("output", "data" | "ref", *rest):
            return ("outcome", "result", *rest)
        case ("output", *rest):
            return ("outcome", *rest)
        case _:
            return _args(path)


def _event(path: Path) -> Path | None:
    match path:
        case ("output", "data" | "ref", *rest):
            return ("event", "result", *rest)
        case ("output", *rest):
            return ("event", *rest)
        case _:
            return _args(path)


def _args(path: Path) -> Path | None:
    match path:
        case ("input", *rest):
            return ("args", *rest)
        case ("execution_id", *rest):
            return ("execution", "id", *rest)
        case _:
            return None


# Patches, which the legacy dialect writes too


def patches(given: Tree, holder: AnyMap, notes: Notes) -> dict[str, dict[str, Tree]]:
    """Sort the targets of a ``set`` into set_ctx and set_iter; bare names go to ctx."""
    found: dict[str, dict[str, Tree]] = {}
    items = as_map(given)
    for key, value in (items or {}).items():
        scope, dot, name = key.partition(".")
        inner = as_map(value)
        if scope in ("ctx", "iter") and dot:
            found.setdefault(f"set_{scope}", {})[name] = value
        elif key in ("ctx", "iter") and inner is not None:
            found.setdefault(f"set_{key}", {}).update(inner)
        elif dot:
            mark = key_mark(items or holder, key)
            notes.refuse(mark, f"'{scope}' cannot be written to", f"write 'ctx.{name}' instead")
        else:
            found.setdefault("set_ctx", {})[key] = value
    for patch in found.values():
        for key, value in patch.items():
            if isinstance(value, str):
                patch[key] = type(value)(_renamed(value, _outcome))
            else:
                walk.edit_strings(value, lambda text: _renamed(text, _outcome))
    return found


def patch_on_success(task: AnyMap, found: Mapping[str, Mapping[str, Tree]], mark: Mark) -> None:
    """Have a task set this when it went well."""
    _add_patches(task, found, mark)


def _add_patches(action: AnyMap, found: Mapping[str, Mapping[str, Tree]], mark: Mark) -> None:
    for name, patch in found.items():
        target = child(action, name, mark)
        for key, value in patch.items():
            if key not in target:
                put(target, key, value, mark)
