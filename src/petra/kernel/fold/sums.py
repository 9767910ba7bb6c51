"""What is remembered of a run that ended: its sum, what can be undone, what failed (S6, S7, S13)."""

from __future__ import annotations

from typing import Any

from petra.kernel import events as e
from petra.kernel.fold.tokens import count
from petra.kernel.scope import branch_data, view_of
from petra.kernel.state import Activation, State, StepRun, Undo
from petra.wire import Error

FAILURES_MAX = 100
"""So many failures are kept, the first ones; all of them are counted."""


def last_error(state: State, event: e.StepEnded) -> None:
    """Keep the last error in ctx, for handlers to read."""
    if isinstance(event, e.StepFailed) and event.error is not None:
        last = {
            "step": event.step,
            "code": event.error.code or event.error.kind,
            "message": event.error.message,
        }
        state.ctx = {**state.ctx, "_last_error": last}


def remember(state: State, run: StepRun, activation: Activation, event: e.StepEnded) -> None:
    """Remember an activation: as the latest, to be undone, as a failure."""
    state.latest[run.step] = activation
    if activation.ok:
        state.counts["done"] = state.counts.get("done", 0) + 1
        if event.undoable:
            seen = {**run.seen, run.step: activation}
            branch = branch_data(state, view_of(state, run)) if run.stack else None
            state.undo.append(Undo(run.step, run.id, run.args, seen, run.stack, run.began, branch))
        elif state.phase == "normal":
            state.not_compensated[run.step] = None
        if not event.produced and state.phase == "normal":
            state.last_done = activation
        if isinstance(event, e.LoopDone) and event.stains:
            note_iterations(state, event)
    else:
        count(state, "failed")
        if not event.handled:
            note_failure(state, event)


def note_failure(state: State, event: e.StepEnded, **more: str) -> None:
    """Keep a failure that nothing handled, of a loop with the index of its iteration; of very many, the first."""
    if len(state.failures) < FAILURES_MAX:
        error = event.error or Error()
        details = error.details
        index: dict[str, Any] = {}
        if event.counts is not None and isinstance(details, dict) and "index" in details:
            index = {"index": details["index"]}
        state.failures.append({"step": event.step, **index, **more, **error.as_data()})


def note_iterations(state: State, event: e.StepEnded) -> None:
    """Keep the first failures of a loop that went on after them, by their indices (S9)."""
    details = event.error.details if event.error is not None else None
    for failure in details if isinstance(details, list) else ():
        if len(state.failures) < FAILURES_MAX and isinstance(failure, dict):
            state.failures.append({"step": event.step, **failure})
