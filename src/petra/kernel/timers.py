"""Timers: what happens when one is due (S8, S13, S14, S15)."""

from __future__ import annotations

from collections.abc import Callable

from petra.kernel import completion, human, runs, schedules, tasks
from petra.kernel import events as e
from petra.kernel.cancel import stop
from petra.kernel.state import StepRun, counts_of
from petra.kernel.timetable import TIMER
from petra.kernel.turn import Turn
from petra.kernel.waiting import TIMERS_APART, Timer
from petra.wire import Error, Report


def fire_timer(turn: Turn, timer: Timer) -> None:
    """Use a timer up, and do what it is for."""
    turn.emit(e.TimerFired(timer=timer.id))
    if timer.kind == "join":
        if timer.group in turn.state.groups:
            turn.emit(e.GroupTimedOut(group=timer.group))
    elif timer.kind == "execution":
        if not turn.state.ending or turn.state.phase == "final":
            completion.abort(turn, "timeout")
    elif timer.kind == TIMER:
        schedules.due(turn)
    elif (run := turn.state.runs.get(timer.run)) is not None:
        _RUN_TIMERS[timer.kind](turn, run, timer)


def _run_timeout(turn: Turn, run: StepRun, timer: Timer) -> None:
    stop(turn, run, "timeout")
    limit = "its time limit" if timer.kind == "lifecycle" else "its deadline"
    runs.end(
        turn,
        run,
        Report(
            status="error",
            error=Error(kind="timeout", message=f"step '{run.step}' exceeded {limit}"),
        ),
        counts=counts_of(run.loop) if run.loop else None,
    )


def _wait_over(turn: Turn, run: StepRun, timer: Timer) -> None:
    tasks.time_passed(turn, run, run.chunks.get(timer.group), timer.index)


def _retry(turn: Turn, run: StepRun, timer: Timer) -> None:
    tasks.restart(turn, run, run.chunks.get(timer.group))


def _item_timer(turn: Turn, run: StepRun, timer: Timer) -> None:
    chunk = run.chunks.get(timer.group)
    holder = chunk or run
    wait = holder.waits[timer.index // TIMERS_APART]
    item = turn.state.items[wait.item]
    if not item.is_open:
        return
    if timer.kind == "due":
        human.expire(turn, item)
    elif timer.kind == "remind":
        human.remind(turn, item)
    else:
        human.escalate(turn, item, item.spec["escalate"][timer.index % TIMERS_APART])


_RUN_TIMERS: dict[str, Callable[[Turn, StepRun, Timer], None]] = {
    "lifecycle": _run_timeout, "deadline": _run_timeout, "wait": _wait_over, "retry": _retry,
    "due": _item_timer, "remind": _item_timer, "escalate": _item_timer,
}  # fmt: skip
