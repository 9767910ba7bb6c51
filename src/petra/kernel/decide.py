"""Decide: a command becomes events and effects. Pure, and the only place where anything is decided.

Rule 1: timers that were due before the command came are fired first, earliest first.
Rule 2: after the command, the turn settles: whatever is enabled fires, in the order of the selection
strategy, until the execution is at rest or waits for the world.
Rule 3: after the end every command is answered, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from petra.errors import UnreadableError
from petra.kernel import commands as c
from petra.kernel import (
    completion,
    fan_in,
    human,
    incidents,
    loops,
    pairing,
    permits,
    runs,
    schedules,
    set_going,
    tasks,
)
from petra.kernel import events as e
from petra.kernel.admission import DeniedError, judge_again, passes, reconsider
from petra.kernel.cancel import stop, withdraw_branches
from petra.kernel.ctx import schema_fault
from petra.kernel.effects import AnyEffect, Assign, Extend
from petra.kernel.objects import Made, Shelf
from petra.kernel.open_groups import open_group
from petra.kernel.program import Program
from petra.kernel.rest import in_flight, is_held_back
from petra.kernel.routing import arrival
from petra.kernel.scope import view_of
from petra.kernel.state import Branch, Chunk, Group, ReadyToken, State, StepRun, derive
from petra.kernel.straight import onward
from petra.kernel.timers import fire_timer
from petra.kernel.turn import RefusedError, TransformError, Turn
from petra.kernel.waiting import moment
from petra.playbook.overlay import merge
from petra.values import canonical
from petra.wire import Error, Report


class Decision(Struct, frozen=True, gc=False):
    """What came of a command. ``refused`` says why nothing did; ``markings`` go with the events.

    ``items`` are the work items that are not as they were. Objects that
    were ``made`` must be durable before the events are.
    """

    events: list[e.AnyEvent]
    effects: list[AnyEffect]
    markings: list[tuple[int, int]]
    refused: str = ""
    items: dict[str, None] = {}
    made: list[Made] = []


def decide(
    program: Program, state: State, command: c.AnyCommand, shelf: Shelf | None = None
) -> Decision:
    """Decide about a command; the state moves on with the events.

    Raises:
        NeededError: an object that is not on the shelf is needed. The state may have moved on half-way: it is not to
            be used any more.
    """
    if type(command) is c.StepReport and (went := onward(program, state, command)) is not None:
        return Decision(*went)
    turn = Turn(program, state, command.now, shelf)
    refused = ""
    if type(command) is c.RaiseIncident:
        return _raised(turn, command)
    if state.due and not state.terminal and not _unblocks(state, command):
        _fire_due(turn, before=command.now)
    if state.terminal:
        answered = isinstance(command, c.Act) and human.repeats(turn, command)
        return _made(turn, "" if answered else f"the execution is {state.terminal}")
    try:
        _COMMANDS[type(command)](turn, command)
    except RefusedError as refusal:
        refused = str(refusal)
        if not state.seq:  # there is no execution, and nothing to settle
            return Decision([], [], [], refused)
    settle(turn)
    return _made(turn, refused)


def _made(turn: Turn, refused: str) -> Decision:
    effects = _wanted(turn) if turn.effects else turn.effects
    return Decision(turn.events, effects, turn.markings, refused, turn.items or {}, turn.made)


def _unblocks(state: State, command: c.AnyCommand) -> bool:
    """Whether a command ends what cannot go on: the timers that brought it there are not tried once more."""
    return bool(state.trouble) and type(command) is c.Cancel


def _raised(turn: Turn, command: c.RaiseIncident) -> Decision:
    """Say what is in the way. Nothing else is decided: whatever would be is perhaps what is in the way."""
    state = turn.state
    run = state.runs.get(command.run)
    holder: StepRun | Chunk | None = run
    if run is not None and command.chunk:
        holder = run.chunks.get(command.chunk)
    over = command.run and (holder is None or command.delivery not in (None, holder.delivery))
    known = run.incident if run is not None else state.trouble == command.message
    if not (over or known or state.terminal):
        step = run.step if run is not None else ""
        place = holder.id if isinstance(holder, Chunk) else ""
        turn.emit(
            e.IncidentRaised(run=command.run, step=step, message=command.message, chunk=place)
        )
    return Decision(turn.events, [], turn.markings)


_HANDED_OUT = (Assign, Extend)
_TINY = 512
"""Bytes of a value in a patch that is never stored for want of room: its reference would be no smaller."""


def _wanted(turn: Turn) -> list[AnyEffect]:
    """Leave out what the turn itself has overtaken: work for a run that was withdrawn in the same turn."""
    runs = turn.state.runs
    return [x for x in turn.effects if type(x) not in _HANDED_OUT or x.run in runs]  # type: ignore[union-attr]


# Settling


def settle(turn: Turn) -> None:
    """Fire whatever is enabled."""
    state, most = turn.state, turn.events_least()
    while not state.terminal:
        count = len(turn.events)
        if count > most and state.phase == "normal" and count > (most := turn.events_most()):
            _endless(turn, most)
        elif turn.begun:
            _take_up(turn, turn.begun.popleft())
        elif state.paused or (state.permits is not None and is_held_back(state)):
            return
        elif turn.changed_ctx or turn.changed_steps or turn.freed:
            reconsider(turn)
            _freed(turn)
        elif turn.judged:
            fan_in.judge(turn, turn.next_judged())
        elif (token := turn.agenda.pop()) is not None:
            consider(turn, token)
        elif not _last_resort(turn):
            return


def _endless(turn: Turn, most: int) -> None:
    """Fail an execution that goes round on the server without ever waiting for anything."""
    message = f"more than {most:,} events in one decision: it never comes to rest"
    step = next(
        (event.step for event in reversed(turn.events) if isinstance(event, e.StepEnded)), ""
    )
    completion.fail(turn, Error(kind="limit", message=message), step)


def _take_up(turn: Turn, place: str) -> None:
    """Go on with a loop or a server task that was set up in this turn."""
    run_id, _, chunk_id = place.partition("/")
    run = turn.state.runs.get(run_id)
    if run is None:
        return
    if chunk_id:
        chunk = run.chunks.get(chunk_id)
        if chunk is not None:
            tasks.begin(turn, run, chunk)
    elif run.loop is not None:
        loops.advance(turn, run)
    else:
        tasks.begin(turn, run, None)


def _freed(turn: Turn) -> None:
    """Consider the tokens that may have waited for a resource which is free again."""
    if not turn.freed:
        return
    freed, turn.freed = turn.freed, None
    concerned = [
        plan for plan in turn.program.holders if any(name in freed for name, _, _ in plan.resources)
    ]
    judge_again(turn, {plan.name for plan in concerned if plan.join is not None})
    turn.agenda.add_waiting(
        (plan.name for plan in concerned),
        {plan.name: runs.room_for(turn, plan) for plan in concerned},
    )


def consider(turn: Turn, token: ReadyToken) -> None:
    """Start a token's step if it may."""
    turn.reads = None  # of one that was denied before
    plan = turn.program.steps[token.step]
    try:
        if plan.join is not None:
            fan_in.arrive(turn, plan, token)
        elif not plan.gated or passes(turn, plan, [token], view_of(turn.state, token)):
            runs.start(turn, plan, [token])
    except (DeniedError, TransformError) as error:
        if token.id in turn.state.ready:
            runs.fail_tokens(turn, plan, [token], error.error)


