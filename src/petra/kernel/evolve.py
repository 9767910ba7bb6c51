"""Evolve: apply one recorded event to the state, in place.

Rule 1: total and guard-free. Nothing is decided here, so replay cannot decide anew.
Rule 2: token conservation: what an event consumes was there, what it produces was not.
Rule 3: terminal states are absorbing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from petra.kernel import events as e
from petra.kernel.fold.crowds import tokens_added, tokens_gathered
from petra.kernel.fold.groups import group_changed, group_timed_out, settle_groups
from petra.kernel.fold.loops import items_added, iterations_ended, iterations_started
from petra.kernel.fold.migration import migrated
from petra.kernel.fold.permits import PERMITS
from petra.kernel.fold.schedules import SCHEDULES
from petra.kernel.fold.steps import discarded, returned, step_ended, step_started, withdrawn
from petra.kernel.fold.tasks import attempt_ended, attempt_started, item_changed, signal_received
from petra.kernel.fold.tokens import add, timers
from petra.kernel.fold.writes import ctx_patched
from petra.kernel.state import State

_NOBODY: Sequence[str] = ()


def evolve(state: State, event: e.AnyEvent, *, seq: int, at: float) -> Sequence[str]:
    """Apply one event; the ids of the groups whose branches it touched come back."""
    assert not state.terminal, "nothing happens after the end"
    assert seq == state.seq + 1, "versions have no gap"
    state.seq = seq
    state.stuck = state.trouble = ""
    if at > state.now:  # noqa: PLR1730 - a call would cost more
        state.now = at
    if state.touched:
        state.touched = {}
    if state.touched_items:
        state.touched_items = {}
    _APPLY[type(event)](state, event)
    return settle_groups(state) if state.touched else _NOBODY


def _execution_started(state: State, event: e.ExecutionStarted) -> None:
    state.playbook = event.playbook
    state.digest = event.digest
    state.workload = event.workload
    state.started_at = state.now
    state.reducers = event.reducers
    state.parent = event.parent
    state.inherits = event.inherits
    state.allow_unsound = event.allow_unsound
    state.depth = event.depth
    state.company = event.company
    state.labels = event.labels
    state.namespace = event.namespace
    state.tells = event.tells
    state.priority = event.priority
    timers(state, event.timers)
    add(state, event.entry, (), {}, None, None, "")


def _forked(state: State, event: e.ExecutionForked) -> None:
    """Live through the past of another execution; it lies before version 1 of this one."""
    state.past_left = event.size or len(event.past)
    _live(state, event.past)
    earlier = [origin for origin, _, _ in event.parts[:-1]] or state.origins
    state.origins = [*earlier, event.origin]


def _past_taken(state: State, event: e.PastTaken) -> None:
    _live(state, event.past)


def _live(state: State, events: list[tuple[float, e.AnyEvent]]) -> None:
    seq, now, left = state.seq, state.now, state.past_left
    for version, (at, past) in enumerate(events, start=1 - left):
        state.seq, state.now = version, at
        state.touched = {}
        _APPLY[type(past)](state, past)
        settle_groups(state)
    state.past_left = left - len(events)
    state.seq, state.now, state.touched = seq, max(now, state.now), {}


def _redelivered(state: State, event: e.RunRedelivered) -> None:
    run = state.runs[event.run]
    if event.chunk:
        run.chunks[event.chunk].delivery = event.delivery
        run.chunks[event.chunk].incident = False
    else:
        run.delivery = event.delivery
    if run.incident and not any(chunk.incident for chunk in run.chunks.values()):
        run.incident = False
        del state.incidents[run.id]


def _taken_back(state: State, event: e.RunTakenBack) -> None:
    run = state.runs[event.run]
    holder = run.chunks[event.chunk] if event.chunk else run
    holder.delivery = event.delivery
    holder.taken_back += 1


def _incident(state: State, event: e.IncidentRaised) -> None:
    if not event.run:
        state.trouble = event.message
        return
    run = state.runs[event.run]
    run.incident = True
    if event.chunk:
        run.chunks[event.chunk].incident = True
    state.incidents[event.run] = event.message


def _timer_fired(state: State, event: e.TimerFired) -> None:
    state.drop_timer(event.timer)


def _paused(state: State, _event: e.ExecutionPaused) -> None:
    state.paused = True


def _resumed(state: State, _event: e.ExecutionResumed) -> None:
    state.paused = False


def _ending(state: State, event: e.ExecutionEnding) -> None:
    state.ending = event.status
    state.phase = event.phase  # type: ignore[assignment]
    state.compensates = state.compensates or event.phase == "compensating"
    state.halted = event.halts
    state.reason = event.reason
    state.error = event.error
    state.paused = False


def _final_started(state: State, event: e.FinalStarted) -> None:
    state.phase = "final"
    state.final_done = True
    add(state, event.token, (), dict(state.latest), None, None, "")


def _stuck(state: State, event: e.ExecutionStuck) -> None:
    state.stuck = f"{event.reason}: {event.message}"


def _ended(state: State, event: e.ExecutionEnded) -> None:
    assert not state.ready, "no token is left at the end"
    assert not state.runs, "no run is left at the end"
    state.terminal = event.status
    state.output = event.output
    state.error = event.error
    state.reason = event.reason
    state.phase = "over"
    state.drop_all_timers()


def _nothing(_state: State, _event: Any) -> None:
    """An event that is kept for people and changes nothing."""


_APPLY: dict[type, Callable[[State, Any], None]] = {
    e.ExecutionStarted: _execution_started,
    e.ExecutionForked: _forked,
    e.PastTaken: _past_taken,
    e.StepStarted: step_started,
    e.StepDone: step_ended,
    e.StepFailed: step_ended,
    e.LoopDone: step_ended,
    e.LoopStarted: _nothing,
    e.IterationsStarted: iterations_started,
    e.ItemsAdded: items_added,
    e.IterationsEnded: iterations_ended,
    e.TokenDiscarded: discarded,
    e.Withdrawn: withdrawn,
    e.TokensAdded: tokens_added,
    e.TokensGathered: tokens_gathered,
    e.RunReturned: returned,
    e.RunRedelivered: _redelivered,
    e.RunTakenBack: _taken_back,
    e.ReportRejected: _nothing,
    e.IncidentRaised: _incident,
    e.AttemptEnded: attempt_ended,
    e.AttemptStarted: attempt_started,
    e.GroupChanged: group_changed,
    e.GroupTimedOut: group_timed_out,
    e.CtxPatched: ctx_patched,
    e.SignalReceived: signal_received,
    e.ItemChanged: item_changed,
    e.ActRefused: _nothing,
    e.TimerFired: _timer_fired,
    e.ExecutionPaused: _paused,
    e.ExecutionResumed: _resumed,
    e.ExecutionEnding: _ending,
    e.FinalStarted: _final_started,
    e.ExecutionStuck: _stuck,
    e.ExecutionEnded: _ended,
    e.ExecutionMigrated: migrated,
    **SCHEDULES,
    **PERMITS,
}
