"""Fan-in: when sibling tokens become one (S8).

Rule 1: a group fires its join once. Counting is per branch index; a further arrival of an index is dropped.
Rule 2: what is to become of a group, its verdict says. A gate belongs to the step: it holds a join back also where
nobody has arrived.
Rule 3: a join that goes on with nobody arrived is the one token of the branch it stands in, in the same decision.
Rule 4: after the join fired, ``on_early_complete`` decides about the other branches. What it leaves running is detached.
"""

from __future__ import annotations

from petra.kernel import events as e
from petra.kernel.admission import DeniedError, passes
from petra.kernel.cancel import leave_others
from petra.kernel.merge import Output, merge, of_group
from petra.kernel.pairing import fire_by_hand, pair_arcs
from petra.kernel.program import StepPlan
from petra.kernel.routing import closed_level
from petra.kernel.runs import fail_tokens, start
from petra.kernel.scope import view_of
from petra.kernel.state import Branch, Group, ReadyToken
from petra.kernel.turn import TransformError, Turn
from petra.kernel.verdict import is_blocked, joined_args, joined_view, verdict, waiting_of
from petra.wire import Error, Write


def arrive(turn: Turn, plan: StepPlan, token: ReadyToken) -> None:
    """Consider a token that stands at a join."""
    join = plan.join
    assert join is not None
    if token.joined or token.empty:
        _alone(turn, plan, token)
        return
    if join.mode == "arcs":
        pair_arcs(turn, plan)
        return
    if join.mode == "or":
        return  # judged when nothing else can move
    if token.stack and _counts(turn, join.of, token):
        return
    level = closed_level(turn, plan.name, token.stack)
    if level is None:
        _fire_alone(turn, plan, token, [Output(0, token.output, 0)])
        return
    group = turn.state.groups[level.group]
    if group.arrived.get(level.branch) == token.id:
        turn.judge(group.id)
    elif group.fired:
        _late(turn, plan, group, level, token)
    elif group.join != plan.name:
        turn.emit(e.TokenDiscarded(token=token.id, reason=f"the group is closed by '{group.join}'"))
    else:
        turn.emit(
            e.TokenDiscarded(token=token.id, reason=f"branch {level.branch} has arrived before")
        )


def _counts(turn: Turn, of: str | None, token: ReadyToken) -> bool:
    """Have the group around a token judged if the token stands for its branch: what most have arrived for."""
    level = token.stack[-1]
    group = turn.state.groups.get(level.group)
    if group is None or of not in (None, group.step) or group.arrived.get(level.branch) != token.id:
        return False
    turn.judge(group.id)
    return True


def _alone(turn: Turn, plan: StepPlan, token: ReadyToken) -> None:
    """Consider a token that waits for no other: it passed the join before, or stands for a group of nobody."""
    if token.group:
        turn.judge(token.group)
    elif token.empty:  # as older logs have it
        _fire_alone(turn, plan, token, [])
    elif passes(turn, plan, [token], view_of(turn.state, token)):
        start(turn, plan, [token])


def _late(turn: Turn, plan: StepPlan, group: Group, level: Branch, token: ReadyToken) -> None:
    assert plan.join is not None
    lets = plan.join.on_early_complete == "allow_late_merge" and not group.void
    merges = lets and group.join == plan.name and level.branch not in group.arrived
    turn.emit(
        e.TokenDiscarded(
            token=token.id,
            reason="the join has fired",
            group=group.id,
            index=level.branch,
            merge=_late_merge(turn, plan, group, level.branch, token) if merges else None,
        )
    )


def _late_merge(
    turn: Turn, plan: StepPlan, group: Group, index: int, token: ReadyToken
) -> Write | None:
    """Merge again; an output that does not fit leaves the merge as it was."""
    assert plan.join is not None
    output = group.overrides.get(index, token.output)
    try:
        return merge(
            turn, plan.join.merge, [*of_group(group), Output(index, output, len(group.order))]
        )
    except TransformError:
        return None


# Groups


def judge(turn: Turn, group_id: str) -> None:
    """Fire the join of a group, or fail it, if its verdict says so."""
    group = turn.state.groups.get(group_id)
    if group is None or not group.decides or group.missing or turn.state.phase != "normal":
        return
    plan = turn.program.steps[group.join or ""]
    if plan.join is None or plan.pairs_arcs:
        return
    try:
        judgement = verdict(turn, plan, group)
        if judgement.word == "fire" and not is_blocked(turn, plan, group):
            _fire_group(turn, plan, group)
        elif judgement.word == "fail":
            said = Error(kind="limit", code="join.unreachable", message=judgement.why)
            _fail(turn, plan, group, said)
    except (TransformError, DeniedError) as error:
        _fail(turn, plan, group, error.error)


def _fail(turn: Turn, plan: StepPlan, group: Group, error: Error) -> None:
    tokens = waiting_of(turn, group)
    leave_others(turn, group, {token.id for token in tokens})
    fail_tokens(turn, plan, tokens, error, group)


def _fire_group(turn: Turn, plan: StepPlan, group: Group) -> None:
    assert plan.join is not None
    tokens = waiting_of(turn, group)
    if plan.gated and not passes(
        turn, plan, tokens, joined_view(turn, tokens, group.stack, group), group
    ):
        return
    start(
        turn,
        plan,
        tokens,
        stack=group.stack,
        args=joined_args(tokens),
        group=group,
        merge=merge(turn, plan.join.merge, of_group(group)),
        administrative="the group was completed" if group.forced else None,
    )


def _fire_alone(turn: Turn, plan: StepPlan, token: ReadyToken, outputs: list[Output]) -> None:
    """Fire for a token that closes no group: it is in none."""
    assert plan.join is not None
    if passes(turn, plan, [token], view_of(turn.state, token)):
        write = merge(turn, plan.join.merge, outputs)
        start(turn, plan, [token], stack=token.stack, args=dict(token.args), merge=write)


# An operator's


def start_by_hand(turn: Turn, plan: StepPlan, words: str) -> bool:
    """Let an operator start a join with what waits there first, whatever gate or branch that waits for."""
    state = turn.state
    for token_id in state.ready_at.get(plan.name, ()):
        token = state.ready[token_id]
        if plan.pairs_arcs and not token.joined:
            return fire_by_hand(turn, plan, token, words)
        level = None if token.joined else closed_level(turn, plan.name, token.stack)
        group = state.groups.get(token.group or (level.group if level is not None else ""))
        if group is not None:
            return _start_group_by_hand(turn, plan, group, words)
        alone = [] if token.joined or token.empty else [Output(0, token.output, 0)]
        write = None if token.joined else _merge_or_none(turn, plan, alone)
        start(turn, plan, [token], stack=token.stack, merge=write, administrative=words, go=False)
        return True
    for group in state.groups.values():
        if group.decides and group.join == plan.name and not group.open:
            return _start_group_by_hand(turn, plan, group, words)
    return False


def _start_group_by_hand(turn: Turn, plan: StepPlan, group: Group, words: str) -> bool:
    tokens = waiting_of(turn, group)
    write = _merge_or_none(turn, plan, of_group(group))
    args = joined_args(tokens)
    start(
        turn, plan, tokens, stack=group.stack, args=args, group=group, merge=write, administrative=words, go=False
    )  # fmt: skip
    return True


def _merge_or_none(turn: Turn, plan: StepPlan, outputs: list[Output]) -> Write | None:
    """Merge what can be merged: whoever decides the outcome by hand is not stopped by an output that does not fit."""
    assert plan.join is not None
    try:
        return merge(turn, plan.join.merge, outputs)
    except TransformError:
        return None
