"""Names: each is unique where it must be, and each that is mentioned exists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from petra.expr.scopes import BUILT_IN, RESERVED
from petra.playbook.checks.document import Document
from petra.playbook.decode import Path
from petra.playbook.model import Action, Task

# The engine itself writes this key (S7).
ENGINE_KEYS = frozenset({"_last_error"})
_ITER_KEYS = frozenset({"index", "parent"})
# They hide a step of that name in the condition of a join only, where nobody reads steps.
_JOIN_NAMES = frozenset({"arrived", "total", "outputs"})


def check_names(document: Document) -> None:
    """Check the names of steps, tasks, regions, resources and credentials."""
    _unique_steps(document)
    _known_steps(document)
    _resources(document)
    _credentials(document)
    for path, _, tasks in document.pipelines():
        _unique_tasks(document, path, tasks)
        _jumps(document, path, tasks)
    _writes(document)


def _unique_steps(document: Document) -> None:
    first: dict[str, int] = {}
    for index, step in enumerate(document.playbook.workflow):
        at = document.at("workflow", index, "step")
        if step.step in first and step.step:
            line = document.at("workflow", first[step.step], "step").line
            document.problems.error(
                "P105",
                at,
                f"step '{step.step}' is already written on line {line}",
                "rename one of the two",
            )
        first.setdefault(step.step, index)
        if step.step in BUILT_IN - _JOIN_NAMES:
            document.problems.warn(
                "P206",
                at,
                f"in templates '{step.step}' is the built-in name, not this step",
                "rename the step",
            )


def _known_steps(document: Document) -> None:
    regions = document.playbook.executor.spec.regions
    for name in [name for name in regions if name in document.steps]:
        document.problems.error(
            "P105",
            document.key_at("executor", "spec", "regions", name),
            f"region '{name}' is called like a step",
            "rename one of the two",
        )
    for leaf in document.leaves:
        if leaf.facts.get("step"):
            names = leaf.value if isinstance(leaf.value, list) else [leaf.value]
            for name in names:
                if isinstance(name, str) and name and "{{" not in name:
                    _known_step(document, name, leaf.path)
        elif leaf.facts.get("step_or_region"):
            for index, name in enumerate(leaf.value):
                if name not in document.steps and name not in regions:
                    hint = document.problems.near(name, [*document.steps, *regions])
                    at = document.at(*leaf.path, index)
                    document.problems.error(
                        "P124", at, f"'{name}' is neither a step nor a region", hint
                    )


def _known_step(document: Document, name: str, path: Path) -> None:
    if name in document.steps:
        return
    holder = "arc leads to" if "arcs" in path else f"'{_key_of(path)}' names"
    document.problems.error(
        "P104",
        document.at(*path),
        f"{holder} unknown step '{name}'",
        document.problems.near(name, document.steps),
    )


def _key_of(path: Path) -> str:
    """Return the key that holds a name; a region's own name with it."""
    keys = [part for part in path if isinstance(part, str)]
    return ".".join(keys[-2:] if "regions" in keys else keys[-1:])


def _unique_tasks(document: Document, path: Path, tasks: Iterable[Task]) -> None:
    counted = Counter(task.name for task in tasks if task.name)
    seen: set[str] = set()
    for index, task in enumerate(tasks):
        if counted[task.name] > 1 and task.name in seen:
            at = document.at(*path, index, "name")
            document.problems.error(
                "P105", at, f"task '{task.name}' stands twice in this step", "rename one of the two"
            )
        seen.add(task.name)


def actions(task: Task, path: Path) -> Iterator[tuple[Path, Action]]:
    """Yield the actions of a task's policy with their places; what the task itself sets is one too."""
    if task.set_ctx or task.set_iter:
        yield path, Action(set_ctx=task.set_ctx, set_iter=task.set_iter)
    for index, rule in enumerate(task.policy.rules if task.policy else ()):
        place: Path = (*path, "spec", "policy", "rules", index)
        if rule.otherwise is not None:
            yield (*place, "else", "then"), rule.otherwise.then
        elif rule.then is not None:
            yield (*place, "then"), rule.then


def _jumps(document: Document, path: Path, tasks: list[Task]) -> None:
    own = [task.name for task in tasks]
    for index, task in enumerate(tasks):
        for place, action in actions(task, (*path, index)):
            at = document.at(*place, "to")
            if action.do != "jump":
                continue
            if action.to is None:
                document.problems.error(
                    "P102", at, "a jump has no 'to'", "name a task of the same step"
                )
            elif action.to not in own:
                _bad_jump(document, place, action.to, own)


