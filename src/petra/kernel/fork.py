"""Fork and rerun: a new execution that begins with a prefix of another one's log (S13).

The past travels inside the first event of the new execution, so its log stands on its own: replay needs
nothing of the origin, and the two are linked by name and version.

Rule 1: a past never ends between an input and what was decided about it: an answer, a signal or a timer that
would be its last record is left out, so that it can come again.
"""

from __future__ import annotations

from collections.abc import Sequence

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.replay import Record

Past = list[tuple[float, e.AnyEvent]]


def fork(
    origin: str, records: Sequence[Record], at: int, *, now: float, reason: str = ""
) -> c.Fork:
    """Return the command that begins a new execution from the first ``at`` records.

    Raises:
        ValueError: there is no such version, or the execution was over by then.
    """
    if not 1 <= at <= len(records):
        raise ValueError(f"there is no version {at}; the log has {len(records)}")
    past: Past = [(record.at, record.event) for record in records[:at]]
    if any(isinstance(event, e.ExecutionEnded) for _, event in past):
        raise ValueError(f"the execution was over before version {at}")
    while len(past) > 1 and _is_undecided(past[-1][1]):
        past.pop()
    return c.Fork(now=now, origin=origin, at=len(past), past=past, reason=reason)


def rerun(
    origin: str, records: Sequence[Record], step: str, *, now: float, reason: str = ""
) -> c.Fork:
    """Return the command that begins a new execution just before the latest start of a step.

    Raises:
        ValueError: the step was never started.
    """
    past: Past = [(record.at, record.event) for record in records]
    while past:
        for number in reversed(range(len(past))):
            event = past[number][1]
            if isinstance(event, e.StepStarted) and event.step == step and not event.compensates:
                why = reason or f"rerun of {step}"
                return c.Fork(now=now, origin=origin, at=number, past=past[:number], reason=why)
        first = past[0][1]
        if not isinstance(first, e.ExecutionForked):
            break
        origin, past = first.origin, first.past  # it ran before the two parted
    raise ValueError(f"step '{step}' was never started")


def _is_undecided(event: e.AnyEvent) -> bool:
    match event:
        case e.ItemChanged():
            return event.state in ("done", "failed", "expired", "withdrawn")
        case e.SignalReceived():
            return event.run is not None
        case e.TimerFired():
            return True
        case _:
            return False
