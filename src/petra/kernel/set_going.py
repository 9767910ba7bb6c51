"""Setting an execution going: with the past of another one (S13), or once it was let in (S15)."""

from __future__ import annotations

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel import permits, tasks
from petra.kernel.effects import Assign
from petra.kernel.fork import pieces
from petra.kernel.state import Chunk, StepRun
from petra.kernel.turn import RefusedError, Turn


def fork(turn: Turn, command: c.Fork) -> None:
    """Take over a past, and set everything going again that was on its way."""
    if turn.state.seq:
        raise RefusedError("an execution begins once")
    first, *others = pieces(command.past)
    turn.emit(
        e.ExecutionForked(
            origin=command.origin,
            at=command.at,
            past=first,
            reason=command.reason,
            size=len(command.past) if others else 0,
            parts=command.parts,
            actor=command.actor,
            by=command.by,
        )
    )
    for piece in others:
        turn.emit(e.PastTaken(past=piece))
    if command.digest or command.workload is not None:
        from petra.kernel.migration import go_on_with  # noqa: PLC0415 - few move

        go_on_with(turn, command)
    if not permits.ask_again(turn):
        set_going(turn)


def give(turn: Turn, command: c.GivePermit) -> None:
    """Take a permit; what was held back for it goes on."""
    if permits.given(turn, command):
        set_going(turn)


def set_going(turn: Turn) -> None:
    """Hand out what is on its way, and consider what waits."""
    for run in list(turn.state.runs.values()):
        _hand_out_again(turn, run)
    turn.agenda.add_waiting(turn.program.steps)
    for group in turn.state.groups:
        turn.judge(group)


def _hand_out_again(turn: Turn, run: StepRun) -> None:
    holders: list[StepRun | Chunk] = [*run.chunks.values()] or [run]
    for holder in holders:
        chunk = holder if isinstance(holder, Chunk) else None
        if holder.child:
            tasks.restart(turn, run, chunk)  # its child belongs to the origin
        elif holder.waits:
            tasks.begin(turn, run, chunk)
        elif turn.plan_of(run).mode == "worker" and (chunk is not None or run.loop is None):
            place = chunk.id if chunk is not None else ""
            turn.effect(Assign(run=run.id, delivery=holder.delivery, chunk=place))
    if run.loop is not None and run.id in turn.state.runs:
        turn.begin(run.id)
