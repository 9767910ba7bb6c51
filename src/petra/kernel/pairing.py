"""Joins over arcs: ``arcs`` takes one token per incoming arc, ``or`` what can still come (S8).

Rule 1: ``arcs`` is first in first out; ``or`` waits while a live token upstream could still arrive.
Rule 2: both keep the common prefix of the stacks. Tokens of different outer branches never meet.
Rule 3: a merge goes by branch index if all tokens are of one group, else by arc.
Rule 4: leftovers of ``arcs`` are judged at rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from petra.kernel.admission import DeniedError, passes
from petra.kernel.merge import Output, merge
from petra.kernel.program import Arrow, StepPlan
from petra.kernel.runs import fail_tokens, start
from petra.kernel.state import ReadyToken, Stack
from petra.kernel.turn import TransformError, Turn
from petra.kernel.verdict import joined_args, joined_view
from petra.wire import Error


def outside(turn: Turn, join: str, stack: Stack) -> Stack:
    """Return the levels around a join over arcs: those of fan-outs that it closes end there."""
    closed = turn.program.closed_by[join]
    while stack and (group := turn.state.groups.get(stack[-1].group)) is not None:
        if group.step not in closed:
            break
        stack = stack[:-1]
    return stack


def _apart(turn: Turn, plan: StepPlan) -> dict[Stack, list[ReadyToken]]:
    """Tell the waiting tokens of different outer branches apart: those never meet."""
    by_stack: dict[Stack, list[ReadyToken]] = {}
    for token_id in turn.state.ready_at.get(plan.name, ()):
        token = turn.state.ready[token_id]
        if not token.joined:
            by_stack.setdefault(outside(turn, plan.name, token.stack), []).append(token)
    return by_stack


def _heads(tokens: Sequence[ReadyToken]) -> dict[Arrow, ReadyToken]:
    """Return the first token of each arc."""
    queues: dict[Arrow, ReadyToken] = {}
    for token in tokens:
        if token.arrow is not None:
            queues.setdefault(token.arrow, token)
    return queues


def pair_arcs(turn: Turn, plan: StepPlan) -> None:
    """Fire a Petri join while every incoming arc has a token."""
    before = -1
    while before != turn.state.seq and plan.incoming:
        before = turn.state.seq
        for stack, waiting in _apart(turn, plan).items():
            queues = _heads(waiting)
            if len(queues) == len(plan.incoming):
                _fire(turn, plan, [queues[arrow] for arrow in plan.incoming], stack)
                if turn.state.seq != before:
                    break


def judge_or(turn: Turn, *, at_rest: bool) -> bool:
    """Fire an ``or`` join that no live token can still reach; True when one fired.

    At rest, two that wait for each other are told apart by the order in which they are written.
    """
    for name, upstream in turn.program.upstream.items():
        plan = turn.plan(name)
        for stack, tokens in _apart(turn, plan).items():
            if any(_may_come(turn, step, name, stack, at_rest=at_rest) for step in upstream):
                continue
            before = turn.state.seq
            _fire(turn, plan, _by_arc(plan, tokens), stack)
            if turn.state.seq != before:
                return True
    return False


def _by_arc(plan: StepPlan, tokens: Sequence[ReadyToken]) -> list[ReadyToken]:
    return sorted(tokens, key=lambda token: (_position(plan, token), token.since))


def _position(plan: StepPlan, token: ReadyToken) -> int:
    return plan.incoming.index(token.arrow) if token.arrow in plan.incoming else 0


def _outputs(
    turn: Turn, plan: StepPlan, tokens: Sequence[ReadyToken], stack: Stack
) -> list[Output]:
    """Return what the tokens bring, by branch index if all are of one group, else by arc."""
    depth = len(stack)
    levels = [token.stack[depth] if len(token.stack) > depth else None for token in tokens]
    of_one_group = len({level.group if level is not None else None for level in levels}) == 1
    came = sorted(tokens, key=lambda token: token.since)
    outputs = []
    for token, level in zip(tokens, levels, strict=True):
        key = level.branch if of_one_group and level is not None else _position(plan, token)
        output = token.output
        group = turn.state.groups.get(level.group) if level is not None else None
        if group is not None and level is not None:
            output = group.overrides.get(level.branch, output)
        outputs.append(Output(key, output, came.index(token)))
    return outputs


def _fire(turn: Turn, plan: StepPlan, tokens: list[ReadyToken], stack: Stack) -> None:
    """Fire a join with tokens of several arcs, or fail its step with them."""
    assert plan.join is not None
    try:
        if passes(turn, plan, tokens, joined_view(turn, tokens, stack, None)):
            write = merge(turn, plan.join.merge, _outputs(turn, plan, tokens, stack))
            start(turn, plan, tokens, stack=stack, args=joined_args(tokens), merge=write)
    except (TransformError, DeniedError) as error:
        fail_tokens(turn, plan, tokens, error.error, stack=stack)


def fire_by_hand(turn: Turn, plan: StepPlan, token: ReadyToken, words: str) -> bool:
    """Let an operator fire a join over arcs with what waits beside a token."""
    assert plan.join is not None
    stack = outside(turn, plan.name, token.stack)
    waiting = _by_arc(plan, _apart(turn, plan)[stack])
    heads = list(_heads(waiting).values()) if plan.join.mode == "arcs" else []
    tokens = heads or waiting
    try:
        write = merge(turn, plan.join.merge, _outputs(turn, plan, tokens, stack))
    except TransformError:
        write = None
    args = joined_args(tokens)
    start(turn, plan, tokens, stack=stack, args=args, merge=write, administrative=words, go=False)
    return True


def _may_come(turn: Turn, step: str, join: str, stack: Stack, *, at_rest: bool) -> bool:
    """Whether something of the same outer branch lives at a step from where it can reach the join."""
    state = turn.state
    if any(_is_inside(turn, state.runs[run].stack, stack) for run in state.runs_at.get(step, ())):
        return True
    other = turn.plan(step).join
    if other is not None and any(
        group.decides and group.join == step and _is_inside(turn, group.stack, stack)
        for group in state.groups.values()
    ):
        return True
    tokens = (state.ready[token] for token in state.ready_at.get(step, ()))
    if not any(_is_inside(turn, token.stack, stack) for token in tokens):
        return False
    # a token that waits at another or-join is held up by this one as much as the other way round
    return not (at_rest and other is not None and other.mode == "or" and step != join)


def _is_inside(turn: Turn, stack: Stack, outer: Stack) -> bool:
    """Whether something is in the same outer branch, and was not left behind by a join inside it."""
    depth, groups = len(outer), turn.state.groups
    return stack[:depth] == outer and not any(
        level.group in groups and groups[level.group].fired for level in stack[depth:]
    )


def leftover_arcs(turn: Turn) -> bool:
    """At rest, judge tokens that wait at a Petri join for partners that cannot come; True when one moved."""
    for plan in turn.program.steps.values():
        if plan.join is None or plan.join.mode != "arcs" or plan.join.on_unreachable == "wait":
            continue
        for stack, tokens in _apart(turn, plan).items():
            before = turn.state.seq
            if len(_heads(tokens)) == len(plan.incoming):
                continue  # it is complete: something else holds it back
            if plan.join.on_unreachable == "proceed":
                _fire(turn, plan, _by_arc(plan, tokens), stack)
            else:
                fail_tokens(turn, plan, tokens, _missing(plan, tokens), stack=stack)
            if turn.state.seq != before:
                return True
    return False


def _missing(plan: StepPlan, tokens: Sequence[ReadyToken]) -> Error:
    present = {token.arrow for token in tokens}
    missing = [step for step, number in plan.incoming if (step, number) not in present]
    sources = ", ".join(missing) or "an arc"
    message = f"join '{plan.name}' cannot complete: no token came from {sources}"
    return Error(kind="limit", code="join.unreachable", message=message)
