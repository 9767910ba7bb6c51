"""Completion: how an execution comes to rest, and how it ends (S11, S12, S13).

Rule 1: terminal statuses are absorbing and decided in the transaction of the last firing.
Rule 2: the order at the end: withdraw what is left, compensate, run the final step, end.
Rule 3: the final step runs once, after completed, partial or failed, never after an abort.
Rule 4: at rest an execution is exactly one of terminal, waiting (with its reason) or stuck (with its).
"""

from __future__ import annotations

from typing import Any

from petra.kernel import events as e
from petra.kernel.cancel import withdraw_all
from petra.kernel.commands import Asked
from petra.kernel.compensation import applies, not_compensated
from petra.kernel.ctx import accepted
from petra.kernel.effects import Assign, Finish
from petra.kernel.rest import rest_of
from petra.kernel.scope import execution_data, whole
from petra.kernel.state import StepRun, derive
from petra.kernel.turn import TransformError, Turn
from petra.wire import Error, Report


def fail(turn: Turn, error: Error, step: str) -> None:
    """Fail the execution: a step failed and nothing handled it."""
    message = error.message or error.kind
    said = Error(
        kind=error.kind,
        code=error.code,
        message=f"step '{step}' failed: {message}",
        details=error.details,
    )
    withdraw_all(turn, f"step '{step}' failed")
    _ending(turn, "failed", f"step '{step}' failed", said)


def abort(turn: Turn, reason: str, asked: Asked | None = None) -> None:
    """Stop everything; the execution ends aborted, as somebody asked or by itself."""
    withdraw_all(turn, reason)
    error = Error(kind="cancelled", message=reason or "cancelled")
    _ending(turn, "aborted", reason, error, asked)


def turn_away(turn: Turn, error: Error) -> None:
    """End an execution that is not let in; nothing of it has begun, or it began elsewhere."""
    withdraw_all(turn, error.message)
    _ending(turn, "aborted", error.message, error)


def terminate(turn: Turn, step: str) -> None:
    """End the execution because a step with ``terminate`` is done (WCP-43)."""
    withdraw_all(turn, f"step '{step}' terminates the execution")
    _ending(turn, "partial" if turn.state.stained else "completed", f"terminated by '{step}'", None)


def _ending(
    turn: Turn, status: str, reason: str, error: Error | None, asked: Asked | None = None
) -> None:
    """Decide the status, then do what must come before it."""
    undoes = applies(turn.program, status) and bool(turn.state.undo)
    phase = "compensating" if undoes else "final"
    actor, by = (asked.actor, asked.by) if asked is not None else ("", "")
    turn.emit(
        e.ExecutionEnding(
            status=status, phase=phase, reason=reason, error=error, actor=actor, by=by
        )
    )
    if phase == "compensating":
        _compensate_next(turn)
    else:
        _finalise(turn)


# Compensation


def _compensate_next(turn: Turn) -> None:
    """Undo the step that was done last; when none is left, or somebody called a halt, go on to the end."""
    if not turn.state.undo or turn.state.halted:
        _finalise(turn)
        return
    undo = turn.state.undo[-1]
    run_id = derive("undo", undo.run)
    turn.emit(
        e.StepStarted(
            run=run_id, step=undo.step, consumed=[], args=undo.args, stack=[], compensates=undo.run
        )
    )
    turn.effect(Assign(run=run_id))


def compensated(turn: Turn, run: StepRun, report: Report) -> None:
    """Take the report of a compensation; one that failed is reported, and the rest go on."""
    writes, broken = accepted(turn, report.writes, run.stack)
    if broken is not None:
        report = Report(status="error", error=broken, attempts=report.attempts)
    kind = e.StepDone if report.status == "ok" else e.StepFailed
    turn.emit(
        kind(
            run=run.id,
            step=run.step,
            result=report.result,
            has_result=False,
            error=report.error,
            attempts=report.attempts,
            writes=writes,
        )
    )
    _compensate_next(turn)


def halt(turn: Turn, reason: str, asked: Asked) -> None:
    """Stop compensating: what runs comes to its end, what has not begun is left as it is."""
    state = turn.state
    error = state.error or Error(kind="cancelled", message=reason)
    turn.emit(
        e.ExecutionEnding(
            status="aborted",
            phase="compensating",
            reason=reason,
            error=error,
            halts=True,
            actor=asked.actor,
            by=asked.by,
        )
    )
    if len(state.runs) == len(state.incidents):  # nobody is going to report
        withdraw_all(turn, reason)
        _finalise(turn)


# The final step


def _finalise(turn: Turn) -> None:
    state = turn.state
    name = turn.program.spec.final_step
    if name is None or state.final_done or state.ending == "aborted":
        _end(turn, state.ending)
        return
    token = e.Produced(id=derive("final", state.id), step=name, args=_summary(turn))
    turn.emit(e.FinalStarted(token=token))
    turn.agenda.add(state.ready[token.id])


def _summary(turn: Turn) -> dict[str, Any]:
    state = turn.state
    results = {
        step: activation.result
        for step, activation in state.latest.items()
        if activation.ok and activation.has_result
    }
    summary = {
        "execution": {**execution_data(state), "status": state.ending},
        "counts": {
            word: state.counts.get(word, 0) for word in ("started", "done", "failed", "cancelled")
        },
        "results": turn.keep_all(results, "args.results"),
        "failures": list(state.failures),
    }
    if left := not_compensated(turn.program, state):
        summary["not_compensated"] = left
    return turn.keep_all(summary, "args of the final step")


def final_ended(turn: Turn, event: e.StepEnded) -> None:
    """The final step is over, and with it the execution."""
    status = turn.state.ending
    if isinstance(event, e.StepFailed):
        partial = turn.program.spec.final_step_failure == "partial"
        if status != "failed":
            status = "partial" if partial else "failed"
        if not partial and turn.state.error is None:
            error = event.error or Error()
            said = Error(
                kind=error.kind,
                code=error.code,
                message=f"final step '{event.step}' failed: {error.message}",
            )
            _end(turn, status, said)
            return
    _end(turn, status)


def _end(turn: Turn, status: str, error: Error | None = None) -> None:
    """Record the end, with the output."""
    state = turn.state
    error = error or state.error
    output: Any = None
    if status in ("completed", "partial"):
        try:
            output = output_of(turn)
        except TransformError as trouble:
            error, status = trouble.error, "failed"
    turn.emit(e.ExecutionEnded(status=status, output=output, error=error, reason=state.reason))
    turn.effect(Finish(status=status))


def output_of(turn: Turn) -> Any:
    """Return what the execution returns: its ``output``, else the result of the leaf done last."""
    if turn.program.output is not None:
        what = "executor.spec.output"
        return turn.keep(turn.hand_on(turn.program.output, whole(turn.state), what), what)
    return turn.state.last_done.result if turn.state.last_done is not None else None


# Rest


def at_rest(turn: Turn) -> None:
    """Find out what rest this is: end the execution, or say why it is stuck."""
    state = turn.state
    if state.terminal or state.paused:
        return
    if not state.ready and not state.runs:
        if state.phase == "final":
            _end(turn, state.ending)  # its token was discarded
            return
        if state.phase == "normal" and not any(group.decides for group in state.groups.values()):
            _ending(turn, "partial" if state.stained else "completed", "", None)
            return
    rest = rest_of(turn.program, state)
    if rest is not None and rest.status == "stuck":
        said = f"{rest.reason}: {rest.message}"
        if state.stuck != said:
            turn.emit(e.ExecutionStuck(reason=rest.reason, message=rest.message))
