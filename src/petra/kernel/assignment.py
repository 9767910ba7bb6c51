"""What a worker gets to see of an execution: the scope of a step run, or of a chunk of its iterations (S6)."""

from __future__ import annotations

from typing import Any, Final

from petra.expr.dates import NOW
from petra.kernel.chunks import goes_on, iters_data, loop_of
from petra.kernel.fold.loops import level_at
from petra.kernel.gathering import to_gather
from petra.kernel.objects import Shelf
from petra.kernel.program import Program, StepPlan
from petra.kernel.scope import branch_data, execution_data, view_of
from petra.kernel.state import Chunk, State, StepRun
from petra.own_labels import TRACE
from petra.wire import Assignment, Iteration

_ANY = "*"
_NO_VALUES: Final[dict[str, str]] = {}
_NO_ITERATIONS: Final[list[Iteration]] = []
"""What assignments without them share; nobody changes an assignment."""
SMALL_ITEM = 256
"""Bytes of an item, on the average of its piece, that is no larger than the reference to it."""


def assignment(
    program: Program,
    state: State,
    run_id: str,
    chunk_id: str = "",
    *,
    everything: bool = False,
    shelf: Shelf | None = None,
) -> Assignment:
    """Return what a worker needs for a run; with a chunk, the iterations it is to do.

    With ``everything`` the results of all steps come along, not only those its templates name. Small items of a long
    list that are on the ``shelf`` go themselves.
    """
    run = state.runs[run_id]
    plan = program.plan_of(run)
    digest, step = run.began or (program.digest, run.step)
    readable = [*state.origins, state.parent] if state.inherits else state.origins
    trace = state.labels.get(TRACE, "")
    if not chunk_id:
        return Assignment(
            execution=state.id, run=run.id, step=step, playbook=digest, delivery=run.delivery,
            scope=_scope(plan, state, run, everything=everything), compensate=bool(run.compensates),
            readable=readable, namespace=state.namespace, trace=trace, shared=_NO_VALUES, iterations=_NO_ITERATIONS,
        )  # fmt: skip
    chunk = run.chunks[chunk_id]
    if chunk.gather:
        return Assignment(
            execution=state.id, run=run.id, step=step, playbook=digest, chunk=chunk_id,
            delivery=chunk.delivery, gather=to_gather(run, chunk.upto),
            joins=not chunk.upto and bool(loop_of(run).pieces), namespace=state.namespace, trace=trace,
        )  # fmt: skip
    return Assignment(
        execution=state.id, run=run.id, step=step, playbook=digest, chunk=chunk_id, width=_width(plan, run, chunk),
        delivery=chunk.delivery, scope=_scope(plan, state, run, everything=everything),
        iterations=iterations(program, run, chunk.paths, shelf), more=goes_on(plan, run, chunk),
        total=level_at(run.loop, (*chunk.at, 0)).total if run.loop else 0, compensate=bool(run.compensates),
        readable=readable, namespace=state.namespace, trace=trace,
    )  # fmt: skip


def iterations(
    program: Program, run: StepRun, paths: list[tuple[int, ...]], shelf: Shelf | None = None
) -> list[Iteration]:
    """Return iterations of one list as a worker gets them.

    Items of a long list are references, each larger than many an item is. Where those are no larger, and at hand
    anyway, they go themselves: nobody has to read them again.
    """

    def near(count: int, reference: dict[str, Any]) -> Any:
        if shelf is None or reference["size"] > count * SMALL_ITEM or not shelf.has(reference):
            return None
        return shelf(reference)

    if not paths:
        return []
    data = iters_data(program.plan_of(run), run, paths, near)
    return list(map(Iteration, paths, data))


def _width(plan: StepPlan, run: StepRun, chunk: Chunk) -> int:
    """Return how many iterations of a chunk may run at once: a local loop has all of them in one."""
    if plan.loop is None or run.loop is None:
        return 1
    if plan.loop.loop.spec.policy.exec != "local":
        return 1
    return level_at(run.loop, (*chunk.at, 0)).max_in_flight


def _scope(plan: StepPlan, state: State, run: StepRun, *, everything: bool) -> dict[str, Any]:
    """Return the names that the templates of a step's tasks may read."""
    wanted = plan.result_reads
    results = {}
    if wanted or everything:
        anything = everything or _ANY in wanted
        results = {
            step: activation.done.result
            for step, activation in {**state.latest, **run.seen}.items()
            if activation.done is not None and (anything or step in wanted)
        }
    names: dict[str, Any] = {
        "workload": state.workload,
        "execution": execution_data(state),
        "ctx": state.ctx,
        "args": run.args,
        "step": {step: {"result": result} for step, result in results.items()} if results else {},
    }
    if results:  # a name of ours goes before that of a step
        names = {**results, **names}
    if plan.reads_time:
        names[NOW] = run.started_at
    branch = run.within
    if run.stack:
        branch = branch_data(state, view_of(state, run))
    if branch is not None:
        names["branch"] = branch
    return names
