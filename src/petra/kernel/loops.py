"""Loops: iterations are handed out in index order, in chunks, never more than ``max_in_flight`` (S9).

Rule 1: an empty list is ``loop.done`` at once. The result is the list of iteration results in index order,
a list of lists when nested, null for a failed iteration.
Rule 2: ``fail_fast``: the first failed iteration stops the loop and fails the step. ``best_effort``: all
run, and ``loop.done`` carries the failures.
Rule 3: a chunk is one iteration at first, and grows while iterations are quick.
"""

from __future__ import annotations

from typing import Any

from petra.kernel import events as e
from petra.kernel.ctx import fault
from petra.kernel.effects import Assign, Stop
from petra.kernel.opening import arm, items_of
from petra.kernel.program import LoopPlan, StepPlan
from petra.kernel.runs import end
from petra.kernel.scope import view_of
from petra.kernel.state import LoopState, Run, derive
from petra.kernel.turn import TransformError, Turn
from petra.wire import Error, Report, Write

_ERRORS_SHOWN = 10


def advance(turn: Turn, run: Run) -> None:
    """Hand out what may run now; end the run when the loop is through."""
    plan = turn.plan(run.step)
    assert run.loop is not None
    assert plan.loop is not None
    try:
        while run.id in turn.state.runs and _hand_out(turn, plan, run):
            pass
    except TransformError as error:
        _stop(turn, run)
        end(turn, run, Report(status="error", error=error.error), counts=counts_of(run.loop))
        return
    if run.id in turn.state.runs and run.loop.is_over:
        _finish(turn, run)


def _hand_out(turn: Turn, plan: StepPlan, run: Run) -> bool:
    """Hand out one chunk, or open one inner list; False when nothing may start now."""
    assert run.loop is not None
    assert plan.loop is not None
    path = next_path(run.loop, plan.loop, ())
    if path is None:
        return False
    depth = len(path)
    level = _loop_at(plan.loop, depth)
    if level.inner is not None:
        iteration = iter_data(plan, run, path)
        items, most = items_of(turn, level.inner, view_of(turn.state, run), iteration)
        turn.emit(e.IterationsStarted(run=run.id, chunk="", paths=[], opened=[(path, items, most)]))
        return True
    local = plan.loop.loop.spec.policy.exec == "local"
    most = turn.program.chunk_max
    paths = [path] if plan.mode != "worker" else _chunk(run, path, most, everything=local)
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
        turn.begun.append(f"{run.id}/{chunk}")
    return True


