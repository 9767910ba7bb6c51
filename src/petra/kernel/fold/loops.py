"""Loops as recorded: iterations handed out and ended, in chunks (S9)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from petra.kernel import events as e
from petra.kernel.fold.tasks import arm
from petra.kernel.fold.tokens import withdraw_items
from petra.kernel.fold.waits import leave, place_of
from petra.kernel.fold.writes import write
from petra.kernel.state import Chunk, LoopState, State, StepRun
from petra.references import part_of


def level_at(loop: LoopState, path: tuple[int, ...]) -> LoopState:
    """Return the level of a loop that the iteration with this path belongs to."""
    for index in path[:-1]:
        inner = loop.active[index]
        assert inner is not None
        loop = inner
    return loop


def iterations_started(state: State, event: e.IterationsStarted) -> None:
    """Iterations were handed out, or an inner list became known."""
    run = state.runs[event.run]
    assert run.loop is not None
    for path, items, limit in event.opened:
        level = level_at(run.loop, path)
        inner = level.active[path[-1]] = LoopState(len(items), items, limit)
        if event.pieces:
            add_pieces(inner, event.pieces)
        level.nests = True
        level.next = max(level.next, path[-1] + 1)
    if event.paths:  # of one list
        level = level_at(run.loop, event.paths[0])
        level.active.update(dict.fromkeys([path[-1] for path in event.paths]))
        level.next = max(level.next, max(event.paths)[-1] + 1)
    close_levels(run.loop)
    known = run.chunks.get(event.chunk)
    if known is not None:
        known.paths = [*known.paths, *event.paths]
    elif event.gather:
        run.chunks[event.chunk] = Chunk(event.chunk, [], gather=True, upto=event.upto)
    elif event.chunk:
        chunk = Chunk(event.chunk, list(event.paths), at=event.paths[0][:-1])
        level_at(run.loop, event.paths[0]).chunks += 1
        run.chunks[event.chunk] = chunk
        if event.armed is not None:
            arm(state, run, chunk, event.armed)


def items_added(state: State, event: e.ItemsAdded) -> None:
    """A list that was too long for one event goes on."""
    run = state.runs[event.run]
    assert run.loop is not None
    level = level_at(run.loop, (*event.path, 0))
    if event.items:
        level.items = [*level.items, *event.items]
        level.total = len(level.items)
    add_pieces(level, event.pieces)


def add_pieces(level: LoopState, pieces: list[tuple[int, dict[str, Any]]]) -> None:
    """Note where further items of a list are."""
    for count, reference in pieces:
        level.places.append((level.total, reference))
        level.total += count


def item_at(level: LoopState, index: int) -> Any:
    """Return an item of a list: itself, or the reference to where it is."""
    if not level.places:
        return level.items[index]
    first, reference = level.places[bisect_right(level.places, index, key=_first) - 1]
    return part_of(reference, index - first)


def items_at(
    level: LoopState, indices: list[int], near: Callable[[int, dict[str, Any]], Any]
) -> list[Any]:
    """Return items of a list; of a piece that ``near`` gives those in it, and else references to where they are."""
    if not level.places:
        return [level.items[index] for index in indices]
    items: list[Any] = []
    first = end = 0
    reference: dict[str, Any] = {}
    piece: Any = None
    for index in indices:
        if not first <= index < end:
            end = piece_end(level, index)
            first, reference = level.places[bisect_right(level.places, index, key=_first) - 1]
            piece = near(end - first, reference)
        place = index - first
        items.append(part_of(reference, place) if piece is None else piece[place])
    return items


def piece_end(level: LoopState, index: int) -> int:
    """Return the index after the last item that is in the same object."""
    following = bisect_right(level.places, index, key=_first)
    return level.places[following][0] if following < len(level.places) else level.total


def _first(piece: tuple[int, Any] | tuple[int, int, Any]) -> int:
    return piece[0]


def iterations_ended(state: State, event: e.IterationsEnded) -> None:
    """Iterations ended: their results, counts and writes."""
    run = state.runs[event.run]
    assert run.loop is not None
    if event.upto:
        _piece_stored(run.loop, event)
        run.chunks.pop(event.chunk, None)
        return
    chunk = run.chunks[event.chunk]
    if event.more:
        ended_now = {ended.path for ended in event.ended}
        chunk.paths = [path for path in chunk.paths if path not in ended_now]
    else:
        del run.chunks[event.chunk]
        leave(state, place_of(run.id, chunk.id), chunk)
        level_at(run.loop, (*chunk.at, 0)).chunks -= 1
    durations, succeeded = 0.0, 0
    level = level_at(
        run.loop, (*chunk.at, 0)
    )  # hundreds end at once: nothing is looked up for each
    active = level.active
    for ended in event.ended:
        for change in ended.writes:
            write(state, change, run.stack, loop=(run.id, ended.path))
        place = ended.path[-1]
        del active[place]
        put(level, place, ended.result if ended.ok else None)
        succeeded += ended.ok
        for attempt in ended.attempts:
            durations += attempt.duration_ms
        if ended.has_branch and (run.branch_at is None or run.branch_at <= ended.path):
            run.branch, run.branch_at = ended.branch, ended.path
        if not ended.ok and ended.error is not None and len(run.failed) < FAILED_MAX:
            run.failed = (*run.failed, (ended.path, ended.error))
    level.done += len(event.ended)
    level.succeeded += succeeded
    level.failed += len(event.ended) - succeeded
    state.drop_timers(run.id, group=chunk.id)
    withdraw_items(state, chunk)
    close_levels(run.loop)
    adapt(run, durations / max(1, len(event.ended)))


def _piece_stored(loop: LoopState, event: e.IterationsEnded) -> None:
    """Keep the reference to a piece in place of the results that are in it."""
    if event.since:
        loop.held[event.since - loop.stored : event.upto - loop.stored] = [None] * (
            event.upto - event.since
        )
        loop.aside = sorted([*loop.aside, (event.since, event.upto, event.piece)], key=_first)
        return
    _leave_out(loop, event.upto, event.piece)
    while loop.aside and loop.aside[0][0] == loop.stored:
        (_, upto, piece), *loop.aside = loop.aside
        _leave_out(loop, upto, piece)


def _leave_out(loop: LoopState, upto: int, piece: Any) -> None:
    loop.pieces = [*loop.pieces, piece]
    del loop.held[: upto - loop.stored]
    loop.stored = upto


def put(level: LoopState, index: int, value: Any) -> None:
    """Set a result at its index, whatever came before."""
    assert index >= level.stored, "what is stored has ended"
    place, held = index - level.stored, level.held
    if place < len(held):
        held[place] = value
        return
    if place > len(held):
        held += [None] * (place - len(held))
    held.append(value)


def close_levels(loop: LoopState) -> None:
    """Turn inner levels that are through into results of the outer one."""
    if not loop.nests:
        return
    for index, inner in list(loop.active.items()):
        if inner is None:
            continue
        close_levels(inner)
        if inner.is_over:
            del loop.active[index]
            inner.held += [None] * (inner.total - len(inner.held))
            put(loop, index, inner.held)
            loop.done += inner.done
            loop.succeeded += inner.succeeded
            loop.failed += inner.failed


FAILED_MAX = 100
"""So many failures of one loop are kept, with their details; all of them are counted."""
CHUNK_MAX = 256
FAST_MS = 5.0
SLOW_MS = 50.0


def adapt(run: StepRun, mean_ms: float) -> None:
    """Hand out more at a time while iterations are quick, one by one when they are slow."""
    if mean_ms <= FAST_MS:
        run.chunk_size = min(CHUNK_MAX, run.chunk_size * 2)
    elif mean_ms >= SLOW_MS:
        run.chunk_size = 1
