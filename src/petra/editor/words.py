"""What the words inside templates mean: names, filters, tests and functions, each in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from petra.expr import FILTERS, PREDICATES

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "workload": "What the execution was started with; nothing changes it.",
        "execution": "This execution: `id`, `playbook`, `started_at`.",
        "ctx": "The state of the execution; a task policy writes it with `set_ctx`.",
        "step": "`step.NAME.result`, and on the server `step.NAME.status`.",
        "args": "The arguments of the token, from the arc that led here.",
        "branch": "The branch of a fan-out: `index`, `total`, `item`, `step`, `output`, `parent`.",
        "_branch": "Another word for `branch`.",
        "event": "How the step ended: `name`, `step`, `status`, `result`, `error`, `counts`, `args`.",
        "iter": "The iteration of a loop: the item by its name, `index`, `parent`, and what `set_iter` wrote.",
        "_prev": "The result of the task before.",
        "_task": "The name of this task; `_task.key` is its idempotency key in this run.",
        "_attempt": "Which try this is, from 1.",
        "results": "The results of the tasks before, by name.",
        "outcome": "What the try came to: `status`, `result`, `error`, `meta`, and what the kind adds.",
        "item": "In `notify`, the work item: `id`, `step`, `title`, and who is asked.",
        "keychain": "The secrets, by name; on workers only, never stored.",
        "arrived": "How many branches have arrived.",
        "total": "How many branches there are.",
        "outputs": "The outputs of the branches that have arrived.",
        "done": "`done('s')`: whether the step has ended, well or badly.",
        "ok": "`ok('s')`: whether it ended well.",
        "fail": "`fail('s')`: whether it failed.",
        "running": "`running('s')`: whether it runs.",
        "loop_done": "`loop_done('s')`: whether its loop has ended.",
        "all_done": "`all_done(['a', 'b'])`: whether all have ended.",
        "any_done": "`any_done(['a', 'b'])`: whether one has ended.",
    }
)
"""The built-in names, as S6 has them; a test holds them against the scopes."""

PARTS: Mapping[tuple[str, ...], tuple[str, ...]] = MappingProxyType(
    {
        ("execution",): ("id", "playbook", "started_at", "schedule"),
        ("execution", "schedule"): ("name", "nominal"),
        ("event",): ("name", "step", "status", "result", "error", "counts", "args"),
        ("event", "counts"): ("total", "completed", "succeeded", "failed"),
        ("event", "error"): ("kind", "code", "message", "retryable", "details"),
        ("outcome",): ("status", "result", "error", "meta", "http", "pg", "py", "shell"),
        ("outcome", "error"): ("kind", "code", "message", "retryable", "details"),
        ("outcome", "meta"): ("attempt", "duration_ms"),
        ("branch",): ("index", "total", "item", "step", "output", "parent"),
        ("_branch",): ("index", "total", "item", "step", "output", "parent"),
        ("iter",): ("index", "parent"),
        ("_task",): ("name", "key"),
    }
)
"""What the built-in names hold, where that is fixed."""

STATES: Mapping[str, str] = MappingProxyType(
    {
        "done": "It has ended, well or badly, and no activation is active.",
        "ok": "It ended well.",
        "running": "An activation is active.",
        "started_at": "When it was started.",
        "finished_at": "When it ended.",
        "error": "What failed: `kind`, `code`, `message`.",
        "total": "The iterations of its loop.",
        "completed": "The iterations that have ended.",
        "succeeded": "The iterations that ended well.",
        "failed": "The iterations that failed.",
    }
)
"""The parts of ``step.NAME.status`` (S4)."""


def filters() -> dict[str, str]:
    """Return every filter with its sentence."""
    return {name: _sentence(function) for name, function in sorted(FILTERS.items())}


def tests() -> dict[str, str]:
    """Return every test of ``is`` with its sentence."""
    return {name: _sentence(function) for name, function in sorted(PREDICATES.items())}


def _sentence(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().split("\n")[0].replace("``", "`")
