"""Running a case: time passes, and the expectations are checked one by one (S21)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import UNSET

from petra.errors import PetraError
from petra.kernel import events as e
from petra.kernel.explain import explain
from petra.testing.simulation import EPOCH, Execution, Simulation
from petra.testing.story import event_in_words
from petra.testing.suite import Case
from petra.testing.words import Expect
from petra.testing.world import World
from petra.values import canonical

ArcName = tuple[str, str, int]
"""An arc: the playbook it belongs to, its step and its position."""
STORY = "  what happened:"
"""The line of a message after which the story begins."""


@dataclass(slots=True)
class CaseResult:
    """What came of a case."""

    case: Case
    result: Literal["passed", "failed", "error"]
    message: str = ""
    """What was expected, and what came instead; or what is wrong with the test."""
    simulation: Simulation | None = field(default=None, repr=False)
    """The world after the case: its executions, logs and values."""
    arcs: set[ArcName] = field(default_factory=set)
    """The arcs that were taken: playbook, step, number."""


def run_case(case: Case, *, seed: int | None = None, selection: str | None = None) -> CaseResult:
    """Run one case; a failed expectation is a failure, a wrong test an error.

    ``seed`` and ``selection`` stand in for those of the case and of the playbook: other orders, the same expectations.
    """
    assert case.playbook.playbook is not None
    simulation = Simulation(
        case.playbook.playbook,
        library=case.library,
        beside=case.beside,
        tools=case.tools,
        seed=case.seed if seed is None else seed,
        selection=selection,
    )
    world = World(simulation, case.world)
    try:
        simulation.start(case.workload)
        simulation.run(until=EPOCH + case.stop_at_s if case.stop_at_s is not None else None)
    except PetraError as error:
        return CaseResult(case, "error", str(error), simulation)
    faults = list(_faults(simulation, case.expect))
    faults += [f"the world: {refusal}" for refusal in world.refusals] if faults else []
    arcs = taken_arcs(simulation)
    if not faults:
        return CaseResult(case, "passed", "", simulation, arcs)
    return CaseResult(case, "failed", "\n".join([*faults, _story(simulation)]), simulation, arcs)


def taken_arcs(simulation: Simulation) -> set[ArcName]:
    """Return the arcs that carried a token."""
    return {
        (execution.program.playbook.metadata.name, record.event.step, number)
        for execution in simulation.executions.values()
        for record in execution.log
        if isinstance(record.event, e.StepEnded)
        for number in record.event.arcs
    }


# Expectations


def _faults(simulation: Simulation, expect: Expect) -> Iterable[str]:
    """Yield what is not as expected."""
    root = simulation.root
    status, reason = simulation.status()
    yield from _same("status", expect.status, status)
    yield from _same("waiting_on", expect.waiting_on, reason)
    if not _is_unset(expect.output):
        yield from _same("output", expect.output, simulation.output, given=True)
    ctx = simulation.ctx
    for key, value in (expect.ctx or {}).items():
        if key not in ctx:
            yield f"ctx.{key}: expected {_shown(value)}, and it was never written"
        else:
            yield from _same(f"ctx.{key}", value, ctx[key], given=True)
    yield from _same("done", expect.done, done_steps(root))
    yield from _counts(simulation, expect)
    if expect.cancelled is not None:
        yield from _same("cancelled", sorted(set(expect.cancelled)), sorted(cancelled_steps(root)))
    yield from _error(simulation, expect)
    if expect.elapsed_s is not None and abs(simulation.elapsed_s - expect.elapsed_s) > 1:
        yield f"elapsed_s: expected {expect.elapsed_s:g}, got {simulation.elapsed_s:g}"


def _counts(simulation: Simulation, expect: Expect) -> Iterable[str]:
    """Yield what was started too often or too seldom; ``path:step`` speaks of all executions of a sub-playbook."""
    for name, number in (expect.runs or {}).items():
        executions, step = simulation.named(name)
        started = sum(started_steps(execution).count(step) for execution in executions)
        yield from _same(f"runs of '{name}'", number, started)
    for name, number in (expect.attempts or {}).items():
        executions, step = simulation.named(name)
        tried = sum(attempts(simulation, execution, step) for execution in executions)
        yield from _same(f"attempts of '{name}'", number, tried)
    for name in expect.never or ():
        executions, step = simulation.named(name)
        if any(step in started_steps(execution) for execution in executions):
            yield f"step '{name}' was started and never should be"


def _is_unset(value: Any) -> bool:
    return value is UNSET


def _same(what: str, expected: Any, got: Any, *, given: bool = False) -> Iterable[str]:
    if expected is None and not given:
        return
    if canonical(_floats(expected)) != canonical(_floats(got)):
        yield f"{what}: expected {_shown(expected)}, got {_shown(got)}"


def _floats(value: Any) -> Any:
    """Let 3 and 3.0 be the same number, as in JSON."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_floats(item) for item in value]
    return value