def next_path(loop: LoopState, plan: LoopPlan, path: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the next iteration that may start: inside an open outer one first, in index order."""
    if plan.inner is not None:
        for index, inner in sorted(loop.active.items()):
            if inner is not None:
                found = next_path(inner, plan.inner, (*path, index))
                if found is not None:
                    return found
    busy = loop.chunks if plan.inner is None else len(loop.active)
    if loop.next < loop.total and busy < loop.max_in_flight:
        return (*path, loop.next)
    return None


def _chunk(
    run: Run, path: tuple[int, ...], most: int, *, everything: bool
) -> list[tuple[int, ...]]:
    """Return a run of iterations that one worker does one after the other."""
    assert run.loop is not None
    level = run.loop
    for index in path[:-1]:
        inner = level.active[index]
        assert inner is not None
        level = inner
    left = level.total - path[-1]
    share = max(1, left // level.max_in_flight)
    size = left if everything else min(run.chunk_size, most, share)
    return [(*path[:-1], path[-1] + offset) for offset in range(size)]


def _loop_at(loop: LoopPlan, depth: int) -> LoopPlan:
    for _ in range(depth - 1):
        assert loop.inner is not None
        loop = loop.inner
    return loop


def iter_data(plan: StepPlan, run: Run, path: tuple[int, ...]) -> dict[str, Any]:
    """Return what ``iter`` is for an iteration, with its outer ones as ``parent``."""
    found: dict[str, Any] | None = None
    loop, state = plan.loop, run.loop
    for depth, index in enumerate(path):
        assert loop is not None
        assert state is not None
        made: dict[str, Any] = {loop.loop.iterator: state.items[index], "index": index}
        if found is not None:
            made["parent"] = found
        found = made
        if depth + 1 < len(path):
            loop, state = loop.inner, state.active[index]
    assert found is not None
    return found


def report(turn: Turn, run: Run, chunk: str, reports: list[tuple[tuple[int, ...], Report]]) -> None:
    """Take the reports of a chunk, then hand out more or end the loop."""
    plan = turn.plan(run.step)
    ended = _recorded(turn, run, chunk, reports)
    assert run.loop is not None
    failed = next((one for one in ended if not one.ok), None)
    if failed is not None and not plan.best_effort:
        _stop(turn, run)
        error = failed.error or Error()
        said = Error(
            kind=error.kind,
            code=error.code,
            message=f"iteration {_shown(failed.path)}: {error.message}",
            details=error.details,
            retryable=error.retryable,
        )
        end(turn, run, Report(status="error", error=said), counts=counts_of(run.loop))
        return
    turn.begun.append(run.id)


def _recorded(
    turn: Turn, run: Run, chunk: str, reports: list[tuple[tuple[int, ...], Report]]
) -> list[e.Iterated]:
    """Record how iterations ended: in one event, or one by one where each may conflict with the last."""
    if not any(one.writes for _, one in reports):
        ended = [_iterated(turn, run, path, one) for path, one in reports]
        turn.emit(e.IterationsEnded(run=run.id, chunk=chunk, ended=ended))
        return ended
    ended = []
    for number, (path, one) in enumerate(reports, start=1):
        ended.append(_iterated(turn, run, path, one))
        more = number < len(reports)
        turn.emit(e.IterationsEnded(run=run.id, chunk=chunk, ended=ended[-1:], more=more))
    return ended


def _iterated(turn: Turn, run: Run, path: tuple[int, ...], one: Report) -> e.Iterated:
    broken = fault(turn, one.writes, run.stack, (run.id, path))
    if broken is not None:
        return e.Iterated(path=path, ok=False, error=broken, attempts=one.attempts)
    return e.Iterated(
        path=path, ok=one.status == "ok", result=one.result, error=one.error, attempts=one.attempts,
        writes=[Write(key=write.key, value=write.value) for write in one.writes],
    )  # fmt: skip


def _shown(path: tuple[int, ...]) -> str:
    return ".".join(map(str, path))


def _stop(turn: Turn, run: Run) -> None:
    if run.chunks:
        turn.effect(Stop(run=run.id))


def counts_of(loop: LoopState) -> dict[str, int]:
    """Return the counts of a loop, over the iterations of all its levels."""
    total, done, ok, failed = _sums(loop)
    return {"total": total, "completed": done, "succeeded": ok, "failed": failed}


def _sums(loop: LoopState) -> tuple[int, int, int, int]:
    done, ok, failed = loop.done, loop.succeeded, loop.failed
    nested = [inner for inner in loop.active.values() if inner is not None]
    total = (
        loop.total
        if not nested and not _has_lists(loop)
        else done + sum(_sums(inner)[0] for inner in nested)
    )
    for inner in nested:
        _, more, good, bad = _sums(inner)
        done, ok, failed = done + more, ok + good, failed + bad
    return max(total, done), done, ok, failed


def _has_lists(loop: LoopState) -> bool:
    return loop.done != loop.total and loop.is_over


def _finish(turn: Turn, run: Run) -> None:
    assert run.loop is not None
    loop = run.loop
    results = [*loop.results, *([None] * (loop.total - len(loop.results)))]
    counts = counts_of(loop)
    error = None
    if counts["failed"]:
        shown = [error.as_data() for error in run.errors[:_ERRORS_SHOWN]]
        message = f"{counts['failed']} of {counts['total']} iterations failed"
        error = Error(
            kind=run.errors[0].kind if run.errors else "unknown",
            code="loop",
            message=message,
            details=shown,
        )
    end(turn, run, Report(status="ok", result=results, error=error), counts=counts, loop_done=True)
