"""Steps as recorded: started, ended, withdrawn, discarded, returned (S2, S5, S7)."""

from __future__ import annotations

from typing import Any, Final

from petra.kernel import events as e
from petra.kernel.fold.histories import history
from petra.kernel.fold.loops import add_pieces
from petra.kernel.fold.sums import last_error, note_failure, remember
from petra.kernel.fold.tasks import arm
from petra.kernel.fold.tokens import add, count, take_run, take_token, timers, touch, withdraw_items
from petra.kernel.fold.writes import merge, write
from petra.kernel.state import (
    Activation,
    Branch,
    Group,
    LoopState,
    ReadyToken,
    Stack,
    State,
    StepRun,
)

_NOTHING: Final[list[tuple[str, str, int]]] = []
"""What runs hold that hold no resources: one list for all."""


def step_started(state: State, event: e.StepStarted) -> None:
    """Tokens became a run."""
    if state.permits is not None:
        state.permits.begun(event.consumed, event.run)
    if len(event.consumed) == 1 and event.group is None and not state.gathered:
        run = _run_of(state, event, take_token(state, event.consumed[0]))
    else:
        run = _joined_run(state, event)
    if event.items is not None:
        run.loop = LoopState(len(event.items), event.items, event.max_in_flight)
        add_pieces(run.loop, event.pieces)
        run.parallel = tuple(event.parallel)
    for name, key, units in event.resources:
        state.held[name, key] = state.held.get((name, key), 0) + units
    state.add_run(run)
    state.once.add(event.step)
    state.counts["started"] = state.counts.get("started", 0) + 1
    if event.timers:
        timers(state, event.timers)
    if event.armed is not None:
        arm(state, run, None, event.armed)
    if event.merge is not None:
        run.merged = (event.merge.value,)
        merge(state, event.merge)
    state.firings += 1


def _run_of(state: State, event: e.StepStarted, token: ReadyToken) -> StepRun:
    """Make the run of one token."""
    run = StepRun(
        event.run, event.step, token.args if event.args is None else event.args, token.stack, token.seen,
        token.source, token.output, state.now, state.seq, token.id, token.arrow, event.resources or _NOTHING, token.joined,
        token.merged,
    )  # fmt: skip
    if event.stack is not None:
        run.stack, run.joined = to_stack(event.stack), True
    return run


def _joined_run(state: State, event: e.StepStarted) -> StepRun:
    """Make the run of several tokens, or of none: a join of a group, or a compensation."""
    tokens = [state.ready[token_id] for token_id in event.consumed]
    consume(state, tokens, event.group)
    first = tokens[0] if tokens else None
    stack = first.stack if first is not None and event.stack is None else to_stack(event.stack)
    undone = state.undo.pop() if event.compensates else None
    return StepRun(
        id=event.run,
        step=event.step,
        args=event.args if event.args is not None else (first.args if first else {}),
        stack=stack,
        seen=undone.seen if undone else history(state, tokens, event.group, event.run),
        source=first.source if first else None,
        output=first.output if first else None,
        started_at=state.now,
        seq=state.seq,
        token=first.id if first else "",
        arrow=first.arrow if first else None,
        resources=event.resources,
        joined=event.stack is not None or (first is not None and first.joined),
        merged=first.merged if first else (),
        compensates=event.compensates,
        began=undone.began if undone else None,
        within=undone.branch if undone else None,
    )


def consume(state: State, tokens: list[ReadyToken], group_id: str | None) -> None:
    """Take the tokens of a firing; what a join closes is over, with the groups inside its branches."""
    group = state.groups.get(group_id) if group_id is not None else None
    if group is not None:
        close(state, group)
    for token in tokens:
        take_token(state, token.id)
    if group is not None and group.living:
        state.detach(group)


def close(state: State, group: Group) -> None:
    """The join of a group has decided about it."""
    state.decide_group(group)
    touch(state, group.stack, group.join or group.step)
    state.touched.setdefault(group.id, {})


def to_stack(pairs: list[e.Pair] | None) -> Stack:
    """Read a stack from an event."""
    return tuple(Branch(group, index) for group, index in pairs or ())


def step_ended(state: State, event: e.StepEnded) -> None:
    """A run ended: its writes, its sum, and the tokens it produced."""
    run = ended_run(state, event)
    activation = activation_of(state, run, event)
    for change in event.writes:
        write(state, change, run.stack)
    if event.error is not None and (event.handled or not run.compensates):
        last_error(state, event)
    if event.has_branch and run.stack:
        override_branch(state, run.stack[-1], event.branch)
    if not run.compensates:
        remember(state, run, activation, event)
    elif not activation.ok and not event.handled:  # earlier versions called them handled
        count(state, "failed")
        note_failure(state, event, task=f"{run.step}/compensate")
    if event.stains:
        state.stained = True
    output = event.result if event.has_result and activation.ok else run.output
    if event.has_branch:
        output = event.branch
    produce(state, run, event, activation, output)
    if event.timers:
        timers(state, event.timers)
    state.firings += 1


