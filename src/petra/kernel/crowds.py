"""Crowds: firings that make or take too many tokens for one event (S8, S18).

Rule 1: a fan-out makes its first tokens in the boundary event, which says how many there are; the others follow in
events of their own. A join that takes very many names most of them in events before its own.
Rule 2: the events of one firing are of one decision. Nothing is judged between them, and no past ends there.
Rule 3: a firing that fits into one event is one event.
Rule 4: whoever asks which firings there were gets each as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from petra.kernel import events as e
from petra.kernel.state import Group
from petra.kernel.turn import Turn

WHOLE_BYTES = 200 * 1024
"""Bytes of a boundary event, with the ids its receipt repeats, that are not cut; an event may have 256 KiB."""
FIRST_BYTES = 64 * 1024
"""Bytes of tokens that stay in a boundary event which is cut."""
ADDED_BYTES = 128 * 1024
"""Bytes of tokens in each of the events that follow it."""
NAMED_MAX = 2_000
"""Ids of tokens, runs or groups that one event takes away; its receipt names them again."""
_ID_BYTES = 27

_encode = msgspec.json.Encoder().encode
_Ended = e.StepDone | e.StepFailed | e.LoopDone
Lived = tuple[int, float, e.AnyEvent]
"""An event with its version and its time."""


def emit_in_pieces(turn: Turn, event: _Ended) -> None:
    """Emit a boundary event that makes a group, or takes many tokens: as one event if it fits."""
    if len(event.consumed) > NAMED_MAX:
        group = turn.state.groups.get(event.closes or "")
        named = gather(turn, event.run, event.step, event.consumed, group)
        event = replace(event, consumed=named)
    for piece in cut(event):
        turn.emit(piece)


def gather(turn: Turn, run: str, step: str, tokens: list[str], group: Group | None) -> list[str]:
    """Take away all but the first tokens of a firing of many; return those, which its own event is to take."""
    if len(tokens) <= NAMED_MAX:
        return tokens
    closed = group.id if group is not None else None
    for some in _lots(tokens[NAMED_MAX:]):
        turn.emit(e.TokensGathered(run=run, step=step, consumed=some, group=closed))
    return tokens[:NAMED_MAX]


def cut(event: _Ended) -> Iterator[e.AnyEvent]:
    """Yield a boundary event, or its pieces where it is too large because of its tokens."""
    group, produced = event.group, event.produced
    begins = [0] if group is None or _fits(event) else _begins(group, produced)
    if group is None or len(begins) == 1:
        yield event
        return
    ends = [*begins[1:], len(produced)]
    first = ends[0]
    shown = replace(group, items=group.items[:first], arcs=group.arcs[:first])
    yield replace(event, produced=produced[:first], group=shown, timers=[])
    for begin, end in zip(begins[1:], ends[1:], strict=True):
        some = slice(begin, end)
        yield e.TokensAdded(
            group=group.id, step=event.step, produced=produced[some], items=group.items[some],
            arcs=group.arcs[some], timers=event.timers if end == len(produced) else [],
        )  # fmt: skip


def _fits(event: _Ended) -> bool:
    if len(event.produced) < 2:
        return True
    named = len(event.produced) + len(event.consumed)
    return len(_encode(event)) + _ID_BYTES * named <= WHOLE_BYTES


def _begins(group: e.NewGroup, produced: list[e.Produced]) -> list[int]:
    """Return where each piece begins."""
    begins, size, most = [0], 0, FIRST_BYTES
    for index, token in enumerate(produced):
        length = len(_encode(token)) + len(_encode(group.items[index])) + _ID_BYTES + 8
        if size + length > most and index > begins[-1]:
            begins.append(index)
            size, most = 0, ADDED_BYTES
        size += length
    return begins


def withdrawn(
    tokens: list[str], runs: list[str], groups: list[str], reason: str, by: str
) -> Iterator[e.Withdrawn]:
    """Yield the events of one withdrawal: tokens first, then runs, then groups."""
    if len(tokens) + len(runs) + len(groups) <= NAMED_MAX:
        yield e.Withdrawn(tokens=tokens, runs=runs, groups=groups, reason=reason, by=by)
        return
    lots: list[dict[str, list[str]]] = [
        {kind: some}
        for kind, ids in (("tokens", tokens), ("runs", runs), ("groups", groups))
        for some in _lots(ids)
    ]
    for lot in lots:
        yield e.Withdrawn(**lot, reason=reason, by=by, more=lot is not lots[-1])  # type: ignore[arg-type]


def _lots(ids: list[str]) -> Iterator[list[str]]:
    for begin in range(0, len(ids), NAMED_MAX):
        yield ids[begin : begin + NAMED_MAX]


# Reading


def complete(past: list[tuple[float, e.AnyEvent]]) -> int:
    """Return how many events of a past are left when it does not end within a firing."""
    end = len(past)
    while end and _waits_for_more(past[end - 1][1]):
        end -= 1
    begin = end
    while begin and isinstance(past[begin - 1][1], e.TokensAdded):
        begin -= 1
    first = past[begin - 1][1] if begin else None
    if isinstance(first, e.StepEnded) and first.group is not None:
        produced = len(first.produced) + sum(len(_added(event)) for _, event in past[begin:end])
        if produced < first.group.size:
            return complete(past[: begin - 1])
    return end


def _waits_for_more(event: e.AnyEvent) -> bool:
    return isinstance(event, e.TokensGathered) or (isinstance(event, e.Withdrawn) and event.more)


def _added(event: e.AnyEvent) -> list[e.Produced]:
    return event.produced if isinstance(event, e.TokensAdded) else []


def whole(life: Iterable[Lived]) -> Iterator[Lived]:
    """Yield events with the pieces of each firing put together; what is cut off stays as it is."""
    before: list[Any] = []
    begun: tuple[int, float, Any] | None = None
    for seq, at, event in life:
        if begun is not None and isinstance(event, e.TokensAdded):
            begun = (*begun[:2], _with_added(begun[2], event))
            if _is_cut(begun[2]):
                continue
            yield begun
            begun = None
        elif _waits_for_more(event):
            before.append(event)
        elif _is_cut(event):
            begun, before = (seq, at, _with_earlier(before, event)), []
        else:
            yield seq, at, _with_earlier(before, event)
            before = []
    if begun is not None:
        yield begun


def _is_cut(event: e.AnyEvent) -> bool:
    if not isinstance(event, e.StepEnded) or event.group is None:
        return False
    return len(event.produced) < event.group.size


def _with_added(event: Any, piece: e.TokensAdded) -> Any:
    group = event.group
    items, arcs = [*group.items, *piece.items], [*group.arcs, *piece.arcs]
    produced = [*event.produced, *piece.produced]
    group = replace(group, items=items, arcs=arcs)
    return replace(event, produced=produced, group=group, timers=[*event.timers, *piece.timers])


def _with_earlier(before: list[Any], event: e.AnyEvent) -> e.AnyEvent:
    """Add to an event what those before it have taken for the same firing."""
    if before and isinstance(event, e.StepStarted | e.StepDone | e.StepFailed | e.LoopDone):
        taken = [token for piece in before for token in piece.consumed]
        return replace(event, consumed=[*event.consumed, *taken])
    if before and isinstance(event, e.Withdrawn):
        pieces = [*before, event]
        return replace(
            event,
            tokens=[token for piece in pieces for token in piece.tokens],
            runs=[run for piece in pieces for run in piece.runs],
            groups=[group for piece in pieces for group in piece.groups],
        )
    return event
