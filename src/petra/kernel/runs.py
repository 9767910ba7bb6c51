"""Step runs on the server's side: from a token that may start to the boundary event (S2, S5).

Rule 1: resources are taken in the same transaction as the firing, or the token waits.
Rule 2: a boundary event is recorded once, with everything it decided: attempts, writes, arcs, new tokens.
Rule 3: what cannot be rendered on the server fails the step with kind transform.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from petra.kernel import cancel, completion
from petra.kernel import events as e
from petra.kernel.admission import judge_again
from petra.kernel.crowds import emit_in_pieces, gather
from petra.kernel.ctx import accepted, after
from petra.kernel.effects import Assign
from petra.kernel.fold.histories import united
from petra.kernel.fold.steps import activation_of
from petra.kernel.objects import SCALARS
from petra.kernel.prepare import Prepared, prepared
from petra.kernel.program import StepPlan
from petra.kernel.routing import Routed, onward, route
from petra.kernel.scope import View, view_of
from petra.kernel.state import (
    DELIVERIES_MAX,
    Chunk,
    Group,
    ReadyToken,
    Stack,
    StepRun,
    derive,
    derived,
)
from petra.kernel.step_permits import acquired
from petra.kernel.turn import TransformError, Turn
from petra.kernel.waiting import moment
from petra.playbook.concurrency import SERVER
from petra.values import canonical
from petra.wire import Error, Report, Write

_UNSET = msgspec.UNSET
KEY_BYTES = 1024
"""A longer key of a resource is known by its hash."""


def start(
    turn: Turn,
    plan: StepPlan,
    tokens: list[ReadyToken],
    *,
    stack: Stack | None = None,
    args: dict[str, Any] | None = None,
    group: Group | None = None,
    merge: Write | None = None,
    administrative: str | None = None,
    go: bool = True,
) -> None:
    """Fire ``S.start``, unless a resource is missing: then the tokens wait.

    One that does not ``go`` only begins: an operator decides its outcome.
    """
    run_id = run_id_of(tokens, group)
    consumed = [token.id for token in tokens]
    if plan.plain and group is None and stack is None and go:
        _start_plain(turn, plan, run_id, consumed, args)
        return
    view = _view(turn, plan, tokens, stack, args, group)
    held = _acquire(turn, plan, view, run_id, consumed)
    if held is None:
        return
    if group is not None:
        cancel.leave_others(turn, group, set(consumed))
    if merge is not None and merge.key:
        view = view._replace(ctx={**turn.state.ctx, merge.key: merge.value})
    setup, trouble = Prepared(), None
    try:
        setup = prepared(turn, plan, view, run_id) if go else setup
    except TransformError as error:
        trouble = error.error
    turn.emit(
        e.StepStarted(
            run=run_id,
            step=plan.name,
            consumed=gather(turn, run_id, plan.name, consumed, group),
            args=args,
            stack=list(stack) if stack is not None else None,
            group=group.id if group is not None else None,
            merge=merge,
            resources=held,
            items=setup.items.first if setup.items is not None else None,
            pieces=setup.items.first_pieces if setup.items is not None else [],
            max_in_flight=setup.max_in_flight,
            parallel=plan.loop.levels if plan.loop is not None else [],
            armed=setup.armed,
            timers=_timers(turn, plan, run_id),
            administrative=administrative,
        )
    )
    if setup.items is not None:
        for added in setup.items.rest(run_id, ()):
            turn.emit(added)
        _loop_started(turn, turn.state.runs[run_id])
    _after_start(turn, plan, run_id)
    if trouble is not None:
        end(turn, turn.state.runs[run_id], Report(status="error", error=trouble))
    elif go:
        _go(turn, plan, turn.state.runs[run_id])


def _start_plain(
    turn: Turn, plan: StepPlan, run_id: str, consumed: list[str], args: dict[str, Any] | None
) -> None:
    """Start what begins with nothing but its token: what most starts are."""
    turn.emit(
        e.StepStarted(
            run=run_id,
            step=plan.name,
            consumed=consumed,
            args=args,
            timers=_timers(turn, plan, run_id) if plan.timed else [],
            reads=turn.take_reads() if turn.reads else [],
        )
    )
    if turn.program.watches_steps or plan.cancels:
        _after_start(turn, plan, run_id)
    if plan.mode == "worker":
        turn.effects.append(Assign(run=run_id))
    else:
        end(turn, turn.state.runs[run_id], Report(status="ok"))


def _loop_started(turn: Turn, run: StepRun) -> None:
    if (loop := run.loop) is not None:
        width = loop.max_in_flight
        started = e.LoopStarted(run=run.id, step=run.step, total=loop.total, max_in_flight=width)
        turn.emit(started)


def run_id_of(tokens: list[ReadyToken], group: Group | None) -> str:
    """Derive the id of a run from the tokens it takes, or from the group it closes without any."""
    if len(tokens) == 1:
        return derived(f"run\0{tokens[0].id}")
    if tokens:
        return derive("run", *(token.id for token in tokens))
    return derive("run", group.id if group is not None else "")


def _after_start(turn: Turn, plan: StepPlan, run_id: str) -> None:
    """See to what the start of a step means for other tokens."""
    if turn.program.watches_steps:
        turn.step_changed(plan.name)
    admit = plan.step.spec.policy.admit if plan.gated else None
    if admit is not None and admit.once:
        for token_id in turn.state.ready_at.get(plan.name, ()):
            turn.agenda.add(turn.state.ready[token_id])  # those that still wait will be discarded
        if plan.join is not None:
            judge_again(turn, {plan.name})
    if plan.cancels and plan.step.spec.cancels is not None and plan.step.spec.cancels.on == "start":
        cancel.withdraw_steps(turn, plan.cancels, f"cancelled by '{plan.name}'", keep=run_id)


def _go(turn: Turn, plan: StepPlan, run: StepRun) -> None:
    """Set a run going; loops and the server's own tasks are taken up as the turn settles."""
    if run.loop is None and plan.mode == "router":
        end(turn, run, Report(status="ok"))
    elif run.loop is None and plan.mode == "worker":
        turn.effect(Assign(run=run.id))
    else:
        turn.begin(run.id)


