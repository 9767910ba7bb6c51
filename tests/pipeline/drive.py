"""Drives a machine through scripted outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from petra.pipeline import AskAgain, Finished, Machine, NextAttempt, Settings
from petra.playbook import read
from petra.playbook.model import Playbook, Task, TaskPolicy, TaskSpec
from petra.wire import Error, Outcome, Report


def ok(result: Any = None, **more: Any) -> Outcome:
    return Outcome(status="ok", result=result, more=more)


def bad(kind: str = "server_error", message: str = "broken", **more: Any) -> Outcome:
    return Outcome(status="error", error=Error(kind=kind, message=message), more=more)


def task(
    name: str,
    *rules: Mapping[str, Any],
    kind: str = "http",
    args: dict[str, Any] | None = None,
    on_unmatched: str | None = None,
    **fields: Any,
) -> Task:
    policy = None
    if rules or on_unmatched:
        written = {"rules": list(rules), "on_unmatched": on_unmatched or "continue"}
        policy = msgspec.convert(written, TaskPolicy)
    return Task(name=name, kind=kind, args=args, spec=TaskSpec(policy=policy), fields=fields)


def noop(name: str, *rules: Mapping[str, Any], args: dict[str, Any] | None = None) -> Task:
    return task(name, *rules, kind="noop", args=args)


def always(do: str = "continue", **action: Any) -> dict[str, Any]:
    """The closing rule."""
    return {"else": {"then": {"do": do, **action}}}


def when(guard: str, do: str = "continue", **action: Any) -> dict[str, Any]:
    return {"when": guard, "then": {"do": do, **action}}


ON_ERROR = "{{ outcome.status == 'error' }}"


def machine(
    *tasks: Task,
    scope: Mapping[str, Any] | None = None,
    iter: Mapping[str, Any] | None = None,  # noqa: A002
    u: float = 0.0,
    **settings: Any,
) -> Machine:
    given = {"workload": {}, "ctx": {}, "args": {}, **(scope or {})}
    return Machine(tasks, given, settings=Settings(**settings), jitter=lambda: u, iter=iter)


def play(played: Machine, *outcomes: Outcome) -> tuple[list[NextAttempt], Report]:
    """Play to the end; the outcomes must be exactly as many as there are tries."""
    return play_all(played, outcomes)


def play_all(played: Machine, outcomes: Iterable[Outcome]) -> tuple[list[NextAttempt], Report]:
    left = iter(outcomes)
    runs: list[NextAttempt] = []
    move = played.start()
    while not isinstance(move, Finished):
        if isinstance(move, AskAgain):  # after many noops
            move = played.resume()
            continue
        assert isinstance(move, NextAttempt)
        runs.append(move)
        move = played.advance(next(left), 1.0)
    assert not list(left), "outcomes left over"
    return runs, move.report


def decisions(report: Report) -> list[str]:
    """Say each attempt in short: ``fetch 1 ok continue``."""
    return [f"{a.task} {a.number} {a.status} {a.action}" for a in report.attempts]


def playbook(workflow: str, executor: str = "{}") -> Playbook:
    text = (
        "apiVersion: petra/v1\nkind: Playbook\nmetadata: {name: p}\nworkload: {n: 3, url: 'http://x'}\n"
        f"executor: {executor}\nworkflow:\n{workflow}"
    )
    return read(text, "p.yaml").checked()