def _shown(value: Any) -> str:
    text = canonical(value).decode()
    return text if len(text) <= 300 else text[:299] + "…"


def done_steps(execution: Execution) -> list[str]:
    """Return every done activation in order of completion; compensations do not count."""
    return [
        record.event.step
        for record in execution.log
        if isinstance(record.event, e.StepDone | e.LoopDone)
        and not _is_undo(execution, record.event.run)
    ]


def started_steps(execution: Execution) -> list[str]:
    """Return the step of every activation that was started; compensations do not count."""
    return [
        record.event.step
        for record in execution.log
        if isinstance(record.event, e.StepStarted) and not record.event.compensates
    ]


def _is_undo(execution: Execution, run: str) -> bool:
    return any(
        isinstance(record.event, e.StepStarted)
        and record.event.run == run
        and bool(record.event.compensates)
        for record in execution.log
    )


def cancelled_steps(execution: Execution) -> set[str]:
    """Return the steps with a started activation that was withdrawn or stopped."""
    steps = {
        record.event.run: record.event.step
        for record in execution.log
        if isinstance(record.event, e.StepStarted)
    }
    withdrawn = [
        run
        for record in execution.log
        if isinstance(record.event, e.Withdrawn)
        for run in record.event.runs
    ]
    withdrawn += [
        record.event.run for record in execution.log if isinstance(record.event, e.RunReturned)
    ]
    return {steps[run] for run in withdrawn}


def attempts(simulation: Simulation, execution: Execution, step: str) -> int:
    """Count the tries of a step's tasks but noop; an offer to a person is one."""
    on_workers = simulation.attempts.get((execution.id, step), 0)
    runs = {
        r.event.run
        for r in execution.log
        if isinstance(r.event, e.StepStarted) and r.event.step == step
    }
    on_server = sum(
        1
        for record in execution.log
        if isinstance(record.event, e.StepStarted | e.AttemptStarted | e.IterationsStarted)
        and record.event.run in runs
        and record.event.armed is not None
    )
    return on_workers + on_server


def _error(simulation: Simulation, expect: Expect) -> Iterable[str]:
    if expect.error is None:
        return
    root = simulation.root
    texts = [root.refused, root.state.stuck, root.state.reason]
    for error in [
        root.state.error,
        *(r.event.error for r in root.log if isinstance(r.event, e.StepEnded)),
    ]:
        if error is not None:
            texts += [error.message, error.kind, str(error.code or "")]
    texts += [str(failure) for failure in root.state.failures]
    if not any(expect.error.lower() in text.lower() for text in texts):
        shown = next((text for text in texts if text), "nothing failed")
        yield f"error: expected a text with {expect.error!r}, got: {shown}"


def _story(simulation: Simulation) -> str:
    """Tell what happened, for somebody who must find out why."""
    lines = [
        f"  {record.at - EPOCH:>8.1f} s  {event_in_words(record.event)}"
        for record in simulation.root.log[-25:]
    ]
    if not simulation.root.state.terminal and not simulation.root.refused:
        lines += [
            f"  {line.sentence}"
            for line in explain(simulation.root.program, simulation.root.state).waiting[:5]
        ]
    return "\n".join([STORY, *lines])
