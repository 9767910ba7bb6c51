"""What server-side expressions see (S6): only the names an expression reads, made when it is evaluated.

With several activations of a step, the latest one in the token's own causal history counts, so a branch
sees its own branch; else the latest overall (S4).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from petra.expr.evaluate import HELPERS
from petra.kernel.state import Activation, ReadyToken, Seen, Stack, State, StepRun, counts_of
from petra.own_labels import scheduled_by

SHOWN_MAX = 60
"""So much of a value is shown."""


class View(NamedTuple):
    """From where an expression looks: one token, one run, or the execution as a whole."""

    ctx: Mapping[str, Any]
    args: Mapping[str, Any]
    stack: Stack
    seen: Seen
    event: Activation | None
    output: Any = None


def view_of(state: State, holder: ReadyToken | StepRun) -> View:
    """Look from a token or a run."""
    return View(state.ctx, holder.args, holder.stack, holder.seen, holder.source, holder.output)


def whole(state: State) -> View:
    """Look at the execution as a whole."""
    return View(state.ctx, {}, (), {}, None)


def scope(
    state: State,
    names: Iterable[tuple[str, ...]],
    view: View,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make the values of the names that an expression reads."""
    values: dict[str, Any] = {**extra} if extra else {}
    for path in names:
        first = path[0]
        if first in values:
            continue
        make = _NAMES.get(first)
        if make is not None:
            values[first] = make(state, view)
        elif first == "step":
            values["step"] = _StepNames(state, view).only(names)
        elif first.endswith("()"):
            if first[:-2] in HELPERS:  # others are functions of the language
                values[first[:-2]] = helper(first[:-2], state, view)
        elif (activation := lookup(state, view, first)) and (done := activation.done):
            values[first] = done.result
    return values


def lookup(state: State, view: View, step: str) -> Activation | None:
    """Return the activation of a step that an expression speaks of."""
    return view.seen.get(step) or state.latest.get(step)


def is_done(state: State, view: View, step: str) -> bool:
    """Whether the activation spoken of is over, and none of those spoken of is under way."""
    if step in view.seen:
        return True
    return step in state.latest and not state.active(step)


def helper(name: str, state: State, view: View) -> Callable[..., bool]:
    """Return one of the helper functions, looking from ``view``."""

    def done(step: str) -> bool:
        return is_done(state, view, step)

    def ok(step: str) -> bool:
        activation = lookup(state, view, step)
        return done(step) and activation is not None and activation.ok

    def fail(step: str) -> bool:
        activation = lookup(state, view, step)
        return done(step) and activation is not None and not activation.ok

    def running(step: str) -> bool:
        return step not in view.seen and state.active(step)

    def loop_done(step: str) -> bool:
        activation = lookup(state, view, step)
        return done(step) and activation is not None and activation.name == "loop.done"

    def all_done(steps: list[str]) -> bool:
        return all(done(step) for step in steps)

    def any_done(steps: list[str]) -> bool:
        return any(done(step) for step in steps)

    helpers: dict[str, Callable[..., bool]] = {
        "done": done, "ok": ok, "fail": fail, "running": running,
        "loop_done": loop_done, "all_done": all_done, "any_done": any_done,
    }  # fmt: skip
    return helpers[name]


def event_data(activation: Activation | None) -> dict[str, Any] | None:
    """Return what ``event`` is: the boundary event that brought a token here."""
    if activation is None:
        return None
    return {
        "name": activation.name,
        "step": activation.step,
        "status": "ok" if activation.ok else "error",
        "result": activation.result,
        "error": activation.error.as_data() if activation.error is not None else None,
        "counts": activation.counts,
        "args": activation.args,
    }


def branch_data(state: State, view: View) -> dict[str, Any] | None:
    """Return what ``branch`` is: the innermost fan-out around a token, with its parents."""
    branch: dict[str, Any] | None = None
    for group_id, index in view.stack:
        group = state.groups.get(group_id)
        if group is None:
            continue
        branch = {
            "index": index,
            "total": group.size,
            "item": group.items[index] if index < len(group.items) else None,
            "step": group.step,
            "output": group.overrides.get(index, view.output),
            "parent": branch,
        }
    return branch


@lru_cache(4096)
def timestamp(at: float | None) -> str | None:
    """Write a point in time as ISO 8601 in UTC."""
    return (
        None if at is None else datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    )


def status_data(state: State, view: View, step: str) -> dict[str, Any]:
    """Return ``step.<id>.status``."""
    activation = lookup(state, view, step)
    done = is_done(state, view, step)
    running = step not in view.seen and state.active(step)
    runs = state.runs_at.get(step)
    current = state.runs[next(reversed(runs))] if runs else None
    loop = current.loop if current is not None and running else None
    counts = (activation.counts if activation is not None else None) or {}
    if loop is not None:
        counts = counts_of(loop)
    started = (
        current.started_at if running and current else activation.started_at if activation else None
    )
    return {
        "done": done,
        "ok": activation.ok if done and activation is not None else None,
        "running": running,
        "started_at": timestamp(started),
        "finished_at": timestamp(activation.finished_at)
        if done and activation is not None
        else None,
        "error": activation.error.message
        if activation is not None and activation.error is not None
        else None,
        **{word: counts.get(word, 0) for word in ("total", "completed", "succeeded", "failed")},
    }


class _StepNames:
    """The ``step`` namespace: only the steps that are read, or all where only the run knows which."""

    def __init__(self, state: State, view: View) -> None:
        self.state = state
        self.view = view

    def only(self, names: Iterable[tuple[str, ...]]) -> dict[str, Any]:
        read = {path[1] if len(path) > 1 else "" for path in names if path[0] == "step"}
        if "" in read:
            read = set(self.state.latest) | set(self.state.runs_at)
        return {step: self._one(step) for step in read}

    def _one(self, step: str) -> dict[str, Any]:
        activation = lookup(self.state, self.view, step)
        names: dict[str, Any] = {"status": status_data(self.state, self.view, step)}
        if activation is not None and activation.done is not None:
            names["result"] = activation.done.result
        return names


def execution_data(state: State) -> dict[str, Any]:
    """Return what ``execution`` is."""
    began = timestamp(state.started_at)
    shown = {"id": state.id, "playbook": state.playbook, "started_at": began}
    by = scheduled_by(state.labels) if state.labels else None
    return shown if by is None else {**shown, "schedule": by}


_NAMES: dict[str, Callable[[State, View], Any]] = {
    "workload": lambda state, _: state.workload,
    "execution": lambda state, _: execution_data(state),
    "ctx": lambda _, view: view.ctx,
    "args": lambda _, view: view.args,
    "event": lambda _, view: event_data(view.event),
    "branch": branch_data,
    "_branch": branch_data,
}


def as_written(value: Any) -> str:
    """Show a value as an author writes it, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 1] + "…"
