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

from collections.abc import Iterator
from dataclasses import dataclass

from petra.kernel.program import Program, StepPlan
from petra.kernel.state import Chunk, Group, Run, State, Token
from petra.kernel.turn import TransformError, Turn
from petra.kernel.verdict import verdict

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
    steps = program.steps
    for run in state.runs.values():
        if not run.incident and (run.compensates or steps[run.step].mode in ("worker", "router")):
            return True
    return False


def rest_of(program: Program, state: State) -> Rest | None:
    """Return the class of rest, or None while something is in flight."""
    if state.terminal:
        return Rest(state.terminal, state.terminal, state.reason)
    if in_flight(program, state):
        return None
    waiting = [found for run in state.runs.values() for found in waits_of(run)]
    if any(timer.kind in ("join", "lifecycle", "deadline") for timer in state.timers.values()):
        waiting.append(Rest("waiting", "timer", "a time limit decides next"))
    at_gates = list(_at_gates(program, state))
    waiting += [_gate(plan, holder) for plan, holder in at_gates if plan.reads.ctx]
    waiting += [_gate(plan, group) for plan, group in _conditions(program, state)]
    for reason in ORDER:
        for found in waiting:
            if found.reason == reason:
                return found
    return _stuck(program, state, at_gates)


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


def _gate(plan: StepPlan, holder: Token | Group) -> Rest:
    if isinstance(holder, Group) and plan.join_reads.ctx:
        sentence = f"the join '{plan.name}' waits for its condition"
    else:
        sentence = f"a token waits to be admitted to '{plan.name}'"
    return Rest("waiting", "gate", sentence, holder.id)


def word_of(program: Program, state: State, group: Group) -> str:
    """Return the verdict on a group that is undecided."""
    plan = program.steps[group.join or ""]
    try:
        return verdict(Turn(program, state, state.now), plan, group).word
    except TransformError:
        return "wait"


def _at_gates(program: Program, state: State) -> Iterator[tuple[StepPlan, Token | Group]]:
    """Yield the tokens, and the groups that could fire their join, that a gate holds back."""
    inside = {
        token
        for group in state.groups.values()
        if group.decides
        for token in group.arrived.values()
    }
    for token in state.ready.values():
        plan = program.steps[token.step]
        if not plan.rules or token.id in inside or token.group:
            continue
        if token.joined or plan.join is None or plan.join.mode != "arcs" or _is_paired(state, plan):
            yield plan, token
    for group in state.groups.values():
        plan = program.steps[group.join or group.step]
        if group.decides and plan.rules and word_of(program, state, group) == "fire":
            yield plan, group


def _is_paired(state: State, plan: StepPlan) -> bool:
    """Whether a token waits on every arc into a step."""
    arrows = {state.ready[token].arrow for token in state.ready_at.get(plan.name, ())}
    return arrows.issuperset(plan.incoming)


def _conditions(program: Program, state: State) -> Iterator[tuple[StepPlan, Group]]:
    """Yield the groups whose join has a condition over ctx that does not hold."""
    for group in state.groups.values():
        plan = program.steps[group.join or group.step]
        if group.decides and plan.join_reads.ctx and word_of(program, state, group) == "wait":
            yield plan, group


def _stuck(program: Program, state: State, at_gates: list[tuple[StepPlan, Token | Group]]) -> Rest:
    for run in state.runs.values():
        if run.incident:
            return Rest(
                "stuck",
                "incident",
                f"five deliveries of a run of step '{run.step}' were lost",
                run.id,
            )
    for name, holder in _cannot_complete(program, state):
        return Rest("stuck", "join", f"the join '{name}' can no longer complete", holder)
    for plan, waits in at_gates:
        if not _others_wait(program, state, plan):
            sentence = f"the gate of '{plan.name}' cannot turn true any more"
            return Rest("stuck", "starved", sentence, waits.id)
    names = ", ".join(sorted(_held_up(state)))
    first = next(iter(state.ready), "")
    return Rest("stuck", "deadlock", f"these wait for each other: {names}", first)


def _cannot_complete(program: Program, state: State) -> Iterator[tuple[str, str]]:
    """Yield the joins that cannot complete and whose policy says wait."""
    for group in state.groups.values():
        if group.decides and word_of(program, state, group) == "stuck":
            first = next(iter(group.arrived.values()), group.id)
            yield group.join or "", first
    for token in state.ready.values():
        plan = program.steps[token.step]
        if plan.pairs_arcs and not token.joined and not (plan.rules and _is_paired(state, plan)):
            yield plan.name, token.id


def _held_up(state: State) -> set[str]:
    waiting = {token.step for token in state.ready.values()}
    return waiting | {group.join or "" for group in state.groups.values() if group.decides}


def _others_wait(program: Program, state: State, plan: StepPlan) -> bool:
    """Whether a step that this gate reads is itself held up at a gate, so that they wait in a circle."""
    waiting = _held_up(state)
    read = plan.reads.steps
    return any(
        step in read or program.downstream[step] & read for step in waiting if step != plan.name
    )
