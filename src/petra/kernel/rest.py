"""Rest: what an execution waits for when nothing is enabled and nothing is in flight (S11).

| class | reason | when |
|---|---|---|
| waiting | human | an open work item |
| waiting | signal | a wait for a signal |
| waiting | child | a sub-playbook |
| waiting | timer | a timer that belongs to a wait or a retry |
| waiting | gate | a waiting token whose rule reads ctx: an operator may patch it |
| stuck | incident | five deliveries of one run were lost |
| stuck | join | a join that cannot complete, and policy says wait |
| stuck | starved | a gate that reads no ctx and whose inputs can change no more |
| stuck | deadlock | gates that wait for each other, and the rest |
"""

from __future__ import annotations

from dataclasses import dataclass

from petra.kernel.program import Program, StepPlan
from petra.kernel.state import Chunk, Run, State, Token

ORDER = ("human", "signal", "child", "timer", "gate")


@dataclass(frozen=True, slots=True)
class Rest:
    """A class of rest with its reason, and the token or run that shows it."""

    status: str
    reason: str
    message: str
    token: str = ""


def in_flight(program: Program, state: State) -> bool:
    """Whether a worker has something to do."""
    plan_of = program.plan_of
    for run in state.runs.values():
        if not run.incident and (run.compensates or plan_of(run).mode in ("worker", "router")):
            return True
    return False


def rest_of(program: Program, state: State) -> Rest | None:
    """Return the class of rest, or None while something is in flight."""
    if state.terminal:
        return Rest(state.terminal, state.terminal, state.reason)
    if in_flight(program, state):
        return None
    waiting = [found for run in state.runs.values() for found in waits_of(run)]
    waiting += [found for token in state.ready.values() if (found := _gate(program, state, token))]
    for reason in ORDER:
        for found in waiting:
            if found.reason == reason:
                return found
    if any(timer.kind in ("join", "lifecycle", "deadline") for timer in state.timers.values()):
        return Rest("waiting", "timer", "a time limit decides next")
    return _stuck(program, state)


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


def _gate(program: Program, state: State, token: Token) -> Rest | None:
    plan = program.steps[token.step]
    if plan.join_reads.ctx:
        return Rest("waiting", "gate", f"the join '{token.step}' waits for its condition", token.id)
    if not plan.rules or not plan.reads.ctx or not _stands_at_gate(state, plan, token):
        return None
    return Rest("waiting", "gate", f"a token waits to be admitted to '{token.step}'", token.id)


def _stands_at_gate(state: State, plan: StepPlan, token: Token) -> bool:
    """Whether it is the gate that holds a token, and not the join in front of it."""
    if plan.join is None:
        return True
    return (
        any(
            group.join == plan.name and not group.fired and group.open == 0
            for group in state.groups.values()
        )
        or not token.stack
    )


def _stuck(program: Program, state: State) -> Rest:
    for run in state.runs.values():
        if run.incident:
            return Rest(
                "stuck",
                "incident",
                f"five deliveries of a run of step '{run.step}' were lost",
                run.id,
            )
    for token in state.ready.values():
        plan = program.steps[token.step]
        if plan.join is not None:
            return Rest(
                "stuck", "join", f"the join '{token.step}' can no longer complete", token.id
            )
    for token in state.ready.values():
        plan = program.steps[token.step]
        if plan.rules and not _others_wait(program, state, plan):
            return Rest(
                "stuck",
                "starved",
                f"the gate of '{token.step}' cannot turn true any more",
                token.id,
            )
    names = ", ".join(sorted({token.step for token in state.ready.values()}))
    first = next(iter(state.ready), "")
    return Rest("stuck", "deadlock", f"these wait for each other: {names}", first)


def _others_wait(program: Program, state: State, plan: StepPlan) -> bool:
    """Whether a step that this gate reads is itself held up at a gate, so that they wait in a circle."""
    waiting = {token.step for token in state.ready.values()}
    read = plan.reads.steps
    return any(
        step in read or program.downstream[step] & read for step in waiting if step != plan.name
    )