def ended_run(state: State, event: e.StepEnded) -> StepRun:
    """Take the run; one that never started is made up from the tokens it consumed."""
    if event.run in state.runs:
        run = take_run(state, event.run)
        if state.items:
            withdraw_items(state, run, *run.chunks.values())  # alternatives that did not win
        return run
    group = state.groups.get(event.closes) if event.closes else None
    tokens = [state.ready[token_id] for token_id in event.consumed]
    consume(state, tokens, event.closes)
    if group is not None:
        group.void = True
    first = tokens[0] if tokens else None
    stack = group.stack if group is not None else first.stack if first else ()
    if event.stack is not None:
        stack = to_stack(event.stack)
    seen = (
        history(state, tokens, event.closes, event.run) if tokens else (group.seen if group else {})
    )
    source = first.source if first else group.source if group else None
    return StepRun(
        id=event.run, step=event.step, args=first.args if first else {}, stack=stack, seen=seen, source=source,
        output=None, started_at=state.now, seq=state.seq, token=first.id if first else "",
    )  # fmt: skip


def activation_of(state: State, run: StepRun, event: e.StepEnded) -> Activation:
    """Sum up a run that ended."""
    ok = not isinstance(event, e.StepFailed)
    before = None if ok else run.seen.get(run.step) or state.latest.get(run.step)
    return Activation(
        run.step, run.id, ok, event.result, event.has_result, event.error, _NAMES[type(event)], run.args,
        run.started_at, state.now, state.seq, event.counts, event.actor,
        before.done if before is not None else None,
    )  # fmt: skip


_NAMES: dict[type, str] = {
    e.StepDone: "step.done",
    e.StepFailed: "step.failed",
    e.LoopDone: "loop.done",
}


def override_branch(state: State, branch: Branch, value: Any) -> None:
    """Note the output that a branch was given by name."""
    group = state.groups.get(branch.group)
    if group is not None:
        group.overrides[branch.branch] = value


def produce(
    state: State, run: StepRun, event: e.StepEnded, activation: Activation, output: Any
) -> None:
    """Put the tokens of a boundary event, and its group, where they belong."""
    if not event.produced and event.group is None:
        return
    seen = {**run.seen, run.step: activation}
    if event.group is not None:
        new = event.group
        group = Group(
            id=new.id, step=run.step, size=new.size, stack=run.stack, seen=seen, created_at=state.now,
            join=new.join, items=new.items, arcs=new.arcs, source=activation, since=state.seq,
        )  # fmt: skip
        if new.size > len(event.produced):  # the others follow
            group.missing = new.size - len(event.produced)
            group.items, group.arcs = [*new.items], [*new.arcs]
        state.add_group(group)
        state.touched.setdefault(new.id, {})
    for token in event.produced:
        stack = run.stack
        carried = output
        if token.index is not None and event.group is not None:
            stack = (*stack, Branch(event.group.id, token.index))
            carried = None  # a branch begins without an output of its own
        add(state, token, stack, seen, activation, carried, run.step)


def withdrawn(state: State, event: e.Withdrawn) -> None:
    """Tokens and runs were taken away."""
    for token_id in event.tokens:
        take_token(state, token_id)
    for run_id in event.runs:
        run = take_run(state, run_id)
        count(state, "cancelled")
        if run.compensates:
            state.not_compensated[run.step] = None
        withdraw_items(state, run, *run.chunks.values())
    if event.closes is not None:
        _turn_away(state, state.groups[event.closes])
    for group_id in event.groups:
        group = state.groups.get(group_id)
        if group is not None:
            state.forget_group(group)
            touch(state, group.stack, group.join or group.step)


def _turn_away(state: State, group: Group) -> None:
    close(state, group)
    group.void = True
    state.detach(group)


def discarded(state: State, event: e.TokenDiscarded) -> None:
    """A token left without effect; a late one may change a merge."""
    closed = state.groups.get(event.closes) if event.closes is not None else None
    if closed is not None and not closed.fired:
        close(state, closed)
        closed.void = True
    token = take_token(state, event.token)
    if closed is not None and all(
        arrived not in state.ready for arrived in closed.arrived.values()
    ):
        state.detach(closed)  # what is left of it
    if event.group is not None and event.index is not None:
        group = state.groups.get(event.group)
        if group is not None and event.merge is not None:
            group.arrived[event.index] = event.token
            group.outputs[event.index] = group.overrides.get(event.index, token.output)
            group.order.append(event.index)
    if event.merge is not None:
        merge(state, event.merge)
    state.firings += 1


def returned(state: State, event: e.RunReturned) -> None:
    """A run went back to waiting."""
    run = take_run(state, event.run)
    state.once.discard(run.step)
    withdraw_items(state, run)
    origin = run.arrow[0] if run.arrow else ""
    add(state, event.token, run.stack, run.seen, run.source, run.output, origin)
    state.ready[event.token.id].merged = run.merged
    state.firings += 1
