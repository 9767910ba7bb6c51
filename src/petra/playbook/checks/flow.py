"""Flow: steps that nothing reaches, choices that may choose nothing, writes that may collide.

All but the first are warnings: they hold for some runs and not for others.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from petra.expr import Profile, Template
from petra.playbook.checks.document import Document
from petra.playbook.checks.names import actions
from petra.playbook.decode import Path
from petra.playbook.exhaustive import always_holds, is_exhaustive
from petra.playbook.fan_outs import LOOKS_MAX, closing_joins, multiplies_any
from petra.playbook.model import Arc, Guard, Loop, Step, TaskPolicy

# What a guard reads that is tried after a failure too (S7).
_HANDLES = re.compile(r"\b(event|ok|fail|_last_error)\b")


def check_flow(document: Document) -> None:
    """Check where tokens can and cannot go."""
    _reachable(document)
    looks = LOOKS_MAX // max(1, sum(multiplies_any(step) for step in document.steps.values()))
    _seeded(document)
    for index, step in enumerate(document.playbook.workflow):
        _exhaustive(document, ("workflow", index), step)
        _never_tried(document, ("workflow", index), step)
        _errors_pass(document, ("workflow", index), step)
        _parallel_writes(document, ("workflow", index), step)
        _empty_groups(document, ("workflow", index), step, looks)
        _join(document, ("workflow", index, "spec", "join"), step)


def _join(document: Document, path: Path, step: Step) -> None:
    """A join must close a group that somebody makes; one that looks at arcs has no group to count from."""
    join = step.spec.join
    if join is None:
        return
    if join.mode in ("arcs", "or") and join.timeout_s is not None:
        document.problems.error(
            "P122",
            document.at(*path, "timeout_s"),
            f"a join in mode '{join.mode}' has no group whose age 'timeout_s' could count",
            "remove it, or use a join of mode 'all', 'any' or 'm_of_n'",
        )
    source = document.steps.get(join.of or "")
    if source is not None and not (source.inclusive or multiplies_any(source)):
        document.problems.error(
            "P106",
            document.at(*path, "of"),
            f"step '{source.step}' makes no group: it never fans out",
            "name a step whose 'next' is inclusive, or has 'foreach' or 'copies'",
        )


def _reachable(document: Document) -> None:
    spec = document.playbook.executor.spec
    first = document.playbook.workflow[0].step if document.playbook.workflow else ""
    waiting = deque(name for name in (spec.entry_step or first, spec.final_step) if name)
    if any(name not in document.steps for name in waiting) or _has_loose_arc(document):
        return  # an arc that leads nowhere has been reported; what it was to reach is not known
    seen: set[str] = set()
    while waiting:
        name = waiting.popleft()
        if name in seen or name not in document.steps:
            continue
        seen.add(name)
        waiting.extend(arc.step for arc in document.steps[name].arcs)
    for index, step in enumerate(document.playbook.workflow):
        if step.step and step.step not in seen:
            at = document.at("workflow", index, "step")
            document.problems.warn(
                "P201", at, f"nothing leads to step '{step.step}'", "add an arc to it, or remove it"
            )


def _seeded(document: Document) -> None:
    """Without a seed, a random order would be the same one for ever, and nobody would know which."""
    spec = document.playbook.executor.spec
    if spec.selection == "random" and spec.seed is None:
        document.problems.error(
            "P102",
            document.at("executor", "spec", "selection"),
            "selection 'random' needs a seed",
            "say which: executor.spec.seed: 1",
        )


def _has_loose_arc(document: Document) -> bool:
    return any(
        arc.step not in document.steps for step in document.playbook.workflow for arc in step.arcs
    )


def _exhaustive(document: Document, path: Path, step: Step) -> None:
    if not step.arcs or is_exhaustive(step):
        return
    if not all(_compiles(document, arc.when) for arc in step.arcs):
        return  # a guard that cannot be read has been reported
    document.problems.warn(
        "P202", document.at(*path, "next"), f"if no guard of step '{step.step}' holds, the branch ends here",
        "add a last arc without 'when', or a guard for the rest",
    )  # fmt: skip


def _never_tried(document: Document, path: Path, step: Step) -> None:
    """Behind an arc that always holds, an exclusive router tries only what handles failures."""
    if step.next is None or step.inclusive:
        return
    order = sorted(enumerate(step.next.arcs), key=lambda item: item[1].priority)
    always = next((index for index, arc in order if always_holds(arc)), None)
    if always is None:
        return
    behind = order[[index for index, _ in order].index(always) + 1 :]
    line = document.at(*path, "next", "arcs", always).line
    for index, arc in behind:
        if always_holds(arc) or not _HANDLES.search(str(arc.when)):
            document.problems.warn(
                "P211", document.at(*path, "next", "arcs", index),
                f"this arc is never tried: the one on line {line} always holds",
                "move that one to the end, or say 'next: {spec: {mode: inclusive}}' to take all that hold",
            )  # fmt: skip


def _compiles(document: Document, guard: Guard) -> bool:
    if isinstance(guard, bool):
        return True
    return "{" in guard and isinstance(document.template(guard, Profile.SERVER), Template)


def _errors_pass(document: Document, path: Path, step: Step) -> None:
    for index, task in enumerate(step.tool):
        policy = task.policy
        if task.kind == "noop" or policy is None or not policy.rules:
            continue
        looks = any(
            isinstance(rule.guard, str) and "outcome" in rule.guard for rule in policy.rules
        )
        unread = any(not _compiles(document, rule.guard) for rule in policy.rules)
        if not looks and not unread and not _stops(policy):
            document.problems.warn(
                "P203", document.at(*path, "tool", index, "spec", "policy"),
                f"the policy of task '{task.name}' never looks at 'outcome', so errors pass",
                "add a rule for \"{{ outcome.status == 'error' }}\"",
            )  # fmt: skip


def _stops(policy: TaskPolicy) -> bool:
    """Tell whether no rule lets an outcome pass."""
    closed = policy.on_unmatched == "fail" or policy.rules[-1].guard is True
    return closed and all(rule.action.do in ("fail", "retry") for rule in policy.rules)


def _parallel_writes(document: Document, path: Path, step: Step) -> None:
    if not any(loop.spec.mode == "parallel" for loop in _loops(step.loop)):
        return
    reducers = document.playbook.executor.spec.ctx
    for index, task in enumerate(step.tool):
        for place, action in actions(task, (*path, "tool", index)):
            for key in action.set_ctx or {}:
                if key not in reducers or reducers[key].reduce is None:
                    document.problems.warn(
                        "P204", document.at(*place, "set_ctx", key),
                        f"parallel iterations write 'ctx.{key}' and may conflict",
                        f"say how writes combine: executor.spec.ctx.{key}.reduce, or use set_iter",
                    )  # fmt: skip


def _loops(loop: Loop | None) -> Iterator[Loop]:
    while loop is not None:
        yield loop
        loop = loop.loop


def _may_make_none(arc: Arc) -> bool:
    """Whether an arc may turn out to make no token; a list or a number that is written out says so itself."""
    if isinstance(arc.foreach, list) or isinstance(arc.copies, int):
        return not (arc.foreach or arc.copies)
    return arc.foreach is not None or arc.copies is not None


def _empty_groups(document: Document, path: Path, step: Step, looks: int) -> None:
    """A group that may be empty needs exactly one join to fire."""
    if not any(_may_make_none(arc) for arc in step.arcs):
        return
    named = [
        s.step for s in document.playbook.workflow if s.spec.join and s.spec.join.of == step.step
    ]
    joins = named or sorted(closing_joins(document.steps, step, looks))
    if len(joins) > 1:
        shown = ", ".join(f"'{name}'" for name in joins)
        document.problems.error(
            "P123", document.at(*path, "next"),
            f"step '{step.step}' may fan out into nothing, and several joins could close that group: {shown}",
            f"remove 'of: {step.step}' from all but one" if named else f"add 'of: {step.step}' to the one that should",
        )  # fmt: skip