def _last_resort(turn: Turn) -> bool:
    """When nothing else can move: or-joins, leftovers of Petri joins, then the end or a reason to wait."""
    state = turn.state
    if turn.program.conditional and turn.weighed != state.seq:
        turn.weighed = state.seq  # a condition is beyond hope once nothing that it reads can change
        judge_again(turn, {plan.name for plan in turn.program.conditional})
        return True
    if turn.program.upstream and pairing.judge_or(turn, at_rest=False):
        return True
    if in_flight(turn.program, state) or _waits_for_world(state):
        return False
    if turn.program.upstream and pairing.judge_or(turn, at_rest=True):
        return True
    if state.ready and pairing.leftover_arcs(turn):
        return True
    before = state.seq
    completion.at_rest(turn)
    return state.seq != before and not state.stuck


def _waits_for_world(state: State) -> bool:
    if len(state.runs) > len(state.incidents):
        return True
    return state.permits is not None and any(state.permits.waiting())


# Commands


def _start(turn: Turn, command: c.Start) -> None:
    if turn.state.seq:
        raise RefusedError("an execution begins once")
    program = turn.program
    workload = _workload(turn, command)
    fault = workload_fault(program, workload)
    if fault is not None:
        raise RefusedError(fault)
    priority = permits.priority_of(turn, command)
    needs = permits.wanted(turn, command, workload, priority)
    entry = e.Produced(id=derive("entry", turn.state.id), step=program.entry)
    turn.emit(
        e.ExecutionStarted(
            playbook=program.playbook.metadata.name,
            digest=program.digest,
            workload=_kept(turn, workload, "the workload"),
            entry=entry,
            reducers=program.reducers,
            parent=command.parent,
            inherits=command.inherits,
            allow_unsound=command.allow_unsound,
            depth=command.depth,
            timers=_limits(turn),
            actor=command.actor,
            by=command.by,
            company=command.company if program.calls_others else None,
            labels=command.labels,
            namespace=command.namespace,
            tells=command.tells,
            priority=priority,
        )
    )
    permits.ask(turn, needs)
    if command.keeps is not None:
        schedules.keep(turn, command.keeps, command)
    turn.agenda.add(turn.state.ready[entry.id])


