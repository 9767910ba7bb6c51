"""Loops: iterations are handed out in index order, in chunks, never more than ``max_in_flight`` (S9).

Rule 1: an empty list is ``loop.done`` at once. The result is the list of iteration results in index order,
a list of lists when nested, null for a failed iteration.
Rule 2: ``fail_fast``: the first failed iteration stops the loop and fails the step. ``best_effort``: all
run, and ``loop.done`` carries the failures.
Rule 3: a chunk is over when none of its iterations is out and there is none to add.
Rule 4: iterations are reported in parts, as they end; one that was reported before changes nothing. What a worker
leaves undone is handed out again, and only that.
Rule 5: of what iterations set as the output of the branch, that of the highest index counts, whatever the order in
which they ended; as a patch it holds also when the iteration or the loop failed.
Rule 6: results that are too large for an event are gathered into one object by a worker first; what is too large for a
frame is stored in pieces, which are then joined (S18).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from petra.kernel import events as e
from petra.kernel.chunks import (
    chunk_of,
    goes_on,
    has_room,
    is_local,
    iter_data,
    loop_at,
    loop_of,
    next_path,
)
from petra.kernel.effects import Assign, Extend, Stop
from petra.kernel.failed_iterations import as_map, brief, index, shown, words
from petra.kernel.fold.loops import FAILED_MAX, level_at
from petra.kernel.gathering import GATHER_BYTES, fitting, results_of, to_put_aside
from petra.kernel.lists import PIECE
from petra.kernel.objects import SCALARS
from petra.kernel.prepare import arm, items_of
from petra.kernel.program import StepPlan
from petra.kernel.runs import end, redeliver, taken
from petra.kernel.scope import view_of
from petra.kernel.state import Chunk, StepRun, counts_of, derive
from petra.kernel.turn import RefusedError, TransformError, Turn
from petra.wire import Error, Report

_ERRORS_SHOWN = 10
_encode = msgspec.json.Encoder().encode


def advance(turn: Turn, run: StepRun) -> None:
    """Hand out what may run now; end the run when the loop is through."""
    plan = turn.plan_of(run)
    assert run.loop is not None
    assert plan.loop is not None
    try:
        while run.id in turn.state.runs and (
            _refill(turn, plan, run) or _hand_out(turn, plan, run)
        ):
            pass
    except TransformError as error:
        _stop(turn, run)
        end(turn, run, _report(run, error.error), counts=counts_of(run.loop))
        return
    if run.id in turn.state.runs and run.loop.is_over and not run.chunks:
        _finish(turn, run)


def _hand_out(turn: Turn, plan: StepPlan, run: StepRun) -> bool:
    """Hand out one chunk, or open one inner list; False when nothing may start now."""
    assert run.loop is not None
    assert plan.loop is not None
    path = next_path(run.loop, plan.loop, (), most=1 if is_local(plan) else None)
    if path is None:
        return False
    depth = len(path)
    level = loop_at(plan.loop, depth)
    if level.inner is not None:
        iteration = iter_data(plan, run, path)
        items, most = items_of(turn, level.inner, view_of(turn.state, run), iteration)
        opened = [(path, items.first, most)]
        pieces = items.first_pieces
        turn.emit(e.IterationsStarted(run=run.id, chunk="", paths=[], opened=opened, pieces=pieces))
        for added in items.rest(run.id, path):
            turn.emit(added)
        _progress(turn, run)
        return True
    paths = [path] if plan.mode != "worker" else chunk_of(turn, plan, run, path)
    chunk = derive("chunk", run.id, *map(str, path))
    armed = None
    if plan.mode != "worker":
        extra = {"iter": iter_data(plan, run, path)}
        armed = arm(
            turn, plan, view_of(turn.state, run), run.id, attempt=1, chunk=chunk, extra=extra
        )
    turn.emit(e.IterationsStarted(run=run.id, chunk=chunk, paths=paths, armed=armed))
    if plan.mode == "worker":
        turn.effect(Assign(run=run.id, chunk=chunk))
    else:
        turn.begin(f"{run.id}/{chunk}")
    return True


def _refill(turn: Turn, plan: StepPlan, run: StepRun) -> bool:
    """Add iterations to a local chunk whose worker has done about half of what it had."""
    if not is_local(plan):
        return False
    for chunk in run.chunks.values():
        if goes_on(plan, run, chunk) and has_room(turn, run, chunk):
            level = level_at(loop_of(run), (*chunk.at, 0))
            first = (*chunk.at, level.next)
            paths = chunk_of(turn, plan, run, first, out=len(chunk.paths))
            turn.emit(e.IterationsStarted(run=run.id, chunk=chunk.id, paths=paths))
            turn.effect(Extend(run=run.id, chunk=chunk.id, delivery=chunk.delivery, paths=paths))
            return True
    return False


def report(
    turn: Turn,
    run: StepRun,
    chunk_id: str,
    reports: list[tuple[tuple[int, ...], Report]],
    *,
    more: bool = False,
) -> None:
    """Take what has ended of a chunk, then hand out more or end the loop.

    Without ``more`` its worker has nothing left to do: what it did not report is handed out again.

    Raises:
        RefusedError: all of it was reported before.
    """
    plan, chunk = turn.plan_of(run), run.chunks[chunk_id]
    out = dict.fromkeys(chunk.paths)
    fresh = []
    for path, one in reports:
        if path in out:
            del out[path]
            fresh.append((path, one))
    if reports and not fresh:
        raise RefusedError("these iterations were reported before")
    ended = _recorded(turn, run, chunk_id, fresh, more=bool(out) or goes_on(plan, run, chunk))
    _progress(turn, run)
    assert run.loop is not None
    _put_aside(turn, run)
    failed = next((iteration for iteration in ended if not iteration.ok), None)
    if failed is not None and not plan.best_effort:
        _stop(turn, run)
        error = failed.error or Error()
        said = Error(
            kind=error.kind,
            code=error.code,
            message=f"iteration {shown(failed.path)}: {error.message}",
            details={**as_map(error.details), "index": index(failed.path)},
            retryable=error.retryable,
        )
        end(turn, run, _report(run, said), counts=counts_of(run.loop))
        return
    if out and not more:
        redeliver(turn, run, chunk)
    turn.begin(run.id)


def _progress(turn: Turn, run: StepRun) -> None:
    """Let gates that read the counts of a running loop look again (S4)."""
    if turn.program.watches_steps:
        turn.step_changed(run.step)


def _put_aside(turn: Turn, run: StepRun) -> None:
    """Store results that would only wait in memory for the end of the loop."""
    if turn.plan_of(run).mode != "worker" or not turn.objects.can_store:
        return
    since, upto, results = to_put_aside(loop_of(run))
    if results:
        piece = turn.objects.put(results)
        turn.emit(
            e.IterationsEnded(
                run=run.id, chunk="", ended=[], upto=upto, piece=piece, since=since, more=True
            )
        )


def _recorded(
    turn: Turn,
    run: StepRun,
    chunk: str,
    reports: list[tuple[tuple[int, ...], Report]],
    *,
    more: bool,
) -> list[e.Iterated]:
    """Record how iterations ended: together, or one by one where each may conflict with the last."""
    if not any(report.writes for _, report in reports):
        ended = [_iterated(turn, run, path, report) for path, report in reports]
        pieces = list(_pieces(ended)) if ended or not more else []
        for number, piece in enumerate(pieces, start=1):
            follows = more or number < len(pieces)
            turn.emit(e.IterationsEnded(run=run.id, chunk=chunk, ended=piece, more=follows))
        return ended
    ended = []
    for number, (path, iteration) in enumerate(reports, start=1):
        ended.append(_iterated(turn, run, path, iteration))
        follows = more or number < len(reports)
        turn.emit(e.IterationsEnded(run=run.id, chunk=chunk, ended=ended[-1:], more=follows))
    return ended


def _pieces(ended: list[e.Iterated]) -> Iterator[list[e.Iterated]]:
    """Cut what ended into pieces that fit into one event each."""
    if len(ended) <= 1 or len(_encode(ended)) <= PIECE:
        yield ended
        return
    middle = len(ended) // 2
    yield from _pieces(ended[:middle])
    yield from _pieces(ended[middle:])


def _iterated(turn: Turn, run: StepRun, path: tuple[int, ...], iteration: Report) -> e.Iterated:
    if iteration.writes or iteration.branch is not UNSET or type(iteration.result) not in SCALARS:
        iteration, _ = taken(turn, iteration, run.stack, (run.id, path))
    if iteration.status == "error" and len(run.failed) >= FAILED_MAX:
        iteration = brief(iteration)
    has_branch = iteration.branch is not UNSET
    return e.Iterated(
        path=path, ok=iteration.status == "ok", result=iteration.result, error=iteration.error, attempts=iteration.attempts,
        writes=iteration.writes, left_out=iteration.left_out,
        branch=iteration.branch if has_branch else None, has_branch=has_branch,
    )  # fmt: skip


def _stop(turn: Turn, run: StepRun) -> None:
    if run.chunks:
        turn.effect(Stop(run=run.id))


def _finish(turn: Turn, run: StepRun) -> None:
    """End the loop; results that are too large for an event are gathered first, where a worker can."""
    loop = loop_of(run)
    if turn.plan_of(run).mode != "worker":
        _end(turn, run, results_of(run))
        return
    upto, size = fitting(loop, GATHER_BYTES)
    if upto < loop.total or (loop.pieces and loop.stored < loop.total):
        _gather(turn, run, upto)  # a piece
    elif loop.pieces or size > min(turn.program.spec.policy.limits.max_payload_bytes, PIECE):
        _gather(turn, run, 0)
    else:
        _end(turn, run, results_of(run))


def _gather(turn: Turn, run: StepRun, upto: int) -> None:
    """Have the results before an index stored, which were not; at last, with 0, all of them as one."""
    chunk = derive("gather", run.id, str(upto)) if upto else derive("gather", run.id)
    turn.emit(e.IterationsStarted(run=run.id, chunk=chunk, paths=[], gather=True, upto=upto))
    turn.effect(Assign(run=run.id, chunk=chunk))


def gathered(turn: Turn, run: StepRun, chunk: Chunk, came: Report | None) -> None:
    """Take the reference to the results of a loop, or to a piece of them, or why they could not be stored."""
    came = came or Report(status="error", error=Error(message="the results were not stored"))
    if came.status != "ok":
        end(turn, run, _report(run, came.error or Error()), counts=counts_of(loop_of(run)))
    elif chunk.upto:
        turn.emit(
            e.IterationsEnded(
                run=run.id, chunk=chunk.id, ended=[], upto=chunk.upto, piece=came.result
            )
        )
        _finish(turn, run)
    else:
        _end(turn, run, came.result)


def _end(turn: Turn, run: StepRun, result: Any) -> None:
    counts = counts_of(loop_of(run))
    error = None
    if counts["failed"]:
        first = sorted(run.failed, key=lambda failure: failure[0])[:_ERRORS_SHOWN]
        error = Error(
            kind=first[0][1].kind if first else "unknown",
            code="loop",
            message=words(counts, first),
            details=[{"index": index(path), **iteration.as_data()} for path, iteration in first],
        )
    done = Report(status="ok", result=result, error=error, branch=_branch(run))
    end(turn, run, done, counts=counts, loop_done=True)


def _report(run: StepRun, error: Error) -> Report:
    return Report(status="error", error=error, branch=_branch(run))


def _branch(run: StepRun) -> Any | UnsetType:
    return run.branch if run.branch_at is not None else UNSET
