"""Shapes: the ways a task list, a rule or a workbook may be written become one (S5, 002§7).

Rule 1: a single task becomes a list of one, called ``<step>_task``; unnamed tasks become ``task_0…``.
Rule 2: ``kind: workbook`` is replaced by the workbook's task; keys given at the call win.
Rule 3: a malformed shape that has one obvious meaning is reported with its fix and then read as meant,
so that the rest of it is still checked.
"""

from __future__ import annotations

from petra.playbook import walk
from petra.playbook.grammar import fields_of
from petra.playbook.model import Action, Allow, Step
from petra.playbook.problems import Mark, Problems
from petra.playbook.step_patches import PATCHES, step_patches
from petra.playbook.sugar import expand
from petra.playbook.tree import Map, Seq, Tree, as_map, copy_tree, move, new_map, rename
from petra.playbook.workbook import workbook

ACTION_WORDS = frozenset(fields_of(Action)) | frozenset(fields_of(Allow))
# The keys of a step, in any dialect.
_STEP_WORDS = frozenset(fields_of(Step)) | {"when", "bind", "case", "input", "set", *PATCHES}
_RULE_WORDS = frozenset({"when", "then", "else"})


def name_kinds(document: Map, problems: Problems) -> None:
    """Give every step whose kind stands outside of a task its task, before the dialects look for tasks."""
    for step in walk.steps(document):
        assert isinstance(step, Map)
        _bare_kind(step, problems)


def normalise(document: Map, problems: Problems) -> None:
    """Bring every task list, rule and workbook of a document into the one shape."""
    book = workbook(document, problems)
    for step in walk.steps(document):
        assert isinstance(step, Map)
        name = walk.short_name(step)
        _single_keys(step)
        _cursor(step, problems)
        step_patches(step, problems)
        if "tool" in step:
            _set(step, "tool", _pipeline(step, f"{name}_task", book, problems))
        undo = as_map((as_map(step.get("spec")) or {}).get("compensate"))
        if isinstance(undo, Map) and "tool" in undo:
            _set(undo, "tool", _pipeline(undo, f"{name}_compensate", book, problems))
        for rule in walk.rules(step, "admit"):
            _rule(rule, problems)
        for task in walk.tasks(step):
            for rule in walk.rules(task):
                _rule(rule, problems)
    for task in book.values():
        for rule in walk.rules(task):
            _rule(rule, problems)


def _single_keys(step: Map) -> None:
    """``cancels: [a]`` is short for ``cancels: {steps: [a]}``; loop settings may stand under policy."""
    spec = as_map(step.get("spec"))
    if isinstance(spec, Map) and isinstance(spec.get("cancels"), Seq | str):
        listed = spec["cancels"]
        at = spec.value_at("cancels")
        if isinstance(listed, str):
            single = Seq(at)
            single.write(listed, at)
            listed = single
        _set(spec, "cancels", new_map({"steps": listed}, at))
    loop = as_map(step.get("loop"))
    while isinstance(loop, Map):
        _loop_policy(as_map(loop.get("spec")))
        loop = as_map(loop.get("loop"))


def _cursor(step: Map, problems: Problems) -> None:
    """A loop over a cursor is another engine's: one problem, however many settings it has."""
    loop = as_map(step.get("loop"))
    if not isinstance(loop, Map) or "cursor" not in loop or "in" in loop:
        return
    at = loop.key_at("cursor")
    problems.error("P113", at, "a loop over a cursor is not supported", "give it a list: 'in:'")
    rename(loop, "cursor", "in")
    loop["in"] = Seq(at)
    spec = as_map(loop.get("spec")) or {}
    spec.pop("frame", None)
    if spec.get("mode") == "cursor":
        spec["mode"] = "sequential"


def _bare_kind(step: Map, problems: Problems) -> None:
    """``tool: http`` or ``type: http`` with the keys of the task beside it: refused, then read as meant."""
    word = "type" if "tool" not in step else "tool"
    kind = step.get(word)
    if not isinstance(kind, str):
        return
    at = step.value_at(word)
    hint = f"write 'kind: {kind}' under 'tool:' and put the keys of the task beside it"
    if word == "tool":
        message = f"'tool' must be a task or a list of tasks, not the text '{kind}'"
        problems.error("P103", at, message, hint)
    else:
        problems.error("P101", step.key_at("type"), "unknown key 'type' in this step", hint)
    del step[word]
    task = Map(at)
    task.write("kind", kind, at, at)
    for key in [key for key in step if key not in _STEP_WORDS]:
        move(step, key, task)
    step.write("tool", task, at, at)


def _loop_policy(spec: Tree) -> None:
    policy = as_map(spec.get("policy")) if isinstance(spec, Map) else None
    if not isinstance(policy, Map):
        return
    for word in ("mode", "max_in_flight"):
        if word in policy and word not in spec:
            spec.write(word, policy[word], policy.key_at(word), policy.value_at(word))
        policy.pop(word, None)


