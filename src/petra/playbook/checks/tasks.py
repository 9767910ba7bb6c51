"""Tasks: fields that belong together, exclude each other, or need another place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from petra.kinds import SERVER_KINDS
from petra.playbook.checks.document import Document
from petra.playbook.checks.names import actions
from petra.playbook.checks.numbers import check_numbers
from petra.playbook.checks.schemas import check_schemas
from petra.playbook.decode import Path
from petra.playbook.durations import as_seconds
from petra.playbook.model import AdmitRule, PolicyRule, Step, Task
from petra.playbook.pins import CONTENT
from petra.playbook.tree import Map

# Exactly one of these, for the kinds that have a choice.
_ONE_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "python": ("code", "file", "function"),
        "shell": ("argv", "script", "file"),
        "postgres": ("command", "file", "copy"),
        "sqlite": ("command", "file"),
        "duckdb": ("command", "file"),
        "mcp": ("url", "command"),
        "wait": ("for_s", "until", "signal", "any_of"),
    }
)
_NUMBER = re.compile(r"\d+(\.\d+)?")
_BODIES = ("json", "data", "form", "body", "multipart")
_ALTERNATIVES = ("for_s", "until", "signal", "human")
_ESCALATIONS = ("notify", "reassign", "expire")


def check_tasks(document: Document) -> None:
    """Check what the grammar of a task's kind cannot say."""
    for index, step in enumerate(document.playbook.workflow):
        _step(document, ("workflow", index), step)
        admit = step.spec.policy.admit
        if admit is not None:
            _rules(document, ("workflow", index, "spec", "policy", "admit", "rules"), admit.rules)
    for path, step, tasks in document.pipelines():
        for index, task in enumerate(tasks):
            _task(document, (*path, index), task)
            _retries(document, (*path, index), task)
            _budget(document, (*path, index), task)
            if task.policy is not None:
                _rules(document, (*path, index, "spec", "policy", "rules"), task.policy.rules)
            if task.kind in SERVER_KINDS and len(tasks) > 1:
                document.problems.error(
                    "P121", document.at(*path, index, "kind"),
                    f"a '{task.kind}' task is run by the server and must be the only task of step '{step.step}'",
                    "move it into a step of its own",
                )  # fmt: skip
    check_numbers(document)
    check_schemas(document)


def _retries(document: Document, path: Path, task: Task) -> None:
    """The numbers of a retry are numbers or templates; a delay may be left to the other side."""
    for place, action in actions(task, path):
        for key in ("attempts", "delay", "max_delay", "jitter"):
            value = getattr(action, key)
            if not isinstance(value, str) or "{{" in value or _NUMBER.fullmatch(value.strip()):
                continue
            if key != "delay":
                hint = "write a number"
            elif value == "retry_after":
                continue
            else:
                seconds = as_seconds(value) or "write a number of seconds"
                hint = f"{seconds}, or 'retry_after'"
            words = f"'{key}' of a retry cannot be '{value}'"
            document.problems.error("P106", document.at(*place, key), words, hint)


def _step(document: Document, path: Path, step: Step) -> None:
    if step.step and _is_idle(document, path, step):
        _idle(document, path, step)
    for index, arc in enumerate(step.next.arcs if step.next is not None else ()):
        place: Path = (*path, "next", "arcs", index)
        if arc.foreach is None and document.places.written(*place, "as") is not None:
            document.problems.error(
                "P102",
                document.key_at(*place, "as"),
                "'as' names the item of a 'foreach', and this arc has none",
                "add 'foreach:', or remove 'as'",
            )
        if arc.foreach is not None and arc.copies is not None:
            document.problems.error(
                "P122",
                document.at(*place, "copies"),
                "'foreach' and 'copies' both say how many tokens an arc makes",
                "keep one of them",
            )
    if step.loop is not None and not step.tool:
        document.problems.error(
            "P114",
            document.at(*path, "loop"),
            f"the loop of step '{step.step}' has no task to run",
            "add a 'tool'",
        )


def _is_idle(document: Document, path: Path, step: Step) -> bool:
    """Tell whether nobody wrote anything to do; what was written wrongly has been reported."""
    if step.tool or step.arcs or document.places.written(*path, "tool"):
        return False
    following = document.places.written(*path, "next")
    return not following or (isinstance(following, Map) and not following.get("arcs"))


def _idle(document: Document, path: Path, step: Step) -> None:
    if document.is_foreign:
        document.problems.warn(
            "P208",
            document.at(*path),
            f"step '{step.step}' does nothing",
            "say so with 'tool: {kind: noop}'",
        )
        return
    document.problems.error(
        "P114",
        document.at(*path),
        f"step '{step.step}' has neither 'tool' nor 'next'",
        "add one of the two, e.g. 'tool: {kind: noop}'",
    )