def _limits(turn: Turn) -> list[e.NewTimer]:
    """Return the timer of the whole execution, if it has one."""
    limit, name = turn.program.spec.timeout_s, turn.state.id
    if limit is None:
        return []
    due = moment(turn.now + limit)
    return [e.NewTimer(id=derive("execution", name), due=due, kind="execution", group="execution")]


def workload_fault(program: Program, workload: dict[str, Any]) -> str | None:
    """Return why a workload, with the defaults in it, cannot be begun with."""
    if program.spec.input_schema is None:
        return None
    problem = schema_fault(canonical(program.spec.input_schema), workload)
    return None if problem is None else f"the workload does not fit: {problem}"


def _workload(turn: Turn, command: c.Start) -> dict[str, Any]:
    """Return the defaults with what was given; what a parent gives by reference becomes the child's own.

    A child that inherits can read it where it is.
    """
    workload = command.workload
    if command.parent:
        objects = turn.objects.reading(command.parent)
        try:
            workload = objects(workload) if command.inherits else objects.whole(workload)
        except UnreadableError as error:
            raise RefusedError(f"the workload: {error.message}") from None
    return merge(turn.program.playbook.workload, workload)


def _kept(turn: Turn, value: Any, what: str) -> Any:
    """Keep what a command brought."""
    try:
        return turn.keep(value, what)
    except TransformError as error:
        raise RefusedError(error.error.message) from None


def _report(turn: Turn, command: c.StepReport) -> None:
    run = turn.state.runs.get(command.run)
    if run is None:
        turn.emit(e.ReportRejected(run=command.run, reason="the run is over"))
    elif command.delivery != run.delivery:
        turn.emit(
            e.ReportRejected(
                run=command.run, reason=f"delivery {command.delivery} is not the current one"
            )
        )
    else:
        runs.end(turn, run, command.report)


def _chunk_report(turn: Turn, command: c.ChunkReport) -> None:
    run = turn.state.runs.get(command.run)
    chunk = run.chunks.get(command.chunk) if run is not None else None
    if run is None or chunk is None:
        turn.emit(e.ReportRejected(run=command.run, reason="the iterations are over"))
    elif command.delivery != chunk.delivery:
        turn.emit(
            e.ReportRejected(
                run=command.run, reason=f"delivery {command.delivery} is not the current one"
            )
        )
    elif chunk.gather:
        loops.gathered(turn, run, chunk, command.gathered)
    else:
        reports = [(iteration.path, iteration.report) for iteration in command.reports]
        loops.report(turn, run, chunk.id, reports, more=command.more)


def _lease_expired(turn: Turn, command: c.LeaseExpired) -> None:
    held = _held(turn, command)
    if held is not None:
        runs.redeliver(turn, *held)


