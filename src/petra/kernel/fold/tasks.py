"""Tasks of the server as recorded: what they wait for, work items, signals (S14, S15, S16)."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from petra.kernel import events as e
from petra.kernel.fold.tokens import timers, withdraw_items
from petra.kernel.fold.waits import keep, leave, place_of, take_out, wait_for, wait_to_retry
from petra.kernel.fold.writes import write
from petra.kernel.state import Chunk, State, StepRun
from petra.kernel.waiting import Awaited, Signal, WorkItem

TASK_TIMERS = frozenset({"wait", "due", "remind", "escalate", "retry"})


def arm(state: State, run: StepRun, chunk: Chunk | None, armed: e.Armed) -> None:
    """Set up what a server task waits for."""
    waits = tuple(
        Awaited(
            which=w.which,
            kind=w.kind,  # type: ignore[arg-type]
            name=w.name,
            key=w.key,
            delivery=w.delivery,
            item=w.item,
        )
        for w in armed.waits
    )
    holder = chunk if chunk is not None else run
    place = place_of(run.id, chunk.id if chunk is not None else "")
    leave(state, place, holder)
    holder.waits = waits
    holder.attempt = armed.attempt
    holder.child = armed.child
    holder.call = armed.call or None
    wait_for(state, place, holder)
    run.retrying = False
    if armed.child:
        state.children[armed.child] = run.id
    for new in armed.items:
        state.touched_items[new.id] = None
        state.items[new.id] = WorkItem(
            id=new.id, run=run.id, step=run.step, state="offered", spec=new.spec, offered_at=state.now,
            chunk=chunk.id if chunk else "", attempt=new.attempt,
        )  # fmt: skip
        for step in completed_by(new.spec):
            state.excluding.setdefault(step, {})[new.id] = None
    timers(state, armed.timers)


def completed_by(spec: dict[str, Any]) -> list[str]:
    """Return the steps whose completers may not act on a work item (four eyes)."""
    return names_of((spec.get("exclude") or {}).get("completed_by"))


def names_of(names: Any) -> list[str]:
    """Read a name, or a list of them."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in names]


def attempt_ended(state: State, event: e.AttemptEnded) -> None:
    """A try of a server task ended, and there will be another."""
    run = state.runs[event.run]
    disarm(state, run, event.chunk)
    wait_to_retry(state, place_of(run.id, event.chunk))
    run.retrying = True
    if event.attempt.error is not None:
        run.errors = (*run.errors, event.attempt.error)
    for change in event.writes:
        write(state, change, run.stack)
    timers(state, event.timers)


def disarm(state: State, run: StepRun, chunk_id: str) -> None:
    """Withdraw what a try of a server task waited for."""
    holder: StepRun | Chunk = run.chunks[chunk_id] if chunk_id else run
    withdraw_items(state, holder)
    leave(state, place_of(run.id, chunk_id), holder)
    holder.waits = ()
    holder.child = ""
    state.drop_timers(run.id, TASK_TIMERS, chunk_id)


def attempt_started(state: State, event: e.AttemptStarted) -> None:
    """A server task is tried again."""
    run = state.runs[event.run]
    chunk = run.chunks[event.chunk] if event.chunk else None
    state.drop_timers(run.id, TASK_TIMERS, event.chunk)
    arm(state, run, chunk, event.armed)


def item_changed(state: State, event: e.ItemChanged) -> None:
    """An act on a work item, or something time did to it."""
    item = state.items[event.item]
    state.touched_items[item.id] = None
    if event.act == "suspend":
        item.resumed_state = item.state
        _stop(state, item, event.stopped)
    elif event.act == "resume":
        item.stopped = ()
        timers(state, event.timers)
    if event.act == "complete":
        completed(state, item, event)
    item.state = event.state  # type: ignore[assignment]
    item.holder = event.holder
    item.owner = event.owner
    if event.holder is not None:
        item.past.add(event.holder)
    if event.act == "save":
        item.draft = event.data
    elif event.act == "comment":
        item.comments.append({"actor": event.actor, "at": state.now, "text": event.data})
    elif event.act == "complete":
        item.decision = {"action": event.reason, "data": event.data, "actor": event.actor}
    if event.assignees is not None:
        item.spec = {**item.spec, "assignees": event.assignees}


def _stop(state: State, item: WorkItem, ids: list[str]) -> None:
    """Let the timers of a work item stand still (none where an older log let them go on)."""
    running = [state.timers[timer_id] for timer_id in ids]
    item.stopped = tuple(
        structs.replace(timer, due=max(0.0, timer.due - state.now)) for timer in running
    )
    for timer in running:
        state.drop_timer(timer.id)


def completed(state: State, item: WorkItem, event: e.ItemChanged) -> None:
    """Remember who completed a step, and for whom; whom that excludes elsewhere is to be seen there."""
    known = state.completers.setdefault(item.step, {})
    for who in (event.actor, event.on_behalf_of, item.owner):
        if who is not None:
            known[who] = None
    concerned = state.excluding.get(item.step, {})
    for item_id in [item_id for item_id in concerned if not state.items[item_id].is_open]:
        del concerned[item_id]
    state.touched_items.update(concerned)


def signal_received(state: State, event: e.SignalReceived) -> None:
    """A signal was kept, or used up."""
    if event.kept:
        keep(state, Signal(event.name, event.key, event.payload))
    elif event.run is not None:
        take_out(state, event.name, event.key, event.payload)
