"""Scripted tools: what a task comes to in a test (S21).

A script is one entry or a list of them; tries take them in order, and the last one repeats. An entry is
``ok``, ``error``, ``run`` (an expression over the task's scope) or ``crash``, with ``after_s`` if it takes
time. Scripts are found by ``step/task``, then by ``step``; those of a sub-playbook by ``path:step``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from petra.errors import ExpressionError, PetraError
from petra.expr import Profile, compile_template
from petra.expr.keys import KEY
from petra.pipeline import NextAttempt
from petra.playbook import Playbook
from petra.testing.words import FailsWith
from petra.wire import Error, Outcome

_ERROR_FIELDS = frozenset({"kind", "message", "code", "retryable", "details"})
_ENTRY_WORDS = ("ok", "error", "run", "crash")


class ScriptError(PetraError):
    """A test is wrong: a tool is run without a script, or a script makes no sense."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """The outcome of one try and how long it takes; None: the worker dies."""

    outcome: Outcome | None
    after_s: float = 0.0


def called(playbook: Playbook, *places: str) -> frozenset[str]:
    """Return what a sub-playbook may be called by: its name, its path, and where it lies or is asked for."""
    named = {playbook.metadata.name, playbook.metadata.path or ""}
    for place in places:
        named |= {place, place.removesuffix(".yaml").removesuffix(".yml")}
    return frozenset(named - {""})


class Scripts:
    """The scripts of one case, and how far each has been used."""

    def __init__(self, tools: Mapping[str, Any]) -> None:
        self.tools = dict(tools)
        self._used: dict[str, int] = {}

    def play(
        self, names: Iterable[str], step: str, run: NextAttempt, *, compensates: bool = False
    ) -> Scripted:
        """Return what this try of a task comes to; ``names`` are what its execution is called by.

        Raises:
            ScriptError: nothing is scripted for it.
        """
        key = self._key(names, step, run.task.name, compensates=compensates)
        if key is None:
            name = f"{step}/compensate" if compensates else step
            raise ScriptError(
                f"step '{step}' runs a '{run.task.kind}' task and nothing is scripted for it; "
                f"add 'tools: {{{name}: {{ok: …}}}}'"
            )
        entries = self.tools[key] if isinstance(self.tools[key], list) else [self.tools[key]]
        if not entries:
            raise ScriptError(f"the script of '{key}' is empty")
        number = self._used.get(key, 0)
        self._used[key] = number + 1
        return _play(key, entries[min(number, len(entries) - 1)], run)

    def _key(self, names: Iterable[str], step: str, task: str, *, compensates: bool) -> str | None:
        wanted = [f"{step}/compensate"] if compensates else []
        wanted += [f"{step}/{task}"] + ([] if compensates else [step])
        prefixes = [f"{name}:" if name else "" for name in sorted(names)]
        candidates = [f"{prefix}{name}" for name in wanted for prefix in prefixes]
        return next((key for key in candidates if key in self.tools), None)


def _play(key: str, entry: Any, run: NextAttempt) -> Scripted:
    if not isinstance(entry, dict) or sum(word in entry for word in _ENTRY_WORDS) != 1:
        raise ScriptError(f"the script of '{key}' needs exactly one of ok, error, run, crash")
    after_s = _seconds(key, entry.get("after_s"))
    more = {k: v for k, v in entry.items() if k not in (*_ENTRY_WORDS, "after_s")}
    if entry.get("crash"):
        return Scripted(None, after_s)
    if "error" in entry:
        return Scripted(_error(entry["error"], more), after_s)
    if "run" in entry:
        return Scripted(
            Outcome(status="ok", result=_evaluate(key, entry["run"], run), more=more), after_s
        )
    return Scripted(Outcome(status="ok", result=entry.get("ok"), more=more), after_s)


def _seconds(key: str, value: Any) -> float:
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ScriptError(f"the script of '{key}': 'after_s' must be a number of seconds")
    return float(value)


def _error(error: Any, more: dict[str, Any]) -> Outcome:
    extra = (
        {key: value for key, value in error.items() if key not in _ERROR_FIELDS}
        if isinstance(error, dict)
        else {}
    )
    return Outcome(status="error", error=failure(error), more={**extra, **more})


def failure(error: Any) -> Error:
    """Return the error that a test writes as a mapping, as the words of a test file, or as its message alone."""
    if isinstance(error, FailsWith):
        error = {key: getattr(error, key) for key in _ERROR_FIELDS}
    fields = (
        {"message": error} if isinstance(error, str) else error if isinstance(error, dict) else {}
    )
    fields = {
        key: value for key, value in fields.items() if key in _ERROR_FIELDS and value is not None
    }
    return Error(**{"message": str(fields.get("kind", "error")), **fields})


def _evaluate(key: str, expression: Any, run: NextAttempt) -> Any:
    text = str(expression)
    try:
        template = compile_template(text if "{{" in text else "{{ " + text + " }}", Profile.SERVER)
        return template.render({**run.scope, "args": run.args, KEY: run.cause})
    except ExpressionError as error:
        raise ScriptError(f"the script of '{key}': {error}") from None
