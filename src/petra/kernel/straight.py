"""Straight on: what most reports come to, decided in one go.

A success of a step that leads one way starts the next step, or waits at its join for other branches. Nothing else can have
become enabled by it, so there is no turn to settle.

Rule 1: what is decided here is what a turn would decide, event for event; where that is not certain, the turn decides.
Rule 2: what depends on the playbook alone was asked when it was compiled (``StepPlan.onto``). What depends on the state is asked
before anything is changed.
"""

from __future__ import annotations

from msgspec import UNSET

from petra.kernel import events as e
from petra.kernel.commands import StepReport
from petra.kernel.effects import AnyEffect, Assign
from petra.kernel.evolve import evolve
from petra.kernel.objects import excess
from petra.kernel.program import Program, StepPlan
from petra.kernel.state import Stack, State, StepRun, derived

Straight = tuple[list[e.AnyEvent], list[AnyEffect], list[tuple[int, int]]]
"""The events, the effects and the markings of a decision."""


def onward(program: Program, state: State, command: StepReport) -> Straight | None:
    """Decide about a report, if it is one that leads straight on."""
    run = state.runs.get(command.run)
    if run is None or run.delivery != command.delivery:
        return None
    plan = program.steps.get(run.step)
    after = plan.onto if plan is not None else None
    if plan is None or after is None or not _is_calm(state, run):
        return None
    report, stack, joins = command.report, run.stack, after.join is not None
    if (
        report.status != "ok"
        or report.writes
        or report.branch is not UNSET
        or excess(report.result, program.payload_max)
        or (stack and not _is_alone(program, state, stack))
        or (joins and not _is_waited_for(state, stack, after))
    ):
        return None
    number = plan.arcs[0].number
    token = derived(f"{run.id}\0{number}\0000")
    arrives = stack[-1].group if joins else None
    done = e.StepDone(
        run=run.id,
        step=run.step,
        result=report.result,
        has_result=report.result is not None,
        attempts=report.attempts,
        arcs=[number],
        produced=[e.Produced(id=token, step=after.name, arc=number, arrives=arrives)],
        undoable=plan.undoable,
        left_out=report.left_out,
    )
    now, was = max(command.now, state.now), state.marking
    evolve(state, done, seq=state.seq + 1, at=now)
    between = state.marking
    if joins:
        return [done], [], [(was, between)]
    begun = e.StepStarted(run=derived(f"run\0{token}"), step=after.name, consumed=[token])
    evolve(state, begun, seq=state.seq + 1, at=now)
    return [done, begun], [Assign(run=begun.run)], [(was, between), (between, state.marking)]


def _is_calm(state: State, run: StepRun) -> bool:
    """Whether nothing but the report is to be decided about, and its run is like any other of its step."""
    return (
        state.phase == "normal"
        and not (state.due or state.paused or state.items)
        and state.permits is None
        and not (run.incident or run.merged or run.began is not None)
    )


def _is_alone(program: Program, state: State, stack: Stack) -> bool:
    """Whether nothing that happens in one branch decides about the groups around it: others are simply on their way."""
    for group_id, _ in stack:
        group = state.groups.get(group_id)
        if group is None or group.fired or group.ended or group.timed_out or group.forced:
            return False
        if group.join is not None:
            join = program.steps.get(group.join)
            if join is None or not join.joins_all or len(group.arrived) >= group.size:
                return False
    return True


def _is_waited_for(state: State, stack: Stack, join: StepPlan) -> bool:
    """Whether a join waits for further branches when this one arrives, some of which run."""
    if not stack or join.join is None:
        return False
    group_id, index = stack[-1]
    group = state.groups[group_id]
    return (
        join.join.of in (None, group.step)
        and group.join in (None, join.name)
        and index not in group.arrived
        and len(group.arrived) + 1 < group.size
        and len(state.runs) - 1 > len(state.incidents)
    )
