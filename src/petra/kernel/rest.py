"""Rest: what an execution waits for when nothing is enabled and nothing is in flight (S11).

| class | reason | when |
|---|---|---|
| waiting | human | an open work item |
| waiting | signal | a wait for a signal |
| waiting | child | a sub-playbook |
| waiting | timer | a timer that belongs to a wait or a retry |
| waiting | gate | a waiting token whose rule reads ctx: an operator may patch it |
| stuck | incident | five deliveries of one run were lost, or something cannot be stored |
| stuck | join | a join that cannot complete, and policy says wait |
| stuck | starved | a gate that reads no ctx and whose inputs can change no more |
| stuck | deadlock | gates that wait for each other, and the rest |
"""

from __future__ import annotations

from dataclasses import dataclass

from petra.kernel.program import Program, StepPlan
from petra.kernel.state import Chunk, Run, State, Token

ORDER = ("human", "signal", "child", "timer")
"""What runs wait for, by what is said first; gates come after them."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A class of rest with its reason, and the token or run that shows it."""

    status: str
    reason: str
    message: str
    token: str = ""


def in_flight(program: Program, state: State) -> bool:
    """Whether a worker has something to do."""
    if state.phase == "compensating":
        return len(state.runs) > len(state.incidents)  # nothing else runs meanwhile
    steps, busy = program.steps, len(state.runs)
    for name in program.served:
        busy -= len(state.runs_at.get(name, ()))
    for run_id in state.incidents:
        busy -= steps[state.runs[run_id].step].mode in ("worker", "router")
    return busy > 0


def rest_of(program: Program, state: State) -> Rest | None:
    """Return the class of rest, or None while something is in flight."""
    if state.terminal:
        return Rest(state.terminal, state.terminal, state.reason)
    if in_flight(program, state):
        return None
    if state.trouble:
        return Rest("stuck", "incident", state.trouble)
    for reason in ORDER:
        places = state.waiting.get(reason)
        if places:
            return _waits(state, reason, next(iter(places)))
    for plan in program.gates:
        token = _at_gate(state, plan)
        if token is not None:
            return _gate(plan, token)
    if state.limits:
        return Rest("waiting", "timer", "a time limit decides next")
    return _stuck(program, state)


def _waits(state: State, reason: str, place: str) -> Rest:
    run = state.runs[place.partition("/")[0]]
    for found in waits_of(run):
        if found.reason == reason:
            return found
    return Rest("waiting", reason, f"step '{run.step}' will be tried again", run.id)


def waits_of(run: Run) -> list[Rest]:
    """Return what a run of the server's own waits for."""
    if run.incident:
        return []
    holders: list[Run | Chunk] = [run, *run.chunks.values()]
    found = []
    for holder in holders:
        if holder.child:
            found.append(
                Rest("waiting", "child", f"step '{run.step}' waits for its sub-playbook", run.id)
            )
        found += [
            Rest(
                "waiting",
                wait.kind,
                f"step '{run.step}' waits for {_what(wait.kind, wait.name)}",
                run.id,
            )
            for wait in holder.waits
        ]
    if run.retrying:
        found.append(Rest("waiting", "timer", f"step '{run.step}' will be tried again", run.id))
    return found


def _what(kind: str, name: str) -> str:
    return {"human": "a person", "timer": "time to pass"}.get(kind, f"signal '{name}'")


def _at_gate(state: State, plan: StepPlan) -> str | None:
    """Return a token that the gate of a step holds, or its join until something changes in ctx."""
    waiting = state.ready_at.get(plan.name)
    if not waiting:
        return None
    if plan.join is None or plan.join_reads.ctx:
        return next(iter(waiting))
    # with a join in front of it, the gate holds those that the join would let pass
    passed = any(
        group.join == plan.name and not group.fired and group.open == 0
        for group in state.groups.values()
    )
    if passed:
        return next(iter(waiting))
    return next((token for token in waiting if not state.ready[token].stack), None)


def _gate(plan: StepPlan, token: str) -> Rest:
    if plan.join_reads.ctx:
        return Rest("waiting", "gate", f"the join '{plan.name}' waits for its condition", token)
    return Rest("waiting", "gate", f"a token waits to be admitted to '{plan.name}'", token)


def _stuck(program: Program, state: State) -> Rest:
    for run_id in state.incidents:
        message = f"step '{state.runs[run_id].step}': {state.incidents[run_id]}"
        return Rest("stuck", "incident", message, run_id)
    first = _first_waiting(state)
    for token in first:
        if program.steps[token.step].join is not None:
            message = f"the join '{token.step}' can no longer complete"
            return Rest("stuck", "join", message, token.id)
    for token in first:
        plan = program.steps[token.step]
        if plan.rules and not _others_wait(program, plan, first):
            message = f"the gate of '{token.step}' cannot turn true any more"
            return Rest("stuck", "starved", message, token.id)
    names = ", ".join(sorted(token.step for token in first))
    shown = first[0].id if first else ""
    return Rest("stuck", "deadlock", f"these wait for each other: {names}", shown)


def _first_waiting(state: State) -> list[Token]:
    """Return the first token that waits at each step, in order of arrival."""
    tokens = [state.ready[next(iter(at))] for at in state.ready_at.values() if at]
    return sorted(tokens, key=lambda token: token.arrival)


def _others_wait(program: Program, plan: StepPlan, waiting: list[Token]) -> bool:
    """Whether a step that this gate reads is itself held up at a gate, so that they wait in a circle."""
    read = plan.reads.steps
    return any(
        token.step in read or program.downstream[token.step] & read
        for token in waiting
        if token.step != plan.name
    )
