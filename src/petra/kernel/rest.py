"""Rest: what an execution waits for when nothing is enabled and nothing is in flight (S11).

| class | reason | when |
|---|---|---|
| waiting | human | an open work item |
| waiting | signal | a wait for a signal |
| waiting | child | a sub-playbook |
| waiting | timer | a timer that belongs to a wait or a retry |
| waiting | limit | nothing fires before a limit that it shares with others lets it in |
| waiting | resource | a token waits for a resource of the server |
| waiting | gate | a waiting token whose rule reads ctx: an operator may patch it |
| stuck | incident | five deliveries of one run were lost, or something cannot be stored |
| stuck | join | a join that cannot complete, and policy says wait |
| stuck | starved | a gate that reads no ctx and whose inputs can change no more |
| stuck | deadlock | gates that wait for each other, and the rest |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from petra.kernel.permit_state import limit_in_words
from petra.kernel.program import Program, StepPlan
from petra.kernel.state import Chunk, Group, ReadyToken, State, StepRun
from petra.kernel.timetable import sentence
from petra.kernel.turn import TransformError, Turn
from petra.kernel.verdict import verdict
from petra.kernel.waiting import Awaited

ORDER = ("human", "signal", "child", "timer")
"""What runs wait for, by what is said first; gates come after them."""


class WhyAtRest(Struct, frozen=True):
    """A class of rest with its reason, and the token or run that shows it."""

    status: str
    reason: str
    message: str
    token: str = ""
    child: str = ""


def is_held_back(state: State) -> bool:
    """Whether nothing fires, because a limit that the execution shares with others lets it wait (S15)."""
    return state.permits is not None and state.permits.held_back and state.phase == "normal"


def in_flight(program: Program, state: State) -> bool:
    """Whether a worker has something to do."""
    if state.phase == "compensating":
        return len(state.runs) > len(state.incidents)  # nothing else runs meanwhile
    if state.carried:
        return _in_flight_of_two(program, state)
    busy = len(state.runs)
    if busy:
        for name in program.served:
            busy -= len(state.runs_at.get(name, ()))
        for run_id in state.incidents:
            busy -= program.steps[state.runs[run_id].step].mode in ("worker", "router")
    return busy > 0


def _in_flight_of_two(program: Program, state: State) -> bool:
    """The same where some runs go by an earlier definition, in which their step may be of another kind."""
    return any(
        not run.incident and program.plan_of(run).mode in ("worker", "router")
        for run in state.runs.values()
    )


def rest_of(program: Program, state: State) -> WhyAtRest | None:
    """Return the class of rest, or None while something is in flight."""
    if state.terminal:
        return WhyAtRest(state.terminal, state.terminal, state.reason)
    if is_held_back(state):
        return _its_turn(state)
    if in_flight(program, state):
        return None
    if state.trouble:
        return WhyAtRest("stuck", "incident", state.trouble)
    if state.timetable is not None:
        return WhyAtRest("waiting", "timer", sentence(state.timetable), next(iter(state.runs), ""))
    for reason in ORDER:
        places = state.waiting.get(reason)
        if places:
            return _waits(state, reason, next(iter(places)))
    return _its_turn(state) or _rest_of_tokens(program, state)


def _rest_of_tokens(program: Program, state: State) -> WhyAtRest:
    """Return the class of rest of tokens that nothing but a gate or a join can hold."""
    if state.limits:
        return WhyAtRest("waiting", "timer", "a time limit decides next")
    groups = _undecided(program, state)
    for plan in program.gates:
        held = _at_gate(state, plan, groups.get(plan.name, ()))
        if held is not None:
            return _gate(plan, held)
    return _stuck(program, state, groups)


def _its_turn(state: State) -> WhyAtRest | None:
    """Say which limit is waited for, of the execution or of a step of it."""
    first = next(state.permits.waiting(), None) if state.permits is not None else None
    if first is None:
        return None
    limit = limit_in_words(first.wanted)
    if first.blocks:
        return WhyAtRest("waiting", "limit", f"it waits for its turn at {limit}")
    words = f"step '{first.wanted.step}' waits for {limit}"
    return WhyAtRest("waiting", "resource", words, first.wanted.token)


def _waits(state: State, reason: str, place: str) -> WhyAtRest:
    run = state.runs[place.partition("/")[0]]
    for wait in waits_of(run):
        if wait.reason == reason:
            return wait
    return WhyAtRest("waiting", reason, f"step '{run.step}' will be tried again", run.id)


def waits_of(run: StepRun) -> list[WhyAtRest]:
    """Return what a run of the server's own waits for."""
    if run.incident:
        return []
    holders: list[StepRun | Chunk] = [run, *run.chunks.values()]
    waits = []
    for holder in holders:
        if holder.child:
            words = f"step '{run.step}' waits for its sub-playbook"
            waits.append(WhyAtRest("waiting", "child", words, run.id, holder.child))
        waits += [
            WhyAtRest(
                "waiting",
                wait.kind,
                f"step '{run.step}' waits for {what(wait)}",
                run.id,
            )
            for wait in holder.waits
        ]
    if run.retrying:
        waits.append(
            WhyAtRest("waiting", "timer", f"step '{run.step}' will be tried again", run.id)
        )
    return waits


