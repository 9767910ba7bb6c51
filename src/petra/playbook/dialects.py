"""The renamed dialect: ``input``, ``output``, ``set`` become ``args``, ``outcome``, ``set_ctx`` (S1).

Rule 1: the two dialects may be mixed in one file; canonical words are left alone.
Rule 2: a task's own ``set`` is its ``set_ctx`` and ``set_iter``, which patch on success only; a step's ``set`` is that
of its last task.
Rule 3: what an arc sets are arguments of its token; ``ctx.x`` is written by a step on the way (``detours``).
Rule 4: templates are rewritten where the old names meant something: ``output`` in a task policy is the
outcome, in an arc it is the boundary event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from petra.playbook import walk
from petra.playbook.detours import names_of_steps, put_beside, write_on_the_way
from petra.playbook.notes import Notes
from petra.playbook.problems import Mark
from petra.playbook.tree import (
    AnyMap,
    Tree,
    as_map,
    as_seq,
    child,
    key_mark,
    new_map,
    put,
    rename,
    value_mark,
)

Path = tuple[str, ...]

_OLD_NAMES = ("output", "input", "execution_id")


def rewrite_renamed(document: AnyMap, notes: Notes) -> None:
    """Turn the words of the renamed dialect into the canonical ones, in place."""
    names = names_of_steps(document)
    for step in list(walk.steps(document)):
        _step(step, notes)
        for number, detour in enumerate(_arcs(step, names, notes), 1):
            put_beside(document, step, detour, after=number)
    for task in workbook_tasks(document):
        _task(task, notes)


def workbook_tasks(document: AnyMap) -> Iterator[AnyMap]:
    """Yield the reusable tasks, in whatever shape the workbook has."""
    book = document.get("workbook")
    named = as_map(book)
    if named is not None and set(named) == {"tasks"}:
        book = named["tasks"]
        named = as_map(book)
    for item in [*(named or {}).values(), *(as_seq(book) or ())]:
        task = as_map(item) or {}
        inner = as_map(task.get("tool")) if "kind" not in task else None
        yield inner if inner is not None else task


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
            patch_on_success(pipeline[-1], patches(step["set"], notes), mark)
        else:
            notes.refuse(
                mark,
                "a step without a task cannot 'set' anything",
                "give it a 'noop' task with the patch",
            )
        del step["set"]
    for part in ("loop", "spec"):
        walk.edit_strings(step.get(part), lambda text: _renamed(text, _args))


def _task(task: AnyMap, notes: Notes) -> None:
    _input(task, notes)
    for rule in walk.rules(task):
        _edit(rule, _outcome, notes)
        action = walk.action_of(rule)
        if action is not None and "set" in action:
            mark = key_mark(action, "set")
            notes.renamed(mark, "set", "set_ctx, set_iter")
            written = patches(action.pop("set"), notes)
            _add_patches(action, written, mark)
    if "set" in task:
        mark = key_mark(task, "set")
        notes.renamed(mark, "set on a task", "set_ctx, set_iter")
        written = patches(task.pop("set"), notes)
        patch_on_success(task, written, mark)
    walk.edit_strings(task, lambda text: _renamed(text, _args))


def _input(task: AnyMap, notes: Notes) -> None:
    """``input`` is ``args``; where both stand, each name stands in one of them."""
    inputs, args = as_map(task.get("input")), as_map(task.get("args"))
    if "input" in task and "args" not in task:
        notes.renamed(key_mark(task, "input"), "input", "args")
        rename(task, "input", "args")
    elif inputs is not None and args is not None:
        notes.renamed(key_mark(task, "input"), "input", "args")
        for name, value in inputs.items():
            _once(args, name, value, key_mark(inputs, name), notes)
        del task["input"]


def _arcs(step: AnyMap, names: set[str], notes: Notes) -> list[AnyMap]:
    """Rewrite the arcs of a step; return the steps that some of them lead over now."""
    detours = []
    for arc in walk.arcs(step):
        changes = _arc(arc, notes)
        if changes:
            detours.append(write_on_the_way(step, arc, changes, names))
    return detours


def _arc(arc: AnyMap, notes: Notes) -> AnyMap:
    """Make what an arc sets arguments of its token; return what it writes to ctx."""
    mark = key_mark(arc, "set")
    changes = new_map({}, mark, like=arc)
    if "set" in arc:
        body = as_map(arc.pop("set"))
        if body is None:
            notes.refuse(mark, "'set' on an arc must be a mapping", "give each value a name")
        else:
            notes.renamed(mark, "set on an arc", "args, and a step that writes ctx")
            _assign(arc, body, changes, notes)
    _edit(arc, _event, notes)
    walk.edit_strings(changes, lambda text: _renamed(text, _event), skip=frozenset())
    return changes


def _assign(arc: AnyMap, body: AnyMap, changes: AnyMap, notes: Notes) -> None:
    """Sort what an arc sets into arguments of its token and changes of ctx."""
    for scope, name, value, at in _targets(body, ("ctx", "args", "input")):
        if scope == "ctx":
            put(changes, name, value, at)
        elif scope in ("", "args", "input"):
            _once(child(arc, "args", at), name, value, at, notes)
        else:
            _unwritable(scope, name, at, notes)


def _once(args: AnyMap, name: str, value: Tree, at: Mark, notes: Notes) -> None:
    """Add an argument that is not there yet; of two with one name, nobody knows which is meant."""
    if name in args:
        notes.refuse(at, f"the argument '{name}' is given twice", "keep one of the two")
    else:
        put(args, name, value, at)


def _default_args(step: AnyMap, key: str, pipeline: list[AnyMap], notes: Notes) -> None:
    mark = key_mark(step, key)
    values = as_map(step[key])
    notes.renamed(mark, f"{key} on a step", "args of its tasks")
    for task in pipeline:
        if values is None:
            continue
        args = child(task, "args", mark)
        for name, value in values.items():
            if name not in args:
                put(args, name, value, value_mark(values, name))
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


def patches(body: Tree, notes: Notes) -> dict[str, dict[str, Tree]]:
    """Sort the targets of a ``set`` into set_ctx and set_iter; bare names go to ctx."""
    written: dict[str, dict[str, Tree]] = {}
    for scope, name, value, at in _targets(as_map(body) or {}, ("ctx", "iter")):
        if scope in ("", "ctx", "iter"):
            written.setdefault(f"set_{scope or 'ctx'}", {})[name] = value
        else:
            _unwritable(scope, name, at, notes)
    for patch in written.values():
        walk.edit_strings(patch, lambda text: _renamed(text, _outcome), skip=frozenset())
    return written


def _targets(
    body: AnyMap | dict[str, Tree], scopes: tuple[str, ...]
) -> Iterator[tuple[str, str, Tree, Mark]]:
    """Yield what a ``set`` assigns: scope, name and value, and where; the scope of a bare name is empty."""
    for key, value in body.items():
        scope, dot, name = key.partition(".")
        inner = as_map(value) if key in scopes else None
        at = key_mark(body, key)
        if dot and name:
            yield scope, name, value, at
        elif inner is not None:
            yield from ((key, name, item, key_mark(inner, name)) for name, item in inner.items())
        else:
            yield "", key, value, at


def _unwritable(scope: str, name: str, at: Mark, notes: Notes) -> None:
    """Another engine has state of single steps and iterations where Petra has none."""
    tell = notes.lose if scope in ("step", "iter") else notes.refuse
    tell(at, f"'{scope}.{name}' cannot be written to", f"write 'ctx.{name}' instead")


def patch_on_success(task: AnyMap, written: Mapping[str, Mapping[str, Tree]], mark: Mark) -> None:
    """Have a task set this when it went well."""
    _add_patches(task, written, mark)


def _add_patches(action: AnyMap, written: Mapping[str, Mapping[str, Tree]], mark: Mark) -> None:
    for name, patch in written.items():
        target = child(action, name, mark)
        for key, value in patch.items():
            if key not in target:
                put(target, key, value, mark)
