"""Tasks that the server runs itself: ``human``, ``wait``, ``playbook`` (S5, S14, S15, S16).

Rule 1: each attempt ends in an outcome, and the task's policy decides as on a worker: done, fail, or retry.
Rule 2: of several things waited for, the first wins and the others are withdrawn in the same event.
Rule 3: a signal nobody waits for is kept for one wait, unless every wait of its name is transient; where ``KEPT_MAX`` are kept
already, one more is refused.
Rule 4: a child that fails is an error, or with ``catch`` an ok that carries its status and error.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from petra.errors import UnreadableError
from petra.expr.dates import NOW
from petra.expr.frame import FOLLOW
from petra.expr.keys import KEY, cause_of_run, cause_of_task
from petra.kernel import events as e
from petra.kernel.chunks import iter_data
from petra.kernel.commands import ChildEnded, SendSignal
from petra.kernel.ctx import accepted
from petra.kernel.effects import Notify, StartChild
from petra.kernel.fold.waits import kept_for, serves, who_waits
from petra.kernel.loops import report as report_iterations
from petra.kernel.objects import unreadable
from petra.kernel.prepare import DEPTH_MAX, arm
from petra.kernel.program import StepPlan
from petra.kernel.runs import end
from petra.kernel.scope import branch_data, execution_data, view_of
from petra.kernel.state import Chunk, StepRun, derive
from petra.kernel.turn import RefusedError, TransformError, Turn
from petra.kernel.waiting import Awaited
from petra.policy import Ruling, decide, outcome_data
from petra.wire import Attempt, Error, Outcome, Report

Holder = StepRun | Chunk
KEPT_MAX: Final = 10_000
"""Signals of one name that an execution keeps, and names of which it keeps some."""


def begin(turn: Turn, run: StepRun, chunk: Chunk | None) -> None:
    """Take up an attempt that was just set up: what is there already serves it at once."""
    holder: Holder = chunk or run
    for wait in holder.waits:
        if wait.kind == "human":
            turn.effect(Notify(item=wait.item, about="offered"))
    if holder.child:
        _call(turn, run, chunk)
        return
    for wait in holder.waits:
        if (
            wait.kind == "signal"
            and wait.delivery == "persistent"
            and _from_mailbox(turn, run, chunk, wait)
        ):
            return
    for timer_id in list(turn.state.timers_of.get(run.id, ())):
        timer = turn.state.timers[timer_id]
        if (
            timer.kind == "wait"
            and timer.due <= turn.now
            and timer.group == (chunk.id if chunk else "")
        ):
            time_passed(turn, run, chunk, timer.index)
            return


# Attempts


def attempt_over(
    turn: Turn, run: StepRun, chunk: Chunk | None, outcome: Outcome, actor: str | None = None
) -> None:
    """Let the policy decide about the outcome of an attempt."""
    plan = turn.plan_of(run)
    task = plan.step.tool[0]
    holder: Holder = chunk or run
    number = holder.attempt
    scope = _scope(turn, plan, run, chunk, outcome)
    jitter = _jitter(turn, run, chunk, number)
    try:
        decision = decide(task, outcome, scope, attempt=number, jitter=jitter)
    except UnreadableError as error:
        decision = Ruling(action="fail", error=unreadable(f"the policy of '{task.name}'", error))
    attempt = Attempt(
        task=task.name, number=number, status=outcome.status, action=decision.action, rule=decision.rule,
        error=outcome.error, delay_s=decision.delay_s,
    )  # fmt: skip
    if decision.action in ("retry", "jump"):
        _again(turn, run, chunk, attempt, decision.delay_s or 0.0, list(decision.writes))
        return
    ok = decision.action != "fail"
    report = Report(
        status="ok" if ok else "error",
        result=outcome.result if ok and outcome.status == "ok" else None,
        error=decision.error if not ok else None,
        attempts=[attempt],
        writes=list(decision.writes),
        branch=decision.branch,
    )
    if chunk is not None:
        report_iterations(turn, run, chunk.id, [(chunk.paths[0], report)])
    else:
        end(turn, run, report, actor=actor)


def _again(
    turn: Turn,
    run: StepRun,
    chunk: Chunk | None,
    attempt: Attempt,
    delay_s: float,
    writes: list[Any],
) -> None:
    place = chunk.id if chunk else ""
    timer = e.NewTimer(
        id=derive("retry", run.id, place, attempt.number),
        due=turn.now + delay_s,
        kind="retry",
        run=run.id,
        group=place,
    )
    loop = (run.id, chunk.paths[0]) if chunk else None
    writes, broken = accepted(turn, writes, run.stack, loop)
    if broken is not None:
        report = Report(status="error", error=broken, attempts=[attempt])
        if chunk is not None:
            report_iterations(turn, run, chunk.id, [(chunk.paths[0], report)])
        else:
            end(turn, run, report)
        return
    turn.emit(
        e.AttemptEnded(run=run.id, attempt=attempt, chunk=place, writes=writes, timers=[timer])
    )
    if delay_s <= 0:
        restart(turn, run, chunk)


def restart(turn: Turn, run: StepRun, chunk: Chunk | None) -> None:
    """Set up the next attempt, with the last error in ``_prev``."""
    plan = turn.plan_of(run)
    holder: Holder = chunk or run
    last = run.errors[-1].as_data() if run.errors else None
    extra: dict[str, Any] = {"_prev": last}
    if chunk is not None:
        extra["iter"] = iter_data(plan, run, chunk.paths[0])
    try:
        armed = arm(
            turn, plan, view_of(turn.state, run), run.id,
            attempt=holder.attempt + 1, chunk=chunk.id if chunk else "", extra=extra,
        )  # fmt: skip
    except TransformError as error:
        end(turn, run, Report(status="error", error=error.error))
        return
    turn.emit(e.AttemptStarted(run=run.id, armed=armed, chunk=chunk.id if chunk else ""))
    begin(turn, run, chunk)


def _scope(
    turn: Turn, plan: StepPlan, run: StepRun, chunk: Chunk | None, outcome: Outcome
) -> dict[str, Any]:
    state = turn.state
    view = view_of(state, run)
    holder: Holder = chunk or run
    known = {**state.latest, **view.seen}
    results = {step: a.done.result for step, a in known.items() if a.done is not None}
    return {
        **results,
        "workload": state.workload,
        "execution": execution_data(state),
        "ctx": state.ctx,
        "args": run.args,
        "branch": branch_data(state, view),
        "_branch": branch_data(state, view),
        "iter": iter_data(plan, run, chunk.paths[0]) if chunk is not None else {},
        "step": {step: {"result": result} for step, result in results.items()},
        "_task": plan.step.tool[0].name,
        "_attempt": holder.attempt,
        "_prev": None,
        "results": {},
        "outcome": outcome_data(outcome, attempt=holder.attempt, duration_ms=0.0),
        FOLLOW: turn.objects,
        NOW: turn.now,
        KEY: _cause(turn, plan, run, chunk),
    }


def _cause(turn: Turn, plan: StepPlan, run: StepRun, chunk: Chunk | None) -> str:
    """Return from what the idempotency key of the only task is derived (S22)."""
    of_run = cause_of_run(turn.state.id, run.id, chunk.paths[0] if chunk is not None else ())
    return cause_of_task(of_run, plan.step.tool[0].name, 1)


def _jitter(turn: Turn, run: StepRun, chunk: Chunk | None, attempt: int) -> Any:
    """Draw jitter from what is stored, so that a decision can be made again, and alike in every execution."""
    path = chunk.paths[0] if chunk is not None else ()
    seed = f"{turn.program.seed}\0{run.step}\0{run.seq}\0{path}\0{attempt}".encode()
    number = int.from_bytes(hashlib.sha256(seed).digest()[:8], "big") / 2**64
    return lambda: number


# Waiting


def time_passed(turn: Turn, run: StepRun, chunk: Chunk | None, index: int) -> None:
    """A timer of a wait is due."""
    holder: Holder = chunk or run
    _won(turn, run, chunk, holder.waits[index], None)


def _won(
    turn: Turn,
    run: StepRun,
    chunk: Chunk | None,
    wait: Awaited,
    payload: Any,
    actor: str | None = None,
) -> None:
    """The first of several things waited for has happened."""
    outcome = Outcome(status="ok", result={"which": wait.which, "payload": payload})
    attempt_over(turn, run, chunk, outcome, actor)


def signal(turn: Turn, command: SendSignal) -> None:
    """Hand a signal to the first run that waits for it, or keep it, or lose it.

    Raises:
        RefusedError: no step waits for such a signal, too many are kept, or its payload is large, and there is no store for it.
    """
    names = {name for name, _ in turn.program.signals}
    waited_for = who_waits(turn.state, command.name, command.key) is not None
    if not waited_for and command.name not in names and None not in names:
        raise RefusedError(_unknown_signal(turn, command.name))
    try:
        payload = turn.keep(command.payload, f"the payload of '{command.name}'")
    except TransformError as error:
        raise RefusedError(error.error.message) from None
    place = who_waits(turn.state, command.name, command.key)
    if place is not None:
        run_id, _, chunk_id = place.partition("/")
        run = turn.state.runs[run_id]
        chunk = run.chunks[chunk_id] if chunk_id else None
        wait = next(w for w in (chunk or run).waits if serves(w, command.name, command.key))
        turn.emit(_received(command, payload, run=run.id))
        _won(turn, run, chunk, wait, payload)
        return
    kept = not _all_transient(turn, command.name)
    if (
        kept
        and max(len(turn.state.mail_of), len(turn.state.mail_of.get(command.name, ()))) >= KEPT_MAX
    ):
        raise RefusedError(
            f"{KEPT_MAX:,} signals are kept already that no step has waited for yet; '{command.name}' would be one more"
        )
    turn.emit(_received(command, payload, kept=kept))


def _unknown_signal(turn: Turn, name: str) -> str:
    known = sorted({str(found) for found, _ in turn.program.signals})
    if not known:
        return f"no step waits for a signal '{name}', nor for any other"
    shown = ", ".join(f"'{found}'" for found in known)
    from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

    close = get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"no step waits for a signal '{name}'; {hint}steps wait for {shown}"


def _received(
    command: SendSignal, payload: Any, *, run: str | None = None, kept: bool = False
) -> e.SignalReceived:
    return e.SignalReceived(
        name=command.name,
        key=command.key,
        payload=payload,
        run=run,
        kept=kept,
        actor=command.actor,
        by=command.by,
    )


def _from_mailbox(turn: Turn, run: StepRun, chunk: Chunk | None, wait: Awaited) -> bool:
    kept = kept_for(turn.state, wait.name, wait.key)
    if kept is None:
        return False
    turn.emit(e.SignalReceived(name=kept.name, key=kept.key, payload=kept.payload, run=run.id))
    _won(turn, run, chunk, wait, kept.payload)
    return True


def _all_transient(turn: Turn, name: str) -> bool:
    deliveries = [delivery for signal, delivery in turn.program.signals if signal in (name, None)]
    return bool(deliveries) and all(delivery == "transient" for delivery in deliveries)


# Work items


def item_over(turn: Turn, item_id: str, outcome: Outcome, actor: str | None = None) -> None:
    """A work item is done, failed, cancelled or expired."""
    item = turn.state.items[item_id]
    run = turn.state.runs[item.run]
    chunk = run.chunks[item.chunk] if item.chunk else None
    holder: Holder = chunk or run
    wait = next(wait for wait in holder.waits if wait.item == item_id)
    if turn.plan_of(run).mode == "wait" and outcome.status == "ok":
        _won(turn, run, chunk, wait, outcome.result, actor)
    else:
        attempt_over(turn, run, chunk, outcome, actor)


# Sub-playbooks


def _call(turn: Turn, run: StepRun, chunk: Chunk | None) -> None:
    holder: Holder = chunk or run
    call = holder.call or {}
    if turn.state.depth + 1 > DEPTH_MAX:
        message = f"sub-playbooks are nested deeper than {DEPTH_MAX}"
        attempt_over(
            turn, run, chunk, Outcome(status="error", error=Error(kind="limit", message=message))
        )
        return
    path, version = str(call["path"]), call["version"]
    company = turn.state.company
    playbook = company.find(path, None if version is None else str(version)) if company else None
    turn.effect(
        StartChild(
            child=holder.child,
            path=path,
            version=version,
            workload=call["workload"],
            depth=turn.state.depth + 1,
            inherit_artifacts=call["inherit_artifacts"],
            run=run.id,
            digest=playbook.digest if playbook else "",
            company=company.seen_from(playbook) if company and playbook else None,
        )
    )
    if not call["wait"]:
        attempt_over(turn, run, chunk, Outcome(status="ok", result={"execution": holder.child}))


def child_ended(turn: Turn, command: ChildEnded) -> None:
    """Take the end of a child, if somebody still waits for it."""
    run = turn.state.runs.get(turn.state.children.get(command.child, ""))
    if run is None:
        return
    chunk = next((chunk for chunk in run.chunks.values() if chunk.child == command.child), None)
    holder: Holder = chunk or run
    if holder.child != command.child:
        return
    attempt_over(turn, run, chunk, _child_outcome(turn, command, holder.call or {}))


def _child_outcome(turn: Turn, command: ChildEnded, call: dict[str, Any]) -> Outcome:
    """Return what a child came to; its output by reference becomes the parent's own."""
    if command.status in ("completed", "partial"):
        try:
            output = turn.objects.reading(command.child).whole(command.output)
        except UnreadableError as trouble:
            return Outcome(status="error", error=unreadable("the output of the child", trouble))
        return Outcome(status="ok", result=output)
    error = command.error or Error(
        kind="unknown", message=f"the sub-playbook ended {command.status}"
    )
    if call.get("on_failure") == "catch":
        return Outcome(status="ok", result={"status": command.status, "error": error.as_data()})
    return Outcome(status="error", error=error)