def what(wait: Awaited) -> str:
    """Say what a run waits for: of a signal, its name and its key."""
    if wait.kind != "signal":
        return {"human": "a person", "timer": "time to pass"}[wait.kind]
    key = "" if wait.key is None else f" with key '{wait.key}'"
    return f"signal '{wait.name}'{key}"


Undecided = dict[str, list[tuple[Group, str]]]
"""By join: the groups it has not decided about, each with its verdict."""


def _undecided(program: Program, state: State) -> Undecided:
    turn, undecided = Turn(program, state, state.now), Undecided()
    for group in state.groups.values():
        if not group.decides or group.join is None:
            continue
        try:
            word: str = verdict(turn, program.steps[group.join], group).word
        except TransformError:
            word = "wait"
        undecided.setdefault(group.join, []).append((group, word))
    return undecided


def _at_gate(state: State, plan: StepPlan, groups: Sequence[tuple[Group, str]]) -> str | None:
    """Return what the gate of a step holds, or the condition of its join until something changes in ctx."""
    wanted = {
        "fire" if plan.rules and plan.reads.ctx else "",
        "wait" if plan.join_reads.ctx else "",
    }
    for group, word in groups:
        if word in wanted:
            return next(iter(group.arrived.values()), group.id)
    return _token_at_gate(state, plan) if plan.rules and plan.reads.ctx else None


def _token_at_gate(state: State, plan: StepPlan) -> str | None:
    """Return a token that only the gate of its step holds: no join, or one that would let it pass."""
    waiting = state.ready_at.get(plan.name, {})
    if plan.join is None:
        return next(iter(waiting), None)
    if plan.pairs_arcs and (plan.join.mode == "or" or _is_paired(state, plan)):
        return next(iter(waiting), None)
    for token_id in waiting:
        token = state.ready[token_id]
        if token.joined or (not token.group and not _arrived(state, token)):
            return token_id if token.joined or not plan.pairs_arcs else None
    return None


def _arrived(state: State, token: ReadyToken) -> bool:
    """Whether a token is the arrival of a branch."""
    return any(
        group.arrived.get(level.branch) == token.id
        for level in token.stack
        if (group := state.groups.get(level.group)) is not None
    )


def _is_paired(state: State, plan: StepPlan) -> bool:
    """Whether a token waits on every arc into a step."""
    arrows = {state.ready[token].arrow for token in state.ready_at.get(plan.name, ())}
    return arrows.issuperset(plan.incoming)


def _gate(plan: StepPlan, token: str) -> WhyAtRest:
    if plan.join_reads.ctx:
        return WhyAtRest(
            "waiting", "gate", f"the join '{plan.name}' waits for its condition", token
        )
    return WhyAtRest("waiting", "gate", f"a token waits to be admitted to '{plan.name}'", token)


def _stuck(program: Program, state: State, groups: Undecided) -> WhyAtRest:
    for run_id in state.incidents:
        message = f"step '{state.runs[run_id].step}': {state.incidents[run_id]}"
        return WhyAtRest("stuck", "incident", message, run_id)
    first = _first_waiting(state)
    for name, holder in _cannot_complete(program, state, first, groups):
        return WhyAtRest("stuck", "join", f"the join '{name}' can no longer complete", holder)
    waiting = [*dict.fromkeys((*(token.step for token in first), *groups))]
    for name in waiting:
        plan = program.steps[name]
        held = _held_by_gate(state, plan, groups.get(name, [])) if plan.rules else None
        if held is not None and not _others_wait(program, plan, waiting):
            message = f"the gate of '{name}' cannot turn true any more"
            return WhyAtRest("stuck", "starved", message, held)
    shown = first[0].id if first else ""
    return WhyAtRest(
        "stuck", "deadlock", f"these wait for each other: {', '.join(sorted(waiting))}", shown
    )


def _held_by_gate(state: State, plan: StepPlan, groups: list[tuple[Group, str]]) -> str | None:
    fires = (
        next(iter(group.arrived.values()), group.id) for group, word in groups if word == "fire"
    )
    return next(fires, None) or _token_at_gate(state, plan)


def _cannot_complete(
    program: Program, state: State, first: list[ReadyToken], groups: Undecided
) -> Iterator[tuple[str, str]]:
    """Yield the joins that cannot complete and whose policy says wait."""
    for name, undecided in groups.items():
        for group, word in undecided:
            if word == "stuck":
                yield name, next(iter(group.arrived.values()), group.id)
    for token in first:
        plan = program.steps[token.step]
        paired = plan.rules and _is_paired(state, plan)
        if plan.pairs_arcs and not token.joined and not paired:
            yield plan.name, token.id


def _first_waiting(state: State) -> list[ReadyToken]:
    """Return the first token that waits at each step, in order of arrival."""
    tokens = [state.ready[next(iter(at))] for at in state.ready_at.values() if at]
    return sorted(tokens, key=lambda token: token.arrival)


def _others_wait(program: Program, plan: StepPlan, waiting: list[str]) -> bool:
    """Whether a step that this gate reads is itself held up at a gate, so that they wait in a circle."""
    read = plan.reads.steps
    return any(
        step in read or program.downstream[step] & read for step in waiting if step != plan.name
    )
