"""Admission: whether a token may start its step (S4).

Rule 1: the first rule that matches decides; no ``admit`` allows, rules without a match deny.
Rule 2: a denied token waits in ``S.ready``, is discarded, or fails the step, as ``on_deny`` says.
Rule 3: a waiting token is considered again in the transaction that changed something its rules read: a
ctx key, or the status of a step. Nothing polls.
Rule 4: with ``once`` the first admitted token runs, later ones are discarded.
Rule 5: with ``withdraw`` a run that nobody has started goes back to waiting when its gate turns false.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from petra.kernel import events as e
from petra.kernel.cancel import leave_others
from petra.kernel.effects import CancelChild
from petra.kernel.program import Reads, StepPlan
from petra.kernel.scope import View, view_of
from petra.kernel.state import Group, ReadyToken, StepRun, derive
from petra.kernel.turn import Turn
from petra.wire import Error

_ANY = "*"


def admits(turn: Turn, plan: StepPlan, view: View) -> bool:
    """Evaluate the rules of a gate."""
    if not plan.rules:
        return True
    for guard, allow in plan.rules:
        if turn.holds(guard, view):
            return allow
    return False


def denial(plan: StepPlan) -> Error:
    """Return the error of a token that was denied where that fails the step."""
    texts = "; ".join(guard.text for guard, _ in plan.rules)
    return Error(kind="denied", message=f"step '{plan.name}' was not admitted: {texts}")


def reconsider(turn: Turn) -> None:
    """Put every waiting token whose gate reads something that changed back on the agenda."""
    if not turn.changed_ctx and not turn.changed_steps:
        return
    if not turn.program.conditional and not turn.program.gated:
        turn.changed_ctx = turn.changed_steps = None
        return
    ctx, steps = turn.changed_ctx or set(), turn.changed_steps or set()
    turn.changed_ctx = turn.changed_steps = None
    concerned = [plan for plan in turn.program.gated if _concerns(plan.reads, ctx, steps)]
    judged = {
        plan.name for plan in turn.program.conditional if _concerns(plan.join_reads, ctx, steps)
    }
    judge_again(turn, judged.union(plan.name for plan in concerned if plan.join is not None))
    turn.agenda.add_waiting(plan.name for plan in concerned)
    runs = turn.state.runs
    shut = [
        runs[run_id]
        for plan in concerned
        if plan.step.spec.policy.admit is not None and plan.step.spec.policy.admit.withdraw
        for run_id in turn.state.runs_at.get(plan.name, ())
    ]
    for run in sorted(shut, key=lambda run: run.seq):  # in order of arrival (S17)
        if run.id in runs:
            _withdraw(turn, turn.plan(run.step), run)


def judge_again(turn: Turn, joins: Collection[str]) -> None:
    """Have the undecided groups of some joins judged, those too of which nobody has arrived."""
    if joins:
        for group in turn.state.groups.values():
            if group.decides and group.join in joins:
                turn.judge(group.id)


def _concerns(reads: Reads, ctx: set[str], steps: set[str]) -> bool:
    return bool(
        reads.ctx & ctx
        or reads.steps & steps
        or (_ANY in reads.ctx and ctx)
        or (_ANY in reads.steps and steps)
    )


def _withdraw(turn: Turn, plan: StepPlan, run: StepRun) -> None:
    """Take a run back that waits for a person or for time, if its gate no longer holds."""
    if run.loop is not None or not _untouched(turn, run):
        return
    if admits(turn, plan, view_of(turn.state, run)):
        return
    if run.child:
        turn.effect(CancelChild(child=run.child, reason="withdrawn"))
    token = e.Produced(
        id=derive("back", run.id),
        step=run.step,
        arc=run.arrow[1] if run.arrow else 0,
        args=run.args,
        joined=run.joined,
    )
    turn.emit(e.RunReturned(run=run.id, token=token))
    turn.agenda.add(turn.state.ready[token.id])  # it is denied, and on_deny says what that means
    turn.free(run.resources)


def _untouched(turn: Turn, run: StepRun) -> bool:
    """Whether nobody has begun: no work item was started, nothing but waiting is going on."""
    if not run.waits:
        return False
    items = [turn.state.items[wait.item] for wait in run.waits if wait.item]
    return all(item.state in ("offered", "allocated") for item in items)


def passes(
    turn: Turn, plan: StepPlan, tokens: Sequence[ReadyToken], view: View, group: Group | None = None
) -> bool:
    """Let a token, or those of a join, through the gate; what is not admitted waits, or is discarded."""
    admit = plan.step.spec.policy.admit
    if admit is None:
        return True
    if admit.once and runs_no_more(turn, plan):
        _discard(turn, tokens, "the step runs once", group)
        return False
    if admits(turn, plan, view):
        return True
    if admit.on_deny == "discard":
        _discard(turn, tokens, "denied", group)
    elif admit.on_deny == "fail":
        raise DeniedError(denial(plan))
    return False


def runs_no_more(turn: Turn, plan: StepPlan) -> bool:
    """Whether the step runs once, and has."""
    admit = plan.step.spec.policy.admit
    return admit is not None and admit.once and plan.name in turn.state.once


def _discard(turn: Turn, tokens: Sequence[ReadyToken], reason: str, group: Group | None) -> None:
    """Discard the tokens of one firing; with the join's, its group is over."""
    if group is not None:
        leave_others(turn, group, {token.id for token in tokens})
        if not tokens:
            turn.emit(e.Withdrawn(closes=group.id, reason=reason, by="join"))
    for token in tokens:
        turn.emit(
            e.TokenDiscarded(
                token=token.id, reason=reason, closes=group.id if group is not None else None
            )
        )


class DeniedError(Exception):
    """A token was denied, and that fails the step."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error
