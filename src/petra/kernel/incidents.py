"""Incidents: runs that nothing starts again by itself; an operator has to hand them out once more (S11)."""

from __future__ import annotations

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.effects import Assign
from petra.kernel.state import Chunk, StepRun
from petra.kernel.turn import RefusedError, Turn


def retry(turn: Turn, command: c.Retry) -> None:
    """Hand out every run of a step that is an incident once more."""
    if command.step not in turn.program.steps:
        raise RefusedError(f"there is no step '{command.step}'")
    runs = [run for run in turn.state.incidents if turn.state.runs[run].step == command.step]
    if not runs:
        raise RefusedError(f"step '{command.step}' is no incident")
    for run_id in runs:
        _again(turn, turn.state.runs[run_id], command)


def _again(turn: Turn, run: StepRun, command: c.Retry) -> None:
    chunks = list(run.chunks.values())
    lost: list[StepRun | Chunk] = [chunk for chunk in chunks if chunk.incident]
    for holder in lost or chunks or [run]:
        place = holder.id if isinstance(holder, Chunk) else ""
        delivery = holder.delivery + 1
        event = e.RunRedelivered(
            run=run.id,
            delivery=delivery,
            chunk=place,
            actor=command.actor,
            by=command.by,
            reason=command.reason,
        )
        turn.emit(event)
        turn.effect(Assign(run=run.id, delivery=delivery, chunk=place))
