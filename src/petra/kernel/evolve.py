"""Evolve: apply one recorded event to the state, in place.

Rule 1: total and guard-free. Nothing is decided here, so replay cannot decide anew.
Rule 2: token conservation: what an event consumes was there, what it produces was not.
Rule 3: terminal states are absorbing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from petra.kernel import events as e
from petra.kernel.state import (
    Activation,
    Branch,
    Chunk,
    Group,
    KeyWriter,
    LoopState,
    Run,
    Seen,
    Signal,
    Stack,
    State,
    Timer,
    Token,
    Undo,
    Wait,
    WorkItem,
)
from petra.reduce import reduce_value
from petra.wire import Error, Write

FAILURES_MAX = 100
# The timers of one try of a server task, as opposed to those of the whole run.
TASK_TIMERS = frozenset({"wait", "due", "remind", "escalate", "retry"})


def evolve(state: State, event: e.AnyEvent, *, seq: int, at: float) -> list[str]:
    """Apply one event; the ids of the groups whose branches it touched come back."""
    assert not state.terminal, "nothing happens after the end"
    assert seq == state.seq + 1, "versions have no gap"
    state.seq = seq
    state.stuck = ""
    state.now = max(state.now, at)
    state.touched = {}
    _APPLY[type(event)](state, event)
    return _settle_groups(state)


def _settle_groups(state: State) -> list[str]:
    """Note which branches ended, and forget groups that nobody is in any more."""
    touched = state.touched
    if not touched:
        return []
    for group_id, branches in touched.items():
        group = state.groups.get(group_id)
        if group is None:
            continue
        for index, where in branches.items():
            if index not in group.members and index not in group.arrived:
                group.ended.setdefault(index, where)
        if not group.members and (group.fired or group.join is None):
            _forget(state, group)
    return list(touched)


def _forget(state: State, group: Group) -> None:
    del state.groups[group.id]
    state.writers.pop(group.id, None)
    state.drop_timers(group.id)
    for join in [name for name, fired in state.fired_groups.items() if fired == group.id]:
        del state.fired_groups[join]


# Tokens


def _add(
    state: State,
    made: e.Produced,
    stack: Stack,
    seen: Seen,
    source: Activation | None,
    output: Any,
    origin: str,
) -> None:
    token = Token(
        id=made.id,
        step=made.step,
        args=made.args,
        stack=stack,
        seen=seen,
        source=source,
        arrow=(origin, made.arc) if origin else None,
        output=output,
        since=state.seq,
        empty=made.empty,
    )
    state.add_token(token)
    if made.arrives is not None:
        group = state.groups[made.arrives]
        index = next(level.branch for level in stack if level.group == made.arrives)
        group.join = made.step
        if index not in group.arrived:
            group.arrived[index] = made.id
            group.outputs[index] = group.overrides.get(index, output)
            group.order.append(index)
        _touch(state, stack, made.step)


def _touch(state: State, stack: Stack, where: str) -> None:
    for level in stack:
        state.touched.setdefault(level.group, {})[level.branch] = where


def _take_token(state: State, token_id: str) -> Token:
    token = state.take_token(token_id)
    for level in token.stack:
        group = state.groups.get(level.group)
        if group is not None and group.arrived.get(level.branch) == token_id and not group.fired:
            del group.arrived[level.branch]
    _touch(state, token.stack, token.step)
    return token


def _take_run(state: State, run_id: str) -> Run:
    run = state.take_run(run_id)
    state.children.pop(run.child, None)
    for chunk in run.chunks.values():
        state.children.pop(chunk.child, None)
    if run.loop is not None:
        for scope in [scope for scope in state.writers if scope.startswith(f"{run_id}/")]:
            del state.writers[scope]
    _touch(state, run.stack, run.step)
    return run


def _timers(state: State, made: list[e.NewTimer]) -> None:
    for new in made:
        state.add_timer(
            Timer(
                id=new.id, due=new.due, kind=new.kind, run=new.run, group=new.group, index=new.index
            )
        )


# The life of an execution


def _execution_started(state: State, event: e.ExecutionStarted) -> None:
    state.playbook = event.playbook
    state.digest = event.digest
    state.workload = event.workload
    state.started_at = state.now
    state.reducers = event.reducers
    state.parent = event.parent
    state.depth = event.depth
    _timers(state, event.timers)
    _add(state, event.entry, (), {}, None, None, "")


def _step_started(state: State, event: e.StepStarted) -> None:
    tokens = [state.ready[token_id] for token_id in event.consumed]
    _consume(state, tokens, event.step, event.group)
    first = tokens[0] if tokens else None
    stack = first.stack if first is not None and event.stack is None else to_stack(event.stack)
    undone = state.undo.pop() if event.compensates else None
    run = Run(
        id=event.run,
        step=event.step,
        args=event.args if event.args is not None else (first.args if first else {}),
        stack=stack,
        seen=undone.seen if undone else _history(state, tokens, event.group),
        source=first.source if first else None,
        output=first.output if first else None,
        started_at=state.now,
        seq=state.seq,
        token=first.id if first else "",
        arrow=first.arrow if first else None,
        resources=list(event.resources),
        compensates=event.compensates,
    )
    if event.items is not None:
        run.loop = LoopState(len(event.items), event.items, event.max_in_flight)
    for name, key, units in event.resources:
        state.held[name, key] = state.held.get((name, key), 0) + units
    state.add_run(run)
    state.once.add(event.step)
    _count(state, "started")
    _timers(state, event.timers)
    if event.armed is not None:
        _arm(state, run, None, event.armed)
    if event.merge is not None:
        write(state, event.merge, stack)
    state.firings += 1


def _consume(state: State, tokens: list[Token], step: str, group_id: str | None) -> None:
    """Take the tokens of a firing; what a join closes is over, with the groups inside its branches."""
    group = state.groups.get(group_id) if group_id is not None else None
    if group is not None:
        group.fired = True
        state.fired_groups[step] = group.id
    for token in tokens:
        _take_token(state, token.id)
        for level in token.stack[len(group.stack) + 1 :] if group is not None else ():
            inner = state.groups.get(level.group)
            if inner is not None and not inner.members:
                _forget(state, inner)


def _history(state: State, tokens: list[Token], group_id: str | None) -> Seen:
    if len(tokens) == 1:
        return tokens[0].seen
    if tokens or group_id is None:
        return _united(tokens)
    return state.groups[group_id].seen


def _united(tokens: list[Token]) -> Seen:
    """Unite the histories of joined tokens: of each step, the activation that ended last."""
    seen: Seen = {}
    for token in tokens:
        for step, activation in token.seen.items():
            if step not in seen or seen[step].seq < activation.seq:
                seen[step] = activation
    return seen


def to_stack(pairs: list[e.Pair] | None) -> Stack:
    """Read a stack from an event."""
    return tuple(Branch(group, index) for group, index in pairs or ())


def _step_ended(state: State, event: e.StepEnded) -> None:
    run = _ended_run(state, event)
    activation = activation_of(state, run, event)
    for made in event.writes:
        write(state, made, run.stack)
    _last_error(state, event)
    if event.has_branch and run.stack:
        _override_branch(state, run.stack[-1], event.branch)
    if not run.compensates:
        _remember(state, run, activation, event)
    if event.stains:
        state.stained = True
    output = event.result if event.has_result and activation.ok else run.output
    if event.has_branch:
        output = event.branch
    _produce(state, run, event, activation, output)
    _timers(state, event.timers)
    state.firings += 1


def _ended_run(state: State, event: e.StepEnded) -> Run:
    """Take the run; one that never started is made up from the tokens it consumed."""
    if event.run in state.runs:
        run = _take_run(state, event.run)
        _withdraw_items(state, run, *run.chunks.values())  # alternatives that did not win
        return run
    group = state.groups.get(event.closes) if event.closes else None
    tokens = [state.ready[token_id] for token_id in event.consumed]
    _consume(state, tokens, event.step, event.closes)
    first = tokens[0] if tokens else None
    stack = group.stack if group is not None else first.stack if first else ()
    seen = _united(tokens) if tokens else (group.seen if group else {})
    source = first.source if first else group.source if group else None
    return Run(
        id=event.run, step=event.step, args=first.args if first else {}, stack=stack, seen=seen, source=source,
        output=None, started_at=state.now, seq=state.seq, token=first.id if first else "",
    )  # fmt: skip


def activation_of(state: State, run: Run, event: e.StepEnded) -> Activation:
    """Sum up a run that ended."""
    ok = not isinstance(event, e.StepFailed)
    before = None if ok else run.seen.get(run.step) or state.latest.get(run.step)
    return Activation(
        step=run.step,
        run=run.id,
        ok=ok,
        result=event.result,
        has_result=event.has_result,
        error=event.error,
        name=_NAMES[type(event)],
        args=run.args,
        started_at=run.started_at,
        finished_at=state.now,
        seq=state.seq,
        counts=event.counts,
        actor=event.actor,
        before=before.done if before is not None else None,
    )


_NAMES: dict[type, str] = {
    e.StepDone: "step.done",
    e.StepFailed: "step.failed",
    e.LoopDone: "loop.done",
}


def _last_error(state: State, event: e.StepEnded) -> None:
    if isinstance(event, e.StepFailed) and event.error is not None:
        last = {
            "step": event.step,
            "code": event.error.code or event.error.kind,
            "message": event.error.message,
        }
        state.ctx = {**state.ctx, "_last_error": last}


def _override_branch(state: State, branch: Branch, value: Any) -> None:
    group = state.groups.get(branch.group)
    if group is not None:
        group.overrides[branch.branch] = value


def _remember(state: State, run: Run, activation: Activation, event: e.StepEnded) -> None:
    state.latest[run.step] = activation
    if activation.ok:
        _count(state, "done")
        if event.undoable:
            seen = {**run.seen, run.step: activation}
            state.undo.append(Undo(run.step, run.id, run.args, seen, run.stack))
        elif state.phase == "normal":
            state.not_compensated[run.step] = None
        if not event.produced and state.phase == "normal":
            state.last_done = activation
    else:
        _count(state, "failed")
        if not event.handled and len(state.failures) < FAILURES_MAX:
            error = event.error or Error()
            state.failures.append({"step": run.step, **error.as_data()})


def _count(state: State, word: str) -> None:
    state.counts[word] = state.counts.get(word, 0) + 1


def _produce(
    state: State, run: Run, event: e.StepEnded, activation: Activation, output: Any
) -> None:
    if not event.produced and event.group is None:
        return
    seen = {**run.seen, run.step: activation}
    if event.group is not None:
        new = event.group
        state.groups[new.id] = Group(
            id=new.id, step=run.step, size=new.size, stack=run.stack, seen=seen, created_at=state.now,
            join=new.join, items=new.items, arcs=new.arcs, source=activation,
        )  # fmt: skip
    for made in event.produced:
        stack = run.stack
        carried = output
        if made.index is not None and event.group is not None:
            stack = (*stack, Branch(event.group.id, made.index))
            carried = None  # a branch begins without an output of its own
        _add(state, made, stack, seen, activation, carried, run.step)


def _withdrawn(state: State, event: e.Withdrawn) -> None:
    for token_id in event.tokens:
        _take_token(state, token_id)
    for run_id in event.runs:
        run = _take_run(state, run_id)
        _count(state, "cancelled")
        _withdraw_items(state, run, *run.chunks.values())
    for group_id in event.groups:
        if group_id in state.groups:
            _forget(state, state.groups[group_id])


def _withdraw_items(state: State, *holders: Run | Chunk) -> None:
    for holder in holders:
        for wait in holder.waits:
            item = state.items.get(wait.item)
            if item is not None and item.is_open:
                item.state = "withdrawn"


def _discarded(state: State, event: e.TokenDiscarded) -> None:
    if event.closes is not None and event.closes in state.groups:
        state.groups[event.closes].fired = True
    token = _take_token(state, event.token)
    if event.group is not None and event.index is not None:
        group = state.groups.get(event.group)
        if group is not None and event.merge is not None:
            group.arrived[event.index] = event.token
            group.outputs[event.index] = group.overrides.get(event.index, token.output)
            group.order.append(event.index)
    if event.merge is not None:
        write(state, event.merge, token.stack[:-1])
    state.firings += 1


def _returned(state: State, event: e.RunReturned) -> None:
    run = _take_run(state, event.run)
    state.once.discard(run.step)
    _withdraw_items(state, run)
    origin = run.arrow[0] if run.arrow else ""
    _add(state, event.token, run.stack, run.seen, run.source, run.output, origin)
    state.firings += 1


# Server tasks


def _arm(state: State, run: Run, chunk: Chunk | None, armed: e.Armed) -> None:
    waits = [
        Wait(which=w.which, kind=w.kind, name=w.name, key=w.key, delivery=w.delivery, item=w.item)  # type: ignore[arg-type]
        for w in armed.waits
    ]
    holder = chunk if chunk is not None else run
    holder.waits = waits
    holder.attempt = armed.attempt
    holder.child = armed.child
    holder.call = armed.call
    run.retrying = False
    if armed.child:
        state.children[armed.child] = run.id
    for new in armed.items:
        state.items[new.id] = WorkItem(
            id=new.id, run=run.id, step=run.step, state="offered", spec=new.spec, offered_at=state.now,
            chunk=chunk.id if chunk else "", attempt=new.attempt,
        )  # fmt: skip
    _timers(state, armed.timers)


def _attempt_ended(state: State, event: e.AttemptEnded) -> None:
    run = state.runs[event.run]
    _disarm(state, run, event.chunk)
    run.retrying = True
    if event.attempt.error is not None:
        run.errors.append(event.attempt.error)
    for made in event.writes:
        write(state, made, run.stack)
    _timers(state, event.timers)


def _disarm(state: State, run: Run, chunk_id: str) -> None:
    holder: Run | Chunk = run.chunks[chunk_id] if chunk_id else run
    _withdraw_items(state, holder)
    holder.waits = []
    holder.child = ""
    state.drop_timers(run.id, TASK_TIMERS, chunk_id)


def _attempt_started(state: State, event: e.AttemptStarted) -> None:
    run = state.runs[event.run]
    chunk = run.chunks[event.chunk] if event.chunk else None
    state.drop_timers(run.id, TASK_TIMERS, event.chunk)
    _arm(state, run, chunk, event.armed)


def _item_changed(state: State, event: e.ItemChanged) -> None:
    item = state.items[event.item]
    if event.act == "suspend":
        item.resumed_state = item.state
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


def _signal_received(state: State, event: e.SignalReceived) -> None:
    if event.kept:
        state.mailbox.append(Signal(event.name, event.key, event.payload))
    elif event.run is not None:
        for index, kept in enumerate(state.mailbox):
            if kept.name == event.name and kept.key == event.key and kept.payload == event.payload:
                del state.mailbox[index]
                break


# Loops


def level_at(loop: LoopState, path: tuple[int, ...]) -> LoopState:
    """Return the level of a loop that the iteration with this path belongs to."""
    for index in path[:-1]:
        inner = loop.active[index]
        assert inner is not None
        loop = inner
    return loop


def _iterations_started(state: State, event: e.IterationsStarted) -> None:
    run = state.runs[event.run]
    assert run.loop is not None
    for path, items, limit in event.opened:
        level = level_at(run.loop, path)
        level.active[path[-1]] = LoopState(len(items), items, limit)
        level.next = max(level.next, path[-1] + 1)
    for path in event.paths:
        level = level_at(run.loop, path)
        level.active[path[-1]] = None
        level.next = max(level.next, path[-1] + 1)
    close_levels(run.loop)
    if event.chunk:
        chunk = Chunk(event.chunk, list(event.paths))
        level_at(run.loop, event.paths[0]).chunks += 1
        run.chunks[event.chunk] = chunk
        run.chunks_made += 1
        if event.armed is not None:
            _arm(state, run, chunk, event.armed)


def _iterations_ended(state: State, event: e.IterationsEnded) -> None:
    run = state.runs[event.run]
    assert run.loop is not None
    chunk = run.chunks[event.chunk]
    if not event.more:
        del run.chunks[event.chunk]
        level_at(run.loop, chunk.paths[0]).chunks -= 1
    durations = 0.0
    for ended in event.ended:
        for made in ended.writes:
            write(state, made, run.stack, loop=(run.id, ended.path))
        level = level_at(run.loop, ended.path)
        del level.active[ended.path[-1]]
        _put(level.results, ended.path[-1], ended.result if ended.ok else None)
        level.done += 1
        level.succeeded += ended.ok
        level.failed += not ended.ok
        durations += sum(attempt.duration_ms for attempt in ended.attempts)
        if not ended.ok and ended.error is not None and len(run.errors) < 100:
            run.errors.append(ended.error)
    state.drop_timers(run.id, group=chunk.id)
    _withdraw_items(state, chunk)
    close_levels(run.loop)
    _adapt(run, durations / max(1, len(event.ended)))


def _put(results: list[Any], index: int, value: Any) -> None:
    while len(results) <= index:
        results.append(None)
    results[index] = value


def close_levels(loop: LoopState) -> None:
    """Turn inner levels that are through into results of the outer one."""
    for index, inner in list(loop.active.items()):
        if inner is None:
            continue
        close_levels(inner)
        if inner.is_over:
            del loop.active[index]
            _put(
                inner.results,
                inner.total - 1,
                inner.results[-1] if len(inner.results) == inner.total else None,
            ) if inner.total else None
            _put(loop.results, index, inner.results)
            loop.done += inner.done
            loop.succeeded += inner.succeeded
            loop.failed += inner.failed


CHUNK_MAX = 256
FAST_MS = 5.0
SLOW_MS = 50.0


def _adapt(run: Run, mean_ms: float) -> None:
    """Hand out more at a time while iterations are quick, one by one when they are slow."""
    if mean_ms <= FAST_MS:
        run.chunk_size = min(CHUNK_MAX, run.chunk_size * 2)
    elif mean_ms >= SLOW_MS:
        run.chunk_size = 1


# ctx


def write(
    state: State, made: Write, stack: Stack, loop: tuple[str, tuple[int, ...]] | None = None
) -> None:
    """Apply one write to ctx, and note who made it."""
    key = made.key
    present = key in state.ctx
    reducer = state.reducers.get(key)
    value = made.value
    if reducer is not None:
        value = reduce_value(reducer, state.ctx.get(key), value, present=present)  # type: ignore[arg-type]
    elif stack or loop:
        for scope, index in scopes_of(state, stack, loop):
            note_writer(state, scope, key, index, made.value)
    state.ctx = {**state.ctx, key: value}


def scopes_of(
    state: State, stack: Stack, loop: tuple[str, tuple[int, ...]] | None
) -> list[tuple[str, int]]:
    """Return the groups and parallel loops a writer is inside of, with its index in each."""
    found = [(level.group, level.branch) for level in stack if level.group in state.groups]
    if loop is None:
        return found
    run_id, path = loop
    level: LoopState | None = state.runs[run_id].loop
    for depth, index in enumerate(path):
        if level is None:
            break
        if level.max_in_flight > 1:
            found.append((f"{run_id}/{path[:depth]}", index))
        level = level.active.get(index)
    return found


def note_writer(state: State, scope: str, key: str, index: int, value: Any) -> None:
    """Remember a write so that a later one from a sibling can be compared with it."""
    writers = state.writers.setdefault(scope, {})
    known = writers.get(key)
    if known is None:
        writers[key] = KeyWriter(index, value)
    elif known.index != index:
        known.several = True
    else:
        known.value = value


def _ctx_patched(state: State, event: e.CtxPatched) -> None:
    state.ctx = {**state.ctx, **event.values}


# Groups


def _group_changed(state: State, event: e.GroupChanged) -> None:
    group = state.groups[event.group]
    if event.change == "close":
        group.closed = True
    elif event.change == "add" and event.produced is not None:
        index = group.size
        group.size += 1
        group.items = [*group.items, event.item]
        group.arcs = [*group.arcs, event.produced.arc]
        stack = (*group.stack, Branch(group.id, index))
        _add(state, event.produced, stack, group.seen, group.source, None, group.step)
    elif event.change == "complete":
        group.timed_out = True
    state.touched.setdefault(group.id, {})


def _group_timed_out(state: State, event: e.GroupTimedOut) -> None:
    group = state.groups[event.group]
    group.timed_out = True
    state.drop_timers(group.id)
    state.touched.setdefault(group.id, {})


# Runs and the end


def _redelivered(state: State, event: e.RunRedelivered) -> None:
    run = state.runs[event.run]
    if event.chunk:
        run.chunks[event.chunk].delivery = event.delivery
    else:
        run.delivery = event.delivery
    run.incident = False


def _incident(state: State, event: e.IncidentRaised) -> None:
    state.runs[event.run].incident = True


def _timer_fired(state: State, event: e.TimerFired) -> None:
    state.drop_timer(event.timer)


def _paused(state: State, _event: e.ExecutionPaused) -> None:
    state.paused = True


def _resumed(state: State, _event: e.ExecutionResumed) -> None:
    state.paused = False


def _ending(state: State, event: e.ExecutionEnding) -> None:
    state.ending = event.status
    state.phase = event.phase  # type: ignore[assignment]
    state.reason = event.reason
    state.error = event.error
    state.paused = False


def _final_started(state: State, event: e.FinalStarted) -> None:
    state.phase = "final"
    state.final_done = True
    _add(state, event.token, (), dict(state.latest), None, None, "")


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
    state.timers.clear()
    state.timers_of.clear()


def _nothing(_state: State, _event: Any) -> None:
    """An event that is kept for people and changes nothing."""


_APPLY: dict[type, Callable[[State, Any], None]] = {
    e.ExecutionStarted: _execution_started,
    e.StepStarted: _step_started,
    e.StepDone: _step_ended,
    e.StepFailed: _step_ended,
    e.LoopDone: _step_ended,
    e.IterationsStarted: _iterations_started,
    e.IterationsEnded: _iterations_ended,
    e.TokenDiscarded: _discarded,
    e.Withdrawn: _withdrawn,
    e.RunReturned: _returned,
    e.RunRedelivered: _redelivered,
    e.ReportRejected: _nothing,
    e.IncidentRaised: _incident,
    e.AttemptEnded: _attempt_ended,
    e.AttemptStarted: _attempt_started,
    e.GroupChanged: _group_changed,
    e.GroupTimedOut: _group_timed_out,
    e.CtxPatched: _ctx_patched,
    e.SignalReceived: _signal_received,
    e.ItemChanged: _item_changed,
    e.ActRefused: _nothing,
    e.TimerFired: _timer_fired,
    e.ExecutionPaused: _paused,
    e.ExecutionResumed: _resumed,
    e.ExecutionEnding: _ending,
    e.FinalStarted: _final_started,
    e.ExecutionStuck: _stuck,
    e.ExecutionEnded: _ended,
}
