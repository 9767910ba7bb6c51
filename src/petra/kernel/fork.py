"""Fork and rerun: a new execution that begins with a prefix of another one's log (S13).

The past travels inside the first event of the new execution, so its log stands on its own: replay needs
nothing of the origin, and the two are linked by name and version.
"""

from __future__ import annotations

from collections.abc import Sequence

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.replay import Record


def fork(
    origin: str, records: Sequence[Record], at: int, *, now: float, reason: str = ""
) -> c.Fork:
    """Return the command that begins a new execution from the first ``at`` records.

    Raises:
        ValueError: there is no such version, or the execution was over by then.
    """
    if not 1 <= at <= len(records):
        raise ValueError(f"there is no version {at}; the log has {len(records)}")
    past = [(record.at, record.event) for record in records[:at]]
    if any(isinstance(event, e.ExecutionEnded) for _, event in past):
        raise ValueError(f"the execution was over before version {at}")
    return c.Fork(now=now, origin=origin, at=at, past=past, reason=reason)


def rerun(
    origin: str, records: Sequence[Record], step: str, *, now: float, reason: str = ""
) -> c.Fork:
    """Return the command that begins a new execution just before the latest start of a step.

    Raises:
        ValueError: the step was never started.
    """
    for record in reversed(records):
        event = record.event
        if isinstance(event, e.StepStarted) and event.step == step and not event.compensates:
            return fork(
                origin, records, record.seq - 1, now=now, reason=reason or f"rerun of {step}"
            )
    raise ValueError(f"step '{step}' was never started")