def _take_back(turn: Turn, command: c.TakeBack) -> None:
    held = _held(turn, command)
    if held is not None:
        runs.take_back(turn, *held)


def _held(turn: Turn, command: c.LeaseExpired | c.TakeBack) -> tuple[StepRun, Chunk | None] | None:
    """Return the run whose delivery a command names, if that is still the one that is out."""
    run = turn.state.runs.get(command.run)
    if run is None or (run.incident and not command.chunk):
        return None
    chunk = run.chunks.get(command.chunk) if command.chunk else None
    if chunk is not None and chunk.incident:
        return None
    current = chunk.delivery if chunk is not None else run.delivery
    if current != command.delivery or (command.chunk and chunk is None):
        return None
    return run, chunk


def _tick(turn: Turn, _command: c.Tick) -> None:
    _fire_due(turn, before=None)


def _as_seen(handle: Callable[[Turn, Any], None]) -> Callable[[Turn, Any], None]:
    """Return what handles a command, and refuses one that was given for another version than the one there is."""

    def handled(turn: Turn, command: c.Steering) -> None:
        seen = command.at
        if seen is not None and seen != turn.state.seq:
            raise RefusedError(c.moved_on(turn.state.seq, seen))
        handle(turn, command)

    return handled


def _patch(turn: Turn, command: c.PatchCtx) -> None:
    for key, value in command.values.items():
        declared = turn.program.spec.ctx.get(key)
        if declared is not None and isinstance(declared.schema, dict):
            problem = schema_fault(canonical(declared.schema), value)
            if problem is not None:
                raise RefusedError(f"ctx.{key}: {problem}")
    values = {  # as they will be read back
        key: _kept(turn, value, f"ctx.{key}") for key, value in sorted(command.values.items())
    }
    values = turn.keep_all(values, "ctx", least=_TINY)
    turn.emit(
        e.CtxPatched(values=values, actor=command.actor, by=command.by, reason=command.reason)
    )


def _pause(turn: Turn, command: c.Pause) -> None:
    if turn.state.paused:
        raise RefusedError("the execution is paused already")
    turn.emit(e.ExecutionPaused(actor=command.actor, by=command.by, reason=command.reason))


def _resume(turn: Turn, command: c.Resume) -> None:
    if not turn.state.paused:
        raise RefusedError("the execution is not paused")
    turn.emit(e.ExecutionResumed(actor=command.actor, by=command.by))
    _reconsider_all(turn)  # a gate may have turned false in the meantime
    schedules.due(turn)


def _reconsider_all(turn: Turn) -> None:
    turn.agenda.add_waiting(turn.program.steps)
    turn.ctx_changed(turn.state.ctx)
    for step in turn.program.steps:
        turn.step_changed(step)
    for group in turn.state.groups:
        turn.judge(group)


def _migrate(turn: Turn, command: c.Migrate) -> None:
    from petra.kernel.migration import migrate  # noqa: PLC0415 - few move

    migrate(turn, command)
    _reconsider_all(turn)


def _child_ended(turn: Turn, command: c.ChildEnded) -> None:
    if not schedules.ended(turn, command):
        tasks.child_ended(turn, command)


def _cancel(turn: Turn, command: c.Cancel) -> None:
    if turn.state.halted:
        raise RefusedError("it ends as soon as the compensation that runs is over")
    if turn.state.phase == "compensating":
        completion.halt(turn, command.reason or "cancelled", command)
        return
    completion.abort(turn, command.reason or "cancelled", command)