def _pipeline(holder: Map, single: str, book: dict[str, Map], problems: Problems) -> Tree:
    tool = holder["tool"]
    at = holder.value_at("tool")
    if isinstance(tool, Map):
        listed = Seq(at)
        listed.write(tool, at)
        if "name" not in tool:
            tool.write("name", single, tool.mark, tool.mark)
        tool = listed
    if not isinstance(tool, Seq):
        return tool
    _labels(tool, problems)
    tool = expand(tool, problems)
    tasks = Seq(tool.mark)
    for index, task in enumerate(tool):
        if isinstance(task, Map):
            if "name" not in task:
                task.write("name", f"task_{index}", task.mark, task.mark)
            task = _inline(task, book, problems)  # noqa: PLW2901 - the task, inlined
        tasks.write(task, tool.item_at(index))
    return tasks


def _labels(tool: Seq, problems: Problems) -> None:
    """``- fetch: {kind: http}`` names a task by its key: refused, with the fix, then read as meant."""
    for index, item in enumerate(tool):
        for block in walk.blocks(item) if isinstance(item, Map) else ():
            if isinstance(block, Seq):
                _labels(block, problems)
        body = walk.labelled(item) if isinstance(item, Map) else None
        if not isinstance(body, Map):
            continue
        (label,) = item
        problems.error(
            "P112", item.key_at(label), f"task '{label}' is written under its name",
            f"write '- name: {label}' and put its keys beside it",
        )  # fmt: skip
        if "name" not in body:
            body.write("name", label, item.key_at(label), item.key_at(label))
        tool[index] = body


def _inline(task: Map, book: dict[str, Map], problems: Problems) -> Map:
    if task.get("kind") != "workbook":
        return task
    key = "task" if "task" in task else "name"
    called = task[key]
    if not isinstance(called, str) or called not in book:
        problems.error(
            "P116",
            task.value_at(key),
            f"the workbook has no task '{called}'",
            problems.near(str(called), book) or "add it to the workbook",
        )
        task["kind"] = "noop"
        task.pop("task", None)
        return task
    copy = copy_tree(book[called])
    assert isinstance(copy, Map)
    if "kind" not in copy:  # reported where the workbook has it
        copy.write("kind", "noop", task.key_at("kind"), task.value_at("kind"))
    for key, value in task.items():
        if key not in ("kind", "task"):
            copy.write(key, value, task.key_at(key), task.value_at(key))
    return copy


def _rule(rule: Tree, problems: Problems) -> None:
    """``- else:`` with ``then:`` beside it, instead of inside it, is a common slip."""
    if not isinstance(rule, Map):
        return
    if "else" not in rule:
        _needs_then(rule, problems)
        return
    if "then" in rule and not isinstance(rule["else"], Map):
        problems.error(
            "P111", rule.key_at("then"), "'then' stands beside 'else' instead of inside it",
            "indent 'then' so that it is a child of 'else'",
        )  # fmt: skip
        if rule["else"] is not None:
            problems.error("P103", rule.value_at("else"), "'else' must be a mapping", "remove this")
        inner = Map(rule.key_at("then"))
        inner.write("then", rule["then"], rule.key_at("then"), rule.value_at("then"))
        del rule["then"]
        _set(rule, "else", inner)
    elif (
        isinstance(rule["else"], Map)
        and "then" not in rule["else"]
        and not _RULE_WORDS & set(rule["else"])
    ):
        body = rule["else"]
        if {"do", "allow"} & set(body):
            problems.error(
                "P111",
                rule.key_at("else"),
                "'else' holds the action itself",
                "put it under 'then': 'else: {then: {…}}'",
            )
            inner = Map(body.mark)
            inner.write("then", body, body.mark, body.mark)
            _set(rule, "else", inner)


def _needs_then(rule: Map, problems: Problems) -> None:
    if set(rule) == {"then"}:
        hint = "add 'when:', or write 'else: {then: {…}}' for all the rest"
        problems.error("P102", rule.mark, "this rule has neither 'when' nor 'else'", hint)
    if "then" in rule:
        return
    loose = [key for key in rule if key in ACTION_WORDS]
    if not loose:
        problems.error(
            "P102", rule.mark, "this rule has no 'then'", "say what it does: 'then: {…}'"
        )
        rule.write("then", None, rule.mark, rule.mark)
        return
    at = rule.key_at(loose[0])
    problems.error("P101", at, f"unknown key '{loose[0]}' in this rule", "put it under 'then'")
    then = Map(at)
    for key in loose:
        move(rule, key, then)
    rule.write("then", then, at, at)


def _set(node: Map, key: str, value: Tree) -> None:
    at: Mark = node.value_at(key)
    node.write(key, value, node.key_at(key), at)