def _bad_jump(document: Document, place: Path, target: str, own: list[str]) -> None:
    at = document.at(*place, "to")
    if (home := document.homes.get(target)) is not None:
        apart = home.undoes or home.step is document.playbook.workflow[int(place[1])]
        compensation = "the compensation of " if home.undoes else ""
        document.problems.error(
            "P109", at,
            f"'{target}' is a task of {compensation}step '{home.step.step}'; "
            f"a jump stays inside its {'list' if apart else 'step'}",
            "name a task of the same list" if apart else f"route to '{home.step.step}' with an arc of 'next'",
        )  # fmt: skip
    elif target in document.steps:
        document.problems.error(
            "P110",
            at,
            f"'{target}' is a step; a task policy never starts a step",
            "route to it with an arc of 'next'",
        )
    else:
        document.problems.error(
            "P108", at, f"jump to unknown task '{target}'", document.problems.near(target, own)
        )


def _resources(document: Document) -> None:
    declared = document.playbook.executor.spec.resources
    holders: list[tuple[Path, list[str]]] = [
        (
            ("workflow", index, "spec", "policy", "resources"),
            [r.name for r in step.spec.policy.resources],
        )
        for index, step in enumerate(document.playbook.workflow)
    ]
    defaults = document.playbook.executor.spec.policy.defaults.resources
    holders.append(
        (("executor", "spec", "policy", "defaults", "resources"), [r.name for r in defaults])
    )
    for path, names in holders:
        for index, name in enumerate(names):
            if name and name not in declared:
                hint = (
                    document.problems.near(name, declared)
                    or f"declare it: executor.spec.resources: {{{name}: 1}}"
                )
                document.problems.error(
                    "P120",
                    document.at(*path, index, "name"),
                    f"resource '{name}' is not declared",
                    hint,
                )


def _credentials(document: Document) -> None:
    seen: set[str] = set()
    for index, credential in enumerate(document.playbook.keychain):
        if credential.name in seen:
            at = document.at("keychain", index, "name")
            document.problems.error(
                "P105",
                at,
                f"keychain name '{credential.name}' stands twice",
                "rename one of the two",
            )
        seen.add(credential.name)
    if document.is_foreign:
        return  # there, 'auth' may also name a credential that the server keeps
    for path, _, tasks in document.pipelines():
        for index, task in enumerate(tasks):
            for place, auth in _auths(task, (*path, index)):
                if auth not in seen:
                    hint = (
                        document.problems.near(auth, sorted(seen))
                        or f"add it to the keychain: '- {{name: {auth}, kind: credential}}'"
                    )
                    document.problems.warn(
                        "P209", document.at(*place), f"the keychain does not declare '{auth}'", hint
                    )


def _auths(task: Task, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the credentials a task names, its own and those of the ends of a transfer."""
    holders: list[tuple[Path, Any]] = [(path, task.fields)]
    holders += [((*path, end), task.fields.get(end)) for end in ("source", "target")]
    for place, holder in holders:
        auth = holder.get("auth") if isinstance(holder, dict) else None
        if isinstance(auth, str) and "{{" not in auth:
            yield (*place, "auth"), auth


def _iter_writes(document: Document, place: Path, action: Action) -> None:
    for key in sorted(_ITER_KEYS & set(action.set_iter or {})):
        document.problems.error(
            "P117",
            document.key_at(*place, "set_iter", key),
            f"'iter.{key}' is the engine's own",
            "choose another name",
        )


def _writes(document: Document) -> None:
    """Nothing writes to a name that is the engine's."""
    spec = document.playbook.executor.spec
    written: list[tuple[Path, str]] = [(("executor", "spec", "ctx", key), key) for key in spec.ctx]
    for index, step in enumerate(document.playbook.workflow):
        merge = step.spec.join.merge if step.spec.join is not None else None
        place: Path
        if merge is not None and merge.into is not None:
            place = ("workflow", index, "spec", "join", "merge", "into")
            written.append((place, merge.into))
        loop, place = step.loop, ("workflow", index, "loop")
        while loop is not None:
            if loop.iterator in _ITER_KEYS:
                at = document.at(*place, "iterator")
                document.problems.error(
                    "P117",
                    at,
                    f"'iter.{loop.iterator}' is the engine's own",
                    "choose another name for the item",
                )
            loop, place = loop.loop, (*place, "loop")
    for path, _, tasks in document.pipelines():
        for index, task in enumerate(tasks):
            for place, action in actions(task, (*path, index)):
                written += [((*place, "set_ctx", key), key) for key in action.set_ctx or {}]
                _iter_writes(document, place, action)
    for place, key in written:
        if key.partition(".")[0] in RESERVED | ENGINE_KEYS:
            in_patch = place[-1] == key
            document.problems.error(
                "P117",
                document.key_at(*place) if in_patch else document.at(*place),
                f"'{key}' is reserved and cannot be written to",
                "choose another name",
            )