def _view(
    turn: Turn,
    plan: StepPlan,
    tokens: list[ReadyToken],
    stack: Stack | None,
    args: dict[str, Any] | None,
    group: Group | None,
) -> View:
    if tokens:
        view = view_of(turn.state, tokens[0])
        if len(tokens) > 1 and not plan.plain:
            view = view._replace(seen=united(tokens))
    else:
        assert group is not None
        view = View(turn.state.ctx, {}, group.stack, group.seen, group.source)
    if stack is not None:
        view = view._replace(stack=stack)
    return view._replace(args=args) if args is not None else view


def _acquire(
    turn: Turn, plan: StepPlan, view: View, run_id: str, tokens: list[str]
) -> list[tuple[str, str, int]] | None:
    """Return what the run will hold of the execution's own resources, or None where something is taken."""
    held: list[tuple[str, str, int]] = []
    shared: list[tuple[str, str, int]] = []
    for name, key, units in plan.resources:
        place = _place(turn.render(key, view, f"the key of resource '{name}'"))
        if turn.program.spec.resources.get(name) == SERVER:
            shared.append((name, place, units))
            continue
        limit = _units(turn, name)
        taken = turn.state.held.get((name, place), 0) + sum(
            u for n, k, u in held if (n, k) == (name, place)
        )
        if taken + units > limit:
            return None
        held.append((name, place, units))
    if shared and not acquired(turn, plan.name, run_id, tokens[0] if tokens else "", shared):
        return None
    return held


def _units(turn: Turn, name: str) -> int:
    """Return how much of a resource the execution has; of one of the server it has its permits."""
    units = turn.program.spec.resources.get(name, 1)
    return 0 if units == SERVER else units


