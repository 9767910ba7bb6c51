"""Fork and rerun: a new execution that begins with a prefix of another one's log (S13).

The past travels inside the first events of the new execution, so its log stands on its own: replay needs nothing
of the origin, and the two are linked by name and version.

Rule 1: a past never ends between an input and what was decided about it: an answer, a signal or a timer that
would be its last record is left out, so that it can come again. Nor does it end within a firing of several records.
Rule 2: a long past is taken over in pieces, each an event of bounded size.
Rule 3: a fork of a fork takes over one past, whose parts say whose each record was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.crowds import complete, whole
from petra.kernel.replay import Record

Past = list[tuple[float, e.AnyEvent]]
PIECE = 160 * 1024
"""Bytes of a past that stand in one event, unless a single record has more; the event itself may have 256 KiB."""

_encode = msgspec.json.Encoder().encode


class PastPart(NamedTuple):
    """Records of one execution: whose they are, how many of its log come before them, and what they hold."""

    origin: str
    before: int
    past: Past


def parts_of(origin: str, past: Past) -> list[PastPart]:
    """Tell apart what an execution has taken over from others and what is its own, which comes last."""
    first = past[0][1] if past else None
    if not isinstance(first, e.ExecutionForked):
        return [PastPart(origin, 0, past)]
    taken, over = 1, list(first.past)
    while len(over) < first.size:
        piece = past[taken][1]
        assert isinstance(piece, e.PastTaken), "the pieces of a past follow one another"
        over += piece.past
        taken += 1
    earlier = []
    for name, before, count in first.parts:
        earlier.append(PastPart(name, before, over[:count]))
        over = over[count:]
    return [*(earlier or parts_of(first.origin, over)), PastPart(origin, taken, past[taken:])]


def fork(
    origin: str, records: Sequence[Record], at: int, *, now: float, reason: str = ""
) -> c.Fork:
    """Return the command that begins a new execution from the first ``at`` records.

    Raises:
        ValueError: there is no such record, or the execution was over by then.
    """
    if not 1 <= at <= len(records):
        raise ValueError(f"there is no record {at}; the log has {len(records)}")
    *earlier, own = parts_of(origin, [(record.at, record.event) for record in records])
    kept = own.past[: max(0, at - own.before)]
    if any(isinstance(event, e.ExecutionEnded) for _, event in kept):
        raise ValueError(f"the execution was over before record {at}")
    return _command([*earlier, own._replace(past=kept)], now=now, reason=reason)


def rerun(
    origin: str, records: Sequence[Record], step: str, *, now: float, reason: str = ""
) -> c.Fork:
    """Return the command that begins a new execution just before the latest start of a step.

    Raises:
        ValueError: the step was never started.
    """
    parts = parts_of(origin, [(record.at, record.event) for record in records])
    why = reason or f"rerun of {step}"
    while parts:  # it may have run before the two parted
        last = parts.pop()
        for number in reversed(range(len(last.past))):
            event = last.past[number][1]
            if isinstance(event, e.StepStarted) and event.step == step and not event.compensates:
                kept = last._replace(past=last.past[:number])
                return _command([*parts, kept], now=now, reason=why, decided=True)
    begun = {
        event.step
        for event in (record.event for record in records)
        if isinstance(event, e.StepStarted)
    }
    from difflib import get_close_matches  # noqa: PLC0415 - only for a slip

    near = get_close_matches(step, begun, n=1)
    words = (
        f"; did you mean '{near[0]}'?"
        if near
        else f"; {', '.join(sorted(begun))} were"
        if begun
        else ""
    )
    raise ValueError(f"step '{step}' was never started{words}")


def _command(parts: list[PastPart], *, now: float, reason: str, decided: bool = False) -> c.Fork:
    past = [event for part in parts for event in part.past]
    size = len(past)
    del past[complete(past) :]
    while not decided and len(past) > 1 and _is_undecided(past[-1][1]):
        past.pop()
    origin, before, own = parts[-1]
    at = before + max(0, len(own) - (size - len(past)))
    lengths = [(part.origin, part.before, len(part.past)) for part in parts]
    return c.Fork(
        now=now, origin=origin, at=at, past=past, parts=_cut(lengths, len(past)), reason=reason
    )


def _cut(parts: list[tuple[str, int, int]], size: int) -> list[tuple[str, int, int]]:
    """Let the parts speak of ``size`` records; a past that is all of one execution needs none."""
    made = []
    for origin, before, count in parts:
        made.append((origin, before, min(count, size)))
        size -= min(count, size)
    return made if len(made) > 1 else []


def pieces(past: Past) -> list[Past]:
    """Cut a past into pieces that fit into one event each."""
    cut: list[Past] = [[]]
    size = 0
    for event in past:
        length = len(_encode(event)) + 1
        if size + length > PIECE and cut[-1]:
            cut.append([])
            size = 0
        cut[-1].append(event)
        size += length
    return cut


def lived(records: Iterable[Record]) -> Iterator[tuple[int, float, e.AnyEvent]]:
    """Yield everything an execution lived through, with its version: what it took over lies before version 1.

    A firing of several records is one event here, with the version of its own record.
    """
    return whole(_lived(records))


def _lived(records: Iterable[Record]) -> Iterator[tuple[int, float, e.AnyEvent]]:
    left = 0
    for record in records:
        event = record.event
        if not isinstance(event, e.ExecutionForked | e.PastTaken):
            yield record.seq, record.at, event
            continue
        past = list(_unfolded(event.past))
        if isinstance(event, e.ExecutionForked):
            left = event.size or len(past)
        for at, one in past:
            yield 1 - left, at, one
            left -= 1


def _unfolded(past: Past) -> Iterator[tuple[float, e.AnyEvent]]:
    """Yield the records of a past; once a fork of a fork held the other's past as one record."""
    for at, event in past:
        if isinstance(event, e.ExecutionForked):
            yield from _unfolded(event.past)
        else:
            yield at, event


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
