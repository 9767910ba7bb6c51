"""Fan-in: when sibling tokens become one (S8).

Rule 1: a group fires its join once. Counting is per branch index; a further arrival of an index is dropped.
Rule 2: a branch that ended elsewhere, failed or was cancelled cannot arrive. When the condition can no
longer hold, ``on_unreachable`` decides at once.
Rule 3: the merge takes outputs in index order, whatever the order of arrival (``last_wins`` apart).
Rule 4: after the join fired, ``on_early_complete`` decides about the other branches.
Rule 5: ``arcs`` takes one token per incoming arc, first in first out; ``or`` waits while a live token
upstream could still arrive. Both keep the common prefix of the stacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from petra.kernel import events as e
from petra.kernel.admission import DeniedError, passes, runs_no_more
from petra.kernel.cancel import leave_others
from petra.kernel.ctx import accepted
from petra.kernel.program import StepPlan
from petra.kernel.routing import closed_level
from petra.kernel.runs import fail_tokens, start
from petra.kernel.scope import view_of, whole
from petra.kernel.state import Branch, Group, Stack, Token
from petra.kernel.turn import TransformError, Turn
from petra.playbook.model import Merge
from petra.wire import Error, Write


def arrive(turn: Turn, plan: StepPlan, token: Token) -> None:
    """Consider a token that stands at a join."""
    join = plan.join
    assert join is not None
    if token.empty:
        _fire_alone(turn, plan, token, {})
        return
    if join.mode == "arcs":
        pair_arcs(turn, plan)
        return
    if join.mode == "or":
        return  # judged when nothing else can move
    level = closed_level(turn, plan.name, token.stack)
    if level is None:
        _fire_alone(turn, plan, token, {0: token.output})
        return
    group = turn.state.groups[level.group]
    if group.arrived.get(level.branch) == token.id:
        turn.judged.append(group.id)
    elif group.fired:
        _late(turn, plan, group, level, token)
    elif group.join != plan.name:
        turn.emit(e.TokenDiscarded(token=token.id, reason=f"the group is closed by '{group.join}'"))
    else:
        turn.emit(
            e.TokenDiscarded(token=token.id, reason=f"branch {level.branch} has arrived before")
        )


def _late(turn: Turn, plan: StepPlan, group: Group, level: Branch, token: Token) -> None:
    merge = None
    assert plan.join is not None
    spec = plan.join.merge
    lets = plan.join.on_early_complete == "allow_late_merge"
    may_merge = lets and level.branch not in group.arrived
    if may_merge and spec is not None:
        outputs = {**group.outputs, level.branch: group.overrides.get(level.branch, token.output)}
        merge = _late_merge(turn, spec, outputs, [*group.order, level.branch], group.stack)
    turn.emit(
        e.TokenDiscarded(
            token=token.id,
            reason="the join has fired",
            group=group.id,
            index=level.branch,
            merge=merge,
        )
    )


def _late_merge(
    turn: Turn, spec: Merge, outputs: dict[int, Any], order: list[int], stack: Stack
) -> Write | None:
    """Merge again; an output that does not fit, or a conflict, leaves the merge as it was."""
    try:
        merge = Write(key=spec.into, value=merged(turn, spec, outputs, order))
    except TransformError:
        return None
    writes, broken = accepted(turn, [merge], stack)
    return writes[0] if broken is None else None


# Groups


def judge(turn: Turn, group_id: str) -> None:
    """Fire the join of a group, or find that it cannot fire any more."""
    group = turn.state.groups.get(group_id)
    if group is None or group.fired or group.join is None or turn.state.phase != "normal":
        return
    plan = turn.program.steps[group.join]
    if plan.joins_all and len(group.arrived) < group.size and not (group.ended or group.timed_out):
        return  # the common case: others are still on their way
    if plan.join is None or plan.pairs_arcs or _blocked(turn, plan, group):
        return
    try:
        if _holds(turn, plan, group):
            _fire_group(turn, plan, group)
        elif (why := _unreachable(turn, plan, group)) is not None:
            _cannot(turn, plan, group, why)
    except (TransformError, DeniedError) as error:
        _fail(turn, plan, group, error.error)


def _holds(turn: Turn, plan: StepPlan, group: Group) -> bool:
    assert plan.join is not None
    arrived = len(group.arrived)
    if plan.join_when is not None:
        outputs = [group.outputs[index] for index in sorted(group.arrived)]
        extra = {"arrived": arrived, "total": group.size, "outputs": outputs}
        return turn.holds(plan.join_when, whole(turn.state), extra)
    return group.size > 0 and arrived >= _needed(turn, plan, group)


def _needed(turn: Turn, plan: StepPlan, group: Group) -> int:
    assert plan.join is not None
    if plan.quorum is not None:
        number = turn.render(plan.quorum, whole(turn.state), f"m_of_n of '{plan.name}'")
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            message = f"m_of_n of '{plan.name}' is not a whole number of at least 1"
            raise TransformError(Error(kind="transform", message=message))
        return number
    return 1 if plan.join.mode == "any" else group.size


def _unreachable(turn: Turn, plan: StepPlan, group: Group) -> str | None:
    """Say why the condition can no longer hold, naming the branch and where it ended."""
    if group.timed_out:
        missing = sorted(set(range(group.size)) - set(group.arrived))
        shown = ", ".join(map(str, missing[:5])) + ("…" if len(missing) > 5 else "")
        return f"the time is up and branch {shown} has not arrived" if missing else "the time is up"
    if plan.join_when is not None:
        # a condition that reads ctx can still become true: somebody may patch it
        gone = group.open == 0 and not plan.join_reads.ctx
    else:
        gone = len(group.arrived) + group.open < _needed(turn, plan, group)
    if not gone:
        return None
    ended = [
        f"branch {index} ended at '{where}'" for index, where in sorted(group.ended.items())[:3]
    ]
    return "; ".join(ended) or "no branch is left"


def _blocked(turn: Turn, plan: StepPlan, group: Group) -> bool:
    """Whether an earlier group of a blocking join still has branches on their way."""
    if plan.join is None or not plan.join.blocking:
        return False
    earlier = turn.state.fired_groups.get(plan.name)
    return earlier is not None and earlier != group.id and earlier in turn.state.groups


def _cannot(turn: Turn, plan: StepPlan, group: Group, why: str) -> None:
    assert plan.join is not None
    if plan.join.on_unreachable == "proceed":
        _fire_group(turn, plan, group)
    elif plan.join.on_unreachable == "fail":
        _fail(
            turn,
            plan,
            group,
            Error(kind="limit", code="join.unreachable", message=_sentence(turn, plan, group, why)),
        )


def force(turn: Turn, group: Group) -> None:
    """Fire the join of a group with what has arrived, because an operator says so (WCP-27)."""
    assert group.join is not None
    _fire_group(turn, turn.plan(group.join), group)


def _sentence(turn: Turn, plan: StepPlan, group: Group, why: str) -> str:
    if plan.join_when is not None:
        wanted = f"its condition {plan.join_when.text}"
    elif plan.quorum is not None or (plan.join is not None and plan.join.mode == "any"):
        wanted = f"a quorum of {_needed(turn, plan, group)} of {group.size} branches"
    else:
        wanted = f"all {group.size} branches"
    return f"join '{plan.name}' needs {wanted} and cannot complete: {why}"


def _fail(turn: Turn, plan: StepPlan, group: Group, error: Error) -> None:
    tokens = [turn.state.ready[token] for _, token in sorted(group.arrived.items())]
    leave_others(turn, group, {token.id for token in tokens})
    fail_tokens(turn, plan, tokens, error, group)


def _fire_group(turn: Turn, plan: StepPlan, group: Group) -> None:
    tokens = [turn.state.ready[token] for _, token in sorted(group.arrived.items())]
    if tokens and not passes(turn, plan, tokens, view_of(turn.state, tokens[0]), group):
        return
    if not tokens and runs_no_more(turn, plan):
        leave_others(turn, group, set())
        turn.emit(e.Withdrawn(groups=[group.id], reason="the step runs once", by="join"))
        return
    _fire(turn, plan, tokens, group.stack, group, dict(group.outputs), group.order)


def _fire_alone(turn: Turn, plan: StepPlan, token: Token, outputs: dict[int, Any]) -> None:
    """Fire for a token that closes no group: one that is in none, or stands for an empty one."""
    if passes(turn, plan, [token], view_of(turn.state, token)):
        _fire(turn, plan, [token], token.stack, None, outputs, list(outputs))


def _fire(
    turn: Turn,
    plan: StepPlan,
    tokens: list[Token],
    stack: Stack,
    group: Group | None,
    outputs: dict[int, Any],
    order: list[int],
) -> None:
    assert plan.join is not None
    merge = None
    if plan.join.merge is not None:
        spec = plan.join.merge
        merge = Write(key=spec.into, value=merged(turn, spec, outputs, order))
        writes, error = accepted(turn, [merge], stack)
        if error is not None:
            if group is not None:
                leave_others(turn, group, {token.id for token in tokens})
            fail_tokens(turn, plan, tokens, error, group)
            return
        merge = writes[0]
    args: dict[str, Any] = {}
    for token in tokens:
        args.update(token.args)
    start(turn, plan, tokens, stack=stack, args=args, group=group, merge=merge)


def merged(turn: Turn, spec: Merge, outputs: dict[int, Any], order: list[int]) -> Any:
    """Merge the outputs of the branches (S8); references are looked into only where that is needed."""
    strategy = spec.strategy
    picked = {index: _pick(turn, outputs[index], spec.source) for index in sorted(outputs)}
    match strategy:
        case "append" | "collect":
            return list(picked.values())
        case "extend":
            return [item for output in picked.values() for item in _as_list(turn, output)]
        case "merge_object":
            return {
                key: value
                for output in picked.values()
                for key, value in _as_map(turn, output).items()
            }
        case "keyed_by_branch":
            return {str(index): output for index, output in picked.items()}
        case "last_wins":
            return picked[order[-1]] if order else None


def _pick(turn: Turn, output: Any, source: str | None) -> Any:
    for part in source.split(".") if source else ():
        output = turn.follow(output, "merge.source")
        if isinstance(output, dict):
            output = output.get(part)
        elif isinstance(output, list) and part.isdigit() and int(part) < len(output):
            output = output[int(part)]
        else:
            return None
    return output


def _as_list(turn: Turn, output: Any) -> list[Any]:
    output = turn.follow(output, "merge 'extend'")
    if isinstance(output, list):
        return output
    if output is None:
        return []
    raise TransformError(
        Error(kind="transform", message="merge 'extend' takes outputs that are lists")
    )


def _as_map(turn: Turn, output: Any) -> dict[str, Any]:
    output = turn.follow(output, "merge 'merge_object'")
    if isinstance(output, dict):
        return output
    if output is None:
        return {}
    raise TransformError(
        Error(kind="transform", message="merge 'merge_object' takes outputs that are objects")
    )


# Joins over arcs


def outside(turn: Turn, join: str, stack: Stack) -> Stack:
    """Return the levels around a join over arcs: those of fan-outs that it closes end there."""
    closed = turn.program.closed_by[join]
    while stack and (group := turn.state.groups.get(stack[-1].group)) is not None:
        if group.step not in closed:
            break
        stack = stack[:-1]
    return stack


def _apart(turn: Turn, plan: StepPlan) -> dict[Stack, list[Token]]:
    """Tell the waiting tokens of different outer branches apart: those never meet."""
    found: dict[Stack, list[Token]] = {}
    for token_id in turn.state.ready_at.get(plan.name, ()):
        token = turn.state.ready[token_id]
        found.setdefault(outside(turn, plan.name, token.stack), []).append(token)
    return found


def pair_arcs(turn: Turn, plan: StepPlan) -> None:
    """Fire a Petri join while every incoming arc has a token."""
    before = -1
    while before != turn.state.seq and plan.incoming:
        before = turn.state.seq
        for stack, waiting in _apart(turn, plan).items():
            queues: dict[tuple[str, int], Token] = {}
            for token in waiting:
                if token.arrow is not None:
                    queues.setdefault(token.arrow, token)
            if len(queues) == len(plan.incoming):
                _fire_over_arcs(turn, plan, [queues[arrow] for arrow in plan.incoming], stack)
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
            order = {arrow: index for index, arrow in enumerate(plan.incoming)}
            tokens.sort(key=lambda token: (order.get(token.arrow or ("", 0), 0), token.since))
            before = turn.state.seq
            _fire_over_arcs(turn, plan, tokens, stack)
            if turn.state.seq != before:
                return True
    return False


def _fire_over_arcs(turn: Turn, plan: StepPlan, tokens: list[Token], stack: Stack) -> None:
    """Fire a join with tokens of several arcs, or fail its step with them."""
    outputs = {index: token.output for index, token in enumerate(tokens)}
    view = view_of(turn.state, tokens[0])._replace(stack=stack)
    try:
        if passes(turn, plan, tokens, view):
            _fire(turn, plan, tokens, stack, None, outputs, list(outputs))
    except (TransformError, DeniedError) as error:
        fail_tokens(turn, plan, tokens, error.error)


def _may_come(turn: Turn, step: str, join: str, stack: Stack, *, at_rest: bool) -> bool:
    """Whether a live token of the same outer branch is at a step from where it can reach the join."""
    state, depth = turn.state, len(stack)
    if any(state.runs[run].stack[:depth] == stack for run in state.runs_at.get(step, ())):
        return True
    if not any(state.ready[token].stack[:depth] == stack for token in state.ready_at.get(step, ())):
        return False
    other = turn.plan(step).join
    # a token that waits at another or-join is held up by this one as much as the other way round
    return not (at_rest and other is not None and other.mode == "or" and step != join)


def leftover_arcs(turn: Turn) -> bool:
    """At rest, judge tokens that wait at a Petri join for partners that cannot come; True when one moved."""
    for plan in turn.program.steps.values():
        if plan.join is None or plan.join.mode != "arcs" or plan.join.on_unreachable == "wait":
            continue
        for stack, tokens in _apart(turn, plan).items():
            before = turn.state.seq
            if plan.join.on_unreachable == "proceed":
                _fire_over_arcs(turn, plan, tokens, stack)
            else:
                fail_tokens(turn, plan, tokens, _missing(plan, tokens))
            if turn.state.seq != before:
                return True
    return False


def _missing(plan: StepPlan, tokens: Sequence[Token]) -> Error:
    present = {token.arrow for token in tokens}
    missing = [step for step, number in plan.incoming if (step, number) not in present]
    sources = ", ".join(missing) or "an arc"
    message = f"join '{plan.name}' cannot complete: no token came from {sources}"
    return Error(kind="limit", code="join.unreachable", message=message)
