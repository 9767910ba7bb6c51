"""Walks over the parts of a document that every rewrite looks at: steps, tasks, rules, arcs, strings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from petra.errors import ExpressionError
from petra.expr import Path, rewrite
from petra.playbook.tree import AnyMap, Tree, as_map, as_seq

# A name has at most 200 characters, also with a suffix.
_STEM_MAX = 180
SUGAR = ("choose", "while", "until")
# Text in these keys is code of another language, never a template of ours.
CODE_KEYS = frozenset({"code", "script", "command", "commands", "query", "function", "sql"})


def is_foreign(document: AnyMap) -> bool:
    """Whether the header is NoETL's: what Petra does not know there is ignored, and told."""
    return str(document.get("apiVersion")).startswith("noetl.io/")


def steps(document: AnyMap) -> Iterator[AnyMap]:
    """Yield every step that is a mapping."""
    for item in as_seq(document.get("workflow")) or ():
        if (step := as_map(item)) is not None:
            yield step


def short_name(step: AnyMap) -> str:
    """Return a step's name, cut so that a task's name can be made of it."""
    return str(step.get("step", "step"))[:_STEM_MAX]


def tasks(step: AnyMap) -> Iterator[AnyMap]:
    """Yield every task of a step, also those inside sugar and compensations."""
    yield from tasks_of(step.get("tool"))
    spec = as_map(step.get("spec")) or {}
    undo = as_map(spec.get("compensate")) or {}
    yield from tasks_of(undo.get("tool"))


def tasks_of(tool: Tree) -> Iterator[AnyMap]:
    """Yield the tasks of one pipeline, in any of its shapes."""
    if (single := as_map(tool)) is not None:
        yield single
    for item in as_seq(tool) or ():
        task = as_map(item)
        if task is None:
            continue
        inner = list(blocks(task))
        if not inner:
            yield labelled(task) or task
        for block in inner:
            yield from tasks_of(block)


def labelled(task: AnyMap) -> AnyMap | None:
    """Return the task that is written under its name: ``- fetch: {kind: http}``."""
    if len(task) != 1 or "kind" in task:
        return None
    ((label, body),) = task.items()
    node = as_map(body)
    return node if node is not None and "kind" in node and label not in SUGAR else None


def blocks(task: AnyMap) -> Iterator[Tree]:
    """Yield the task lists inside the sugar of a task."""
    for branch in as_seq(task.get("choose")) or ():
        node = as_map(branch) or {}
        yield node.get("do", node.get("else"))
    for word in ("while", "until"):
        if (block := as_map(task.get(word))) is not None:
            yield block.get("do")


def rules(holder: AnyMap, policy: str = "policy") -> Iterator[AnyMap]:
    """Yield the rules of ``spec.policy`` (or of ``spec.policy.admit``) of a task or step."""
    spec = as_map(holder.get("spec")) or {}
    found = as_map(spec.get("policy")) or {}
    if policy != "policy":
        found = as_map(found.get(policy)) or {}
    for item in as_seq(found.get("rules")) or ():
        if (rule := as_map(item)) is not None:
            yield rule


def action_of(rule: AnyMap) -> AnyMap | None:
    """Return what a rule does, wherever the author put it."""
    otherwise = as_map(rule.get("else"))
    return as_map((otherwise if otherwise is not None else rule).get("then"))


def arcs(step: AnyMap) -> Iterator[AnyMap]:
    """Yield the arcs of a step's router."""
    router = as_map(step.get("next")) or {}
    for item in as_seq(router.get("arcs")) or ():
        if (arc := as_map(item)) is not None:
            yield arc


def renamed(text: str, path: Callable[[Path], Path | None]) -> str:
    """Rename what a template reads; one that cannot be read is left to the checks."""
    if "{" not in text:
        return text
    try:
        return rewrite(text, path)
    except ExpressionError:
        return text


def edit_strings(
    node: Tree, edit: Callable[[str], str], *, skip: frozenset[str] = CODE_KEYS
) -> None:
    """Pass every string below a node through ``edit``, in place; keys of code are left alone."""
    if (entries := as_map(node)) is not None:
        for key, value in list(entries.items()):
            if key in skip:
                continue
            if isinstance(value, str):
                _replace(entries, key, value, edit(value))
            else:
                edit_strings(value, edit, skip=skip)
    elif (items := as_seq(node)) is not None:
        for index, value in enumerate(items):
            if isinstance(value, str):
                _replace(items, index, value, edit(value))
            else:
                edit_strings(value, edit, skip=skip)


def _replace(holder: Tree, key: str | int, old: str, new: str) -> None:
    if new != old:
        # ruamel's strings remember how they were quoted
        holder[key] = type(old)(new)
