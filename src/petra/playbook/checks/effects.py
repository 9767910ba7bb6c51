"""Keys without effect: allowed where they stand, and idle beside what else is written there (S1).

Nothing that an author writes is dropped in silence. Each is a warning that says what the key would need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from petra.playbook.checks.document import Document
from petra.playbook.checks.names import actions
from petra.playbook.decode import Path
from petra.playbook.model import Step, Task

_RETRY = ("attempts", "backoff", "delay", "max_delay", "jitter")
# Who writes what holds anyway expects nothing else of it.
_DEFAULTS = MappingProxyType(
    {
        "backoff": "none", "on_deny": "wait", "withdraw": False, "final_step_failure": "fail",
        "priority": 0, "on_failure": "propagate",
    }
)  # fmt: skip
_FILES = frozenset({"auth", "database"})
_SOURCES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "postgres": frozenset({"auth", "url", "query", "params"}),
        "sqlite": _FILES | {"query", "params"},
        "duckdb": _FILES | {"query", "params"},
        "http": frozenset({"auth", "url", "query", "params"}),
        "rows": frozenset({"rows"}),
    }
)
_TARGETS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "postgres": frozenset({"auth", "url", "table", "mode", "key"}),
        "sqlite": _FILES | {"table", "mode", "key"},
        "duckdb": _FILES | {"table", "mode", "key"},
        "http": frozenset({"auth", "url", "params", "mode"}),
    }
)
"""What each kind of end looks at."""


def check_effects(document: Document) -> None:
    """Tell of every key that means nothing where it stands."""
    check = _Effects(document)
    check.executor()
    for index, step in enumerate(document.playbook.workflow):
        check.step(("workflow", index), step)
    for path, _, tasks in document.pipelines():
        for index, task in enumerate(tasks):
            check.task((*path, index), task)


class _Effects:
    def __init__(self, document: Document) -> None:
        self.document = document

    def _idle(self, path: Path, keys: Iterable[str], needs: str) -> None:
        """Tell of those keys that were written with more than what holds anyway."""
        for key in keys:
            if self.document.places.written(*path, key) not in (None, _DEFAULTS.get(key)):
                at = self.document.key_at(*path, key)
                self.document.problems.warn("P215", at, f"'{key}' has no effect here", needs)

    def executor(self) -> None:
        spec, path = self.document.playbook.executor.spec, ("executor", "spec")
        if spec.final_step is None:
            self._idle(path, ("final_step_failure",), "there is no 'final_step'")

    def step(self, path: Path, step: Step) -> None:
        if self.document.playbook.executor.spec.selection != "priority":
            needs = "it is for 'executor.spec.selection: priority'"
            self._idle((*path, "spec"), ("priority",), needs)
        admit = step.spec.policy.admit
        if admit is not None and not admit.rules:
            needs = "without 'rules' no token is denied"
            self._idle((*path, "spec", "policy", "admit"), ("on_deny", "withdraw"), needs)
        loop, place = step.loop, (*path, "loop")
        while loop is not None:
            if loop.spec.mode == "sequential":
                self._idle((*place, "spec"), ("max_in_flight",), "it is for 'mode: parallel'")
            loop, place = loop.loop, (*place, "loop")

    def task(self, path: Path, task: Task) -> None:
        for place, action in actions(task, path):
            if action.do != "retry":
                self._idle(place, _RETRY, "it is for 'do: retry'")
            if action.do != "jump":
                self._idle(place, ("to",), "it is for 'do: jump'")
            if action.do not in ("fail", "retry"):
                self._idle(
                    place, ("message",), "it is for 'do: fail', and for a retry that is used up"
                )
        fields = task.fields
        if task.kind == "playbook" and fields.get("wait") is False:
            self._idle(path, ("on_failure",), "nobody waits for the child")
        if task.kind == "artifact":
            put = fields.get("action") == "put"
            idle = ("ref",) if put else ("value", "schema_hint")
            self._idle(path, idle, f"it is for 'action: {'get' if put else 'put'}'")
        if task.kind == "mcp":
            far = fields.get("url") is not None
            others = ("argv", "env", "cwd") if far else ("auth", "headers", "verify")
            self._idle(path, others, f"it is for '{'command' if far else 'url'}'")
        if task.kind == "transfer":
            self._end((*path, "source"), fields.get("source"), _SOURCES)
            self._end((*path, "target"), fields.get("target"), _TARGETS)

    def _end(self, path: Path, end: Any, known: Mapping[str, frozenset[str]]) -> None:
        kind = end.get("kind") if isinstance(end, dict) else None
        if not isinstance(kind, str) or kind not in known:
            return  # reported, or another engine's
        idle = [key for key in end if key not in known[kind] | {"kind"}]
        self._idle(path, idle, f"an end of kind {kind} does not look at it")
        if "key" not in idle and end.get("mode") != "upsert":
            self._idle(path, ("key",), "it is for 'mode: upsert'")