def _rules(document: Document, path: Path, rules: Sequence[PolicyRule | AdmitRule]) -> None:
    closing: int | None = None
    for index, rule in enumerate(rules):
        place = (*path, index)
        if rule.otherwise is not None and rule.when is not None:
            document.problems.error(
                "P122",
                document.at(*place, "else"),
                "a rule has 'when' or 'else', not both",
                "make 'else' a rule of its own",
            )
        if closing is not None:
            line = document.at(*path, closing).line
            document.problems.warn(
                "P211",
                document.at(*place),
                f"this rule is never tried: 'else' on line {line} takes all the rest",
                "move 'else' to the end",
            )
        closing = index if closing is None and rule.otherwise is not None else closing


def _task(document: Document, path: Path, task: Task) -> None:
    fields = task.fields
    # other engines' tasks may have their code elsewhere, but only ours wait
    if task.kind in _ONE_OF and (task.kind == "wait" or not document.is_foreign):
        words = _ONE_OF[task.kind]
        if fields.get("file") is not None:  # what it says stands beside it (petra.playbook.pins)
            words = tuple(word for word in words if word != CONTENT.get(task.kind))
        _exactly_one(document, path, fields, words, f"a '{task.kind}' task")
    if task.kind in ("postgres", "sqlite", "duckdb"):
        _many(document, path, fields)
    if task.kind == "http":
        _bodies(document, path, fields)
        _one_key(document, path, fields)
    if task.kind == "wait":
        for index, item in enumerate(_listed(fields, "any_of")):
            if isinstance(item, dict):
                place: Path = (*path, "any_of", index)
                _exactly_one(document, place, item, _ALTERNATIVES, "an alternative")
                if isinstance(item.get("human"), dict):
                    _human(document, (*place, "human"), item["human"])
    if task.kind == "human":
        _human(document, path, fields)


def _budget(document: Document, path: Path, task: Task) -> None:
    budget = task.fields.get("budget") if task.kind == "llm" else None
    if isinstance(budget, dict):
        _exactly_one(document, (*path, "budget"), budget, ("tokens", "cost"), "a budget")


def _bodies(document: Document, path: Path, fields: Mapping[str, Any]) -> None:
    bodies = [key for key in _BODIES if fields.get(key) is not None]
    if len(bodies) > 1:
        document.problems.error(
            "P122",
            document.at(*path, bodies[1]),
            f"'{bodies[0]}' and '{bodies[1]}' are both a body",
            "keep one of them",
        )


def _one_key(document: Document, path: Path, fields: Mapping[str, Any]) -> None:
    headers = fields.get("headers")
    if fields.get("idempotent") in (None, False) or not isinstance(headers, dict):
        return
    for name in headers:
        if isinstance(name, str) and name.lower() == "idempotency-key":
            document.problems.error(
                "P122",
                document.at(*path, "headers", name),
                f"'idempotent' and the header '{name}' both give a key",
                "keep the header for a key of your own, or 'idempotent' for that of the task",
            )


def _many(document: Document, path: Path, fields: Mapping[str, Any]) -> None:
    if fields.get("many") is not None and fields.get("params") is not None:
        document.problems.error(
            "P122", document.at(*path, "params"), "'params' and 'many' both say what is bound", "keep one"
        )  # fmt: skip
    if fields.get("copy") is not None and fields.get("many") is None:
        document.problems.error(
            "P102", document.at(*path, "copy"), "'copy' has no rows", "add 'many:', the list of rows"
        )  # fmt: skip


def _listed(fields: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list of a task; one of another type has been reported."""
    listed = fields.get(key)
    return listed if isinstance(listed, list) else []


def _exactly_one(
    document: Document, path: Path, fields: Mapping[str, Any], words: tuple[str, ...], what: str
) -> None:
    present = [word for word in words if fields.get(word) is not None]
    shown = ", ".join(f"'{word}'" for word in words)
    if not present:
        document.problems.error(
            "P102", document.at(*path), f"{what} needs one of {shown}", "add it"
        )
    elif len(present) > 1:
        document.problems.error(
            "P122",
            document.at(*path, present[1]),
            f"{what} takes only one of {shown}",
            f"keep '{present[0]}' or '{present[1]}'",
        )


def _human(document: Document, path: Path, fields: Mapping[str, Any]) -> None:
    actions = _listed(fields, "actions") or ["approve", "reject"]
    for index, item in enumerate(_listed(fields, "escalate")):
        do = item.get("do") if isinstance(item, dict) else None
        if isinstance(do, str) and "{{" not in do and do not in (*_ESCALATIONS, *actions):
            at = document.at(*path, "escalate", index, "do")
            document.problems.error(
                "P106",
                at,
                f"an escalation cannot '{do}'",
                "one of " + ", ".join(map(str, (*_ESCALATIONS, *actions))),
            )