def _override(turn: Turn, command: c.Override) -> None:
    """Decide the outcome of a step: of its run, or of a token that waits in front of it."""
    plan = turn.program.steps.get(command.step)
    if plan is None:
        raise RefusedError(f"there is no step '{command.step}'")
    who = f"{command.actor or 'operator'}{f' (by {command.by})' if command.by else ''}"
    words = f"{who}: {command.reason}"
    if turn.state.runs_at.get(command.step):
        pass
    elif plan.join is not None:
        if not fan_in.start_by_hand(turn, plan, words):
            raise RefusedError(f"join '{command.step}' neither runs nor waits")
    else:
        waiting = list(turn.state.ready_at.get(command.step, ()))
        if not waiting:
            raise RefusedError(f"step '{command.step}' neither runs nor waits")
        runs.start(turn, plan, [turn.state.ready[waiting[0]]], go=False)
    running = list(turn.state.runs_at.get(command.step, ()))
    if not running:
        raise RefusedError(f"step '{command.step}' cannot be started now")
    run = turn.state.runs[running[0]]
    stop(turn, run, "overridden")
    status: Any = "ok" if command.ok else "error"
    error = (
        None
        if command.ok
        else command.error or Error(kind="unknown", message=command.reason or "overridden")
    )
    runs.end(
        turn, run, Report(status=status, result=command.result, error=error), administrative=words
    )


def _group(turn: Turn, command: c.ChangeGroup) -> None:
    group, change = open_group(turn.state, command.group), command.change
    if change == "add":
        _add_branch(turn, group, command)
    elif change == "close":
        turn.emit(
            e.GroupChanged(group=group.id, change="close", actor=command.actor, by=command.by)
        )
    elif change == "complete":
        turn.emit(
            e.GroupChanged(group=group.id, change="complete", actor=command.actor, by=command.by)
        )
        withdraw_branches(
            turn, group, {group.empty, *group.arrived.values()}, "the group was completed"
        )
        turn.judge(group.id)
    elif change == "cancel":
        turn.emit(
            e.GroupChanged(group=group.id, change="cancel", actor=command.actor, by=command.by)
        )
        withdraw_branches(turn, group, set(), "the group was cancelled")
    else:
        raise RefusedError(f"a group cannot '{change}'; known: add, close, cancel, complete")


def _add_branch(turn: Turn, group: Group, command: c.ChangeGroup) -> None:
    if group.closed:
        raise RefusedError("the group is closed")
    plan = turn.program.steps.get(group.step)
    number = group.arcs[-1] if group.arcs else 0
    arc = next((arc for arc in plan.arcs if arc.number == number), None) if plan else None
    if arc is None:
        raise RefusedError(f"the playbook has no arc of '{group.step}' any more to add a branch to")
    item = _kept(turn, command.item, "the item")
    args = {arc.arc.item: item} if arc.foreach is not None else {}
    stack = (*group.stack, Branch(group.id, group.size))
    token = e.Produced(
        id=derive(group.id, "add", group.size), step=arc.arc.step, arc=number, args=args, index=group.size,
        arrives=arrival(turn, arc.arc.step, stack, None, group.step),
    )  # fmt: skip
    turn.emit(
        e.GroupChanged(
            group=group.id,
            change="add",
            produced=token,
            item=item,
            actor=command.actor,
            by=command.by,
        )
    )
    turn.agenda.add(turn.state.ready[token.id])


# Timers


def _fire_due(turn: Turn, before: float | None) -> None:
    """Fire timers that are due, earliest first, then as they came; with ``before``, only those due strictly earlier."""
    state = turn.state
    while state.due and not state.terminal:
        due, _, timer = state.due[0]
        if due >= before if before is not None else due > turn.now:
            return
        fire_timer(turn, state.timers[timer])
        settle(turn)


_COMMANDS: dict[type, Callable[[Turn, Any], None]] = {
    c.Start: _start,
    c.Fork: set_going.fork,
    c.StepReport: _report,
    c.ChunkReport: _chunk_report,
    c.LeaseExpired: _lease_expired,
    c.TakeBack: _take_back,
    c.Tick: _tick,
    c.SendSignal: _as_seen(tasks.signal),
    c.PatchCtx: _as_seen(_patch),
    c.Act: _as_seen(human.act),
    c.ChangeGroup: _as_seen(_group),
    c.ChildEnded: _child_ended,
    c.Steer: schedules.steer,
    c.Pause: _as_seen(_pause),
    c.Resume: _as_seen(_resume),
    c.Cancel: _as_seen(_cancel),
    c.Override: _as_seen(_override),
    c.Retry: _as_seen(incidents.retry),
    c.Migrate: _migrate,
    c.GivePermit: set_going.give,
    c.RefusePermit: permits.refused,
}