def room_for(turn: Turn, plan: StepPlan) -> int | None:
    """Return how many tokens could start now as far as resources go; None where it depends on the token."""
    if plan.gated or plan.join is not None or not all(key.constant for _, key, _ in plan.resources):
        return None
    if any(turn.program.spec.resources.get(name) == SERVER for name, _, _ in plan.resources):
        return None
    room = []
    for name, key, units in plan.resources:
        place = _place(key.value)
        free = _units(turn, name) - turn.state.held.get((name, place), 0)
        room.append(max(0, free) // units if units else None)
    return min((bound for bound in room if bound is not None), default=None)


def _place(key: Any) -> str:
    """Write the key of a resource as it is held by."""
    if key is None:
        return ""
    text = canonical(key)
    return text.decode() if len(text) <= KEY_BYTES else hashlib.sha256(text).hexdigest()


def _timers(turn: Turn, plan: StepPlan, run_id: str) -> list[e.NewTimer]:
    timers = []
    if plan.timeout_s is not None:
        timers.append(
            e.NewTimer(
                id=derive("lifecycle", run_id),
                due=moment(turn.now + plan.timeout_s),
                kind="lifecycle",
                run=run_id,
            )
        )
    lifecycle = plan.step.spec.policy.lifecycle
    if lifecycle is not None and lifecycle.deadline_s is not None:
        due = moment(turn.state.started_at + lifecycle.deadline_s)
        timers.append(
            e.NewTimer(id=derive("deadline", run_id), due=due, kind="deadline", run=run_id)
        )
    return timers


def redeliver(turn: Turn, run: StepRun, chunk: Chunk | None) -> None:
    """Hand out again what a worker did not bring to its end; after too many times a person must look."""
    holder = chunk if chunk is not None else run
    current, place = holder.delivery, chunk.id if chunk is not None else ""
    if current - holder.taken_back >= DELIVERIES_MAX:
        message = f"{DELIVERIES_MAX} deliveries were lost"
        turn.emit(e.IncidentRaised(run=run.id, step=run.step, message=message, chunk=place))
        return
    turn.emit(e.RunRedelivered(run=run.id, delivery=current + 1, chunk=place))
    turn.effect(Assign(run=run.id, delivery=current + 1, chunk=place))


def take_back(turn: Turn, run: StepRun, chunk: Chunk | None) -> None:
    """Hand out again what was taken back from its worker; nothing was lost, so it counts towards no incident."""
    holder, place = (chunk, chunk.id) if chunk is not None else (run, "")
    turn.emit(e.RunTakenBack(run=run.id, delivery=holder.delivery + 1, chunk=place))
    turn.effect(Assign(run=run.id, delivery=holder.delivery, chunk=place))


# The boundary event


def end(
    turn: Turn,
    run: StepRun,
    report: Report,
    *,
    counts: dict[str, int] | None = None,
    actor: str | None = None,
    administrative: str | None = None,
    loop_done: bool = False,
) -> None:
    """Fire ``S.done`` or ``S.failed``: apply the patch, route, and see what follows."""
    plan = turn.program.steps[run.step] if run.began is None else turn.plan_of(run)
    if run.compensates:
        completion.compensated(turn, run, report)
        return
    report, broken = taken(turn, report, run.stack)
    loop_done = loop_done and not broken
    ok = report.status == "ok"
    if run.merged and ok and report.result is None:
        # a join whose own tasks have no result has the merge as its result
        report = msgspec.structs.replace(report, result=run.merged[0])
    if (
        ok
        and plan.cancels
        and plan.step.spec.cancels is not None
        and plan.step.spec.cancels.on == "done"
    ):
        cancel.withdraw_steps(turn, plan.cancels, f"cancelled by '{plan.name}'", keep=run.id)
    if ok and plan.straight and not loop_done and turn.state.phase == "normal":
        _end_straight(turn, plan, run, report, counts, actor, administrative)
        return
    event = _boundary(plan, run, report, counts, loop_done=loop_done)
    routed, event = _route(turn, plan, run, event)
    _record(turn, plan, run, event, routed, actor=actor, administrative=administrative)


def _end_straight(
    turn: Turn,
    plan: StepPlan,
    run: StepRun,
    report: Report,
    counts: dict[str, int] | None,
    actor: str | None,
    administrative: str | None,
) -> None:
    """Record a success of a step that goes one way: what most boundary events are, made in one go."""
    routed = onward(turn, plan, run)
    has_branch = report.branch is not _UNSET
    turn.emit(
        e.StepDone(
            run=run.id,
            step=run.step,
            result=report.result,
            has_result=report.result is not None or bool(run.merged),
            attempts=report.attempts,
            writes=report.writes,
            branch=report.branch if has_branch else None,
            has_branch=has_branch,
            counts=counts,
            actor=actor,
            arcs=routed.arcs,
            produced=routed.produced,
            timers=routed.timers,
            undoable=plan.step.spec.compensate is not None,
            administrative=administrative,
            left_out=report.left_out,
        )
    )
    _go_on(turn, plan, run, routed)
    if plan.step.spec.terminate:
        completion.terminate(turn, plan.name)


def taken(
    turn: Turn, report: Report, stack: Stack, loop: tuple[str, tuple[int, ...]] | None = None
) -> tuple[Report, bool]:
    """Return a report as it is recorded: with large values as references, or why it cannot be taken."""
    broken: Error | None = None
    writes, result, branch = report.writes, report.result, report.branch
    if not writes and branch is _UNSET and type(result) in SCALARS:
        return report, False
    if writes:
        writes, broken = accepted(turn, writes, stack, loop)
    try:
        result = turn.keep(result, "the result")
        if branch is not _UNSET:
            branch = turn.keep(branch, "branch.output")
    except TransformError as error:
        broken = broken or error.error
    if broken is not None:
        failed = Report(
            status="error", error=broken, attempts=report.attempts, left_out=report.left_out
        )
        return failed, True
    if writes is report.writes and result is report.result and branch is report.branch:
        return report, False
    return msgspec.structs.replace(report, writes=writes, result=result, branch=branch), False


def fail_tokens(
    turn: Turn,
    plan: StepPlan,
    tokens: list[ReadyToken],
    error: Error,
    group: Group | None = None,
    *,
    stack: Stack | None = None,
) -> None:
    """Fire ``S.failed`` for tokens that never started: a denied one, or a join that cannot complete."""
    first = tokens[0] if tokens else None
    if stack is None:
        stack = group.stack if group is not None else first.stack if first else ()
    run = StepRun(
        id=derive("run", *(token.id for token in tokens))
        if tokens
        else derive("run", group.id if group else ""),
        step=plan.name,
        args=first.args if first else {},
        stack=stack,
        seen=united(tokens) if tokens else group.seen if group else {},
        source=first.source if first else group.source if group else None,
        output=None,
        started_at=turn.now,
        seq=turn.state.seq,
        token=first.id if first else "",
    )
    event = e.StepFailed(
        run=run.id,
        step=plan.name,
        error=error,
        has_result=False,
        consumed=[token.id for token in tokens],
        closes=group.id if group is not None else None,
        stack=list(stack) if group is None else None,
    )
    routed, routed_event = _route(turn, plan, run, event)
    _record(turn, plan, run, routed_event, routed)


def _boundary(
    plan: StepPlan,
    run: StepRun,
    report: Report,
    counts: dict[str, int] | None,
    *,
    loop_done: bool,
) -> e.StepEnded:
    ok = report.status == "ok"
    kind = e.LoopDone if loop_done else e.StepDone if ok else e.StepFailed
    has_branch = report.branch is not _UNSET
    has_result = report.result is not None or (ok and bool(run.merged))
    return kind(
        run=run.id,
        step=run.step,
        result=report.result,
        has_result=has_result,
        error=report.error if ok is False or loop_done else None,
        attempts=report.attempts,
        writes=report.writes,
        branch=report.branch if has_branch else None,
        has_branch=has_branch,
        counts=counts,
        undoable=ok and plan.step.spec.compensate is not None,
        left_out=report.left_out,
    )


def _route(
    turn: Turn, plan: StepPlan, run: StepRun, event: e.StepEnded
) -> tuple[Routed, e.StepEnded]:
    """Route; an expression that fails turns a success into a failure, which is routed once more."""
    if turn.state.phase != "normal":
        return Routed(), event  # the final step's own arcs are ignored
    ok = _is_ok(event)
    if ok and plan.straight:
        return onward(turn, plan, run), event
    try:
        return route(turn, plan, run, _after_view(turn, run, event), ok=ok), event
    except TransformError as trouble:
        failed = e.StepFailed(
            run=event.run, step=event.step, error=trouble.error, attempts=event.attempts, writes=event.writes,
            has_result=False, consumed=event.consumed, closes=event.closes, counts=event.counts, stack=event.stack,
        )  # fmt: skip
    try:
        return route(turn, plan, run, _after_view(turn, run, failed), ok=False), failed
    except TransformError:
        return Routed(), failed


def _is_ok(event: e.StepEnded) -> bool:
    return not isinstance(event, e.StepFailed)


def _after_view(turn: Turn, run: StepRun, event: e.StepEnded) -> View:
    """See the execution as it will be once the boundary event is applied."""
    ctx = after(turn.state, event.writes) if event.writes else turn.state.ctx
    if isinstance(event, e.StepFailed) and event.error is not None:
        last = {
            "step": run.step,
            "code": event.error.code or event.error.kind,
            "message": event.error.message,
        }
        ctx = {**ctx, "_last_error": last}
    activation = activation_of(turn.state, run, event)
    activation.finished_at, activation.seq = turn.now, turn.state.seq + 1
    output = event.branch if event.has_branch else event.result if event.has_result else run.output
    return View(ctx, run.args, run.stack, {**run.seen, run.step: activation}, activation, output)


def _record(
    turn: Turn,
    plan: StepPlan,
    run: StepRun,
    event: e.StepEnded,
    routed: Routed,
    *,
    actor: str | None = None,
    administrative: str | None = None,
) -> None:
    final = turn.state.phase != "normal"
    if not final and not routed.arcs and plan.arcs:
        routed, event = _unless_unmatched(turn, plan, run, event, routed)
    ok = _is_ok(event)
    failures = event.counts["failed"] if isinstance(event, e.LoopDone) and event.counts else 0
    handled = not ok and routed.handled
    stains = not final and (
        (not ok and not handled and plan.best_effort) or (failures > 0 and not routed.counts_read)
    )
    recorded = _with(
        event, routed, handled=handled, stains=stains, actor=actor, administrative=administrative
    )
    if recorded.group is not None or recorded.consumed:
        emit_in_pieces(turn, recorded)
    else:
        turn.emit(recorded)
    _go_on(turn, plan, run, routed)
    if final:
        completion.final_ended(turn, event)
    elif not ok and not handled and not plan.best_effort:
        completion.fail(turn, event.error or Error(), plan.name)
    elif ok and plan.step.spec.terminate:
        completion.terminate(turn, plan.name)


def _go_on(turn: Turn, plan: StepPlan, run: StepRun, routed: Routed) -> None:
    """See to what the end of a run means for other tokens, and to its own."""
    if turn.program.watches_steps:
        turn.step_changed(plan.name)
    if run.resources:
        turn.free(run.resources)
    for token in routed.produced:
        turn.agenda.add(turn.state.ready[token.id])


def _unless_unmatched(
    turn: Turn, plan: StepPlan, run: StepRun, event: e.StepEnded, routed: Routed
) -> tuple[Routed, e.StepEnded]:
    """Turn a success that no arc matches into a failure, where the playbook says so (S7)."""
    if not _is_ok(event) or not turn.program.spec.no_next_is_error:
        return routed, event
    error = Error(kind="unknown", code="no_next", message=f"no arc of step '{plan.name}' matches")
    failed = e.StepFailed(
        run=event.run, step=event.step, error=error, attempts=event.attempts, writes=event.writes,
        has_result=False,
    )  # fmt: skip
    return _route(turn, plan, run, failed)


def _with(
    event: e.StepEnded,
    routed: Routed,
    *,
    handled: bool,
    stains: bool,
    actor: str | None,
    administrative: str | None,
) -> e.StepDone | e.StepFailed | e.LoopDone:
    ended = msgspec.structs.replace(
        event, arcs=routed.arcs, produced=routed.produced, group=routed.group, timers=routed.timers,
        handled=handled, stains=stains, actor=actor, administrative=administrative,
    )  # fmt: skip
    assert isinstance(ended, e.StepDone | e.StepFailed | e.LoopDone)
    return ended
