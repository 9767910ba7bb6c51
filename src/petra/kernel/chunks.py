"""Chunks: which iterations of a loop go to a worker together, and what it is sent of them (S9).

Rule 1: a chunk is one iteration at first, and grows while iterations are quick; it is bounded in bytes too.
Rule 2: a ``local`` loop is one chunk, under one lease. Its worker has a window of iterations, as many as may run at
once at least, and is sent more when it has done about half.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from petra.kernel.fold.loops import item_at, items_at, level_at, piece_end
from petra.kernel.program import LoopPlan, StepPlan
from petra.kernel.state import Chunk, LoopState, StepRun
from petra.kernel.turn import Turn

CHUNK_BYTES = 128 * 1024
"""Bytes of items that are handed out together."""

_encode = msgspec.json.Encoder().encode


def goes_on(plan: StepPlan, run: StepRun, chunk: Chunk) -> bool:
    """Tell whether further iterations will be added to a chunk."""
    if chunk.gather or not is_local(plan):
        return False
    level = level_at(loop_of(run), (*chunk.at, 0))
    return level.next < level.total


def has_room(turn: Turn, run: StepRun, chunk: Chunk) -> bool:
    """Tell whether a worker could do with more: it has few, in number and in bytes, or too few to be busy."""
    level = level_at(loop_of(run), (*chunk.at, 0))
    out = len(chunk.paths)
    if out < level.max_in_flight:
        return True
    if out > _window(turn, run, chunk.at) // 2:
        return False
    if level.places:
        return True
    return sum(len(_encode(level.items[path[-1]])) for path in chunk.paths) <= CHUNK_BYTES // 2


def is_local(plan: StepPlan) -> bool:
    """Tell whether the whole loop stays with one worker."""
    return (
        plan.mode == "worker"
        and plan.loop is not None
        and plan.loop.loop.spec.policy.exec == "local"
    )


def next_path(
    loop: LoopState, plan: LoopPlan, path: tuple[int, ...], *, most: int | None = None
) -> tuple[int, ...] | None:
    """Return the next iteration that may start: inside an open outer one first, in index order.

    With ``most``, the innermost level has no more chunks than that, whatever its ``max_in_flight``.
    """
    if plan.inner is not None:
        for index, inner in sorted(loop.active.items()):
            if inner is not None:
                inside = next_path(inner, plan.inner, (*path, index), most=most)
                if inside is not None:
                    return inside
    if plan.inner is None:
        free = loop.chunks < (most or loop.max_in_flight)
    else:
        free = len(loop.active) < loop.max_in_flight
    if loop.next < loop.total and free:
        return (*path, loop.next)
    return None


def chunk_of(
    turn: Turn, plan: StepPlan, run: StepRun, path: tuple[int, ...], out: int = 0
) -> list[tuple[int, ...]]:
    """Return the iterations that go to a worker now, from ``path`` on, beside those it has ``out``."""
    level = level_at(loop_of(run), path)
    *at, first = path
    left = level.total - first
    if is_local(plan):
        size = min(left, _window(turn, run, tuple(at)) - out)
    else:
        share = max(1, left // level.max_in_flight)
        size = min(run.chunk_size, turn.program.chunk_max, share)
    if size == 1:
        return [path]
    if level.places:  # of one piece, so that a worker reads no more than that
        return [(*at, index) for index in range(first, min(first + size, piece_end(level, first)))]
    each = len(_encode(iter_data(plan, run, tuple(at)))) if at else 0
    room, end_at = CHUNK_BYTES, first
    while end_at < first + size:
        room -= len(_encode(level.items[end_at])) + each
        if room < 0 and end_at > first:
            break
        end_at += 1
    return [(*at, index) for index in range(first, end_at)]


def _window(turn: Turn, run: StepRun, at: tuple[int, ...]) -> int:
    return max(turn.program.window, 2 * level_at(loop_of(run), (*at, 0)).max_in_flight)


def iter_data(plan: StepPlan, run: StepRun, path: tuple[int, ...]) -> dict[str, Any]:
    """Return what ``iter`` is for an iteration, with its outer ones as ``parent``."""
    nested: dict[str, Any] | None = None
    loop, state = plan.loop, run.loop
    for depth, index in enumerate(path):
        assert loop is not None
        assert state is not None
        level: dict[str, Any] = {loop.loop.iterator: item_at(state, index), "index": index}
        if nested is not None:
            level["parent"] = nested
        nested = level
        if depth + 1 < len(path):
            loop, state = loop.inner, state.active[index]
    assert nested is not None
    return nested


def iters_data(
    plan: StepPlan,
    run: StepRun,
    paths: list[tuple[int, ...]],
    near: Callable[[int, dict[str, Any]], Any],
) -> list[dict[str, Any]]:
    """Return what ``iter`` is for iterations of one list, with the items that ``near`` has of a piece of it."""
    assert plan.loop is not None
    *at, _ = paths[0]
    iterator = loop_at(plan.loop, len(paths[0])).loop.iterator
    outer = {"parent": iter_data(plan, run, tuple(at))} if at else {}
    indices = [path[-1] for path in paths]
    items = items_at(level_at(loop_of(run), paths[0]), indices, near)
    return [
        {iterator: item, "index": index, **outer}
        for item, index in zip(items, indices, strict=True)
    ]


def loop_of(run: StepRun) -> LoopState:
    """Return how far the loop of a run has come."""
    assert run.loop is not None, "a run with chunks has a loop"
    return run.loop


def loop_at(loop: LoopPlan, depth: int) -> LoopPlan:
    """Return the level of nested loops at a depth, from 1."""
    for _ in range(depth - 1):
        assert loop.inner is not None
        loop = loop.inner
    return loop
