"""The verdict on a group: its join may fire, it fails, or it goes on waiting (S8).

Rule 1: ``all`` needs every branch, ``m_of_n`` counts arrivals, ``when`` is an expression over them and over whatever
else a server-side expression may read.
Rule 2: a branch that ended elsewhere cannot arrive. When the condition can no longer hold, or the time is up,
``on_unreachable`` decides; a condition that reads something which can still change is not beyond hope.
Rule 3: the time runs until the join fires, so it ends a join too that a gate, a resource or an earlier group holds back.
Rule 4: a group of nobody, and one that an operator completed, fires with what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from petra.kernel.admission import admits
from petra.kernel.fold.histories import united
from petra.kernel.program import StepPlan
from petra.kernel.scope import View
from petra.kernel.state import Group, ReadyToken, Stack
from petra.kernel.turn import TransformError, Turn
from petra.wire import Error

_ANY = "*"


class JoinVerdict(NamedTuple):
    """What is to become of a group; ``why`` says why its condition cannot hold any more."""

    word: Literal["fire", "fail", "wait", "stuck"]
    why: str = ""


_FIRE, _WAIT = JoinVerdict("fire"), JoinVerdict("wait")


def verdict(turn: Turn, plan: StepPlan, group: Group) -> JoinVerdict:
    """Judge a group that is undecided.

    Raises:
        TransformError: the condition, or the number it needs, cannot be evaluated.
    """
    assert plan.join is not None
    if group.forced:
        return _FIRE
    policy = plan.join.on_unreachable
    if group.timed_out and policy == "fail":
        return JoinVerdict("fail", _too_late(turn, plan, group))
    if _holds(turn, plan, group):
        return _FIRE
    why = _time_is_up(group) if group.timed_out else _unreachable(turn, plan, group)
    if why is None:
        return _WAIT
    if policy == "proceed":
        return _FIRE
    return JoinVerdict("fail" if policy == "fail" else "stuck", _sentence(turn, plan, group, why))


def _holds(turn: Turn, plan: StepPlan, group: Group) -> bool:
    if not group.size:
        return True
    arrived = len(group.arrived)
    if plan.join_when is not None:
        outputs = [group.outputs[index] for index in sorted(group.arrived)]
        extra = {"arrived": arrived, "total": group.size, "outputs": outputs}
        view = joined_view(turn, waiting_of(turn, group), group.stack, group)
        return turn.holds(plan.join_when, view, extra)
    return arrived >= _needed(turn, plan, group)


def _needed(turn: Turn, plan: StepPlan, group: Group) -> int:
    assert plan.join is not None
    if plan.quorum is not None:
        view = joined_view(turn, (), group.stack, group)
        number = turn.render(plan.quorum, view, f"m_of_n of '{plan.name}'")
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            message = f"m_of_n of '{plan.name}' is not a whole number of at least 1"
            raise TransformError(Error(kind="transform", message=message))
        return number
    return 1 if plan.join.mode == "any" else group.size


def _unreachable(turn: Turn, plan: StepPlan, group: Group) -> str | None:
    """Say why the condition can no longer hold, naming the branch and where it ended."""
    if plan.join_when is not None:
        gone = group.open == 0 and not _may_change(turn, plan, group)
    else:
        gone = len(group.arrived) + group.open < _needed(turn, plan, group)
    if not gone:
        return None
    ended = [
        f"branch {index} ended at '{where}'" for index, where in sorted(group.ended.items())[:3]
    ]
    return "; ".join(ended) or "no branch is left"


def _time_is_up(group: Group) -> str:
    missing = sorted(set(range(group.size)) - set(group.arrived))
    shown = ", ".join(map(str, missing[:5])) + ("…" if len(missing) > 5 else "")
    return f"the time is up and branch {shown} has not arrived" if missing else "the time is up"


def _may_change(turn: Turn, plan: StepPlan, group: Group) -> bool:
    """Whether something that the condition reads can still change: somebody may patch ctx, a step may go on."""
    if plan.join_reads.ctx:
        return True
    read = plan.join_reads.steps
    if not read:
        return False
    downstream = turn.program.downstream
    return any(
        _ANY in read or step in read or downstream[step] & read for step in _moving(turn, group)
    )


def _moving(turn: Turn, group: Group) -> Iterator[str]:
    """Yield where something lives that does not wait for this group."""
    state = turn.state
    own = {group.empty, *group.arrived.values()}
    yield from (run.step for run in state.runs.values())
    yield from (token.step for token in state.ready.values() if token.id not in own)
    for other in state.groups.values():
        if other.decides and other.join is not None and other.id != group.id:
            yield other.join


def _too_late(turn: Turn, plan: StepPlan, group: Group) -> str:
    """Say what a join still lacked when its time was up: branches, or, with those there, what held it back."""
    if not _holds(turn, plan, group):
        return _sentence(turn, plan, group, _time_is_up(group))
    tokens = waiting_of(turn, group)
    if is_blocked(turn, plan, group):
        why = "branches of an earlier group are still on their way"
    elif not admits(turn, plan, joined_view(turn, tokens, group.stack, group)):
        why = f"its gate {'; '.join(guard.text for guard, _ in plan.rules)} is shut"
    else:
        why = f"one of its resources is busy: {', '.join(name for name, _, _ in plan.resources)}"
    return f"join '{plan.name}' has {_wanted(turn, plan, group)} but the time is up: {why}"


def _sentence(turn: Turn, plan: StepPlan, group: Group, why: str) -> str:
    return f"join '{plan.name}' needs {_wanted(turn, plan, group)} and cannot complete: {why}"


def _wanted(turn: Turn, plan: StepPlan, group: Group) -> str:
    if plan.join_when is not None:
        return f"its condition {plan.join_when.text}"
    if plan.quorum is not None or (plan.join is not None and plan.join.mode == "any"):
        return f"a quorum of {_needed(turn, plan, group)} of {group.size} branches"
    return f"all {group.size} branches"


def is_blocked(turn: Turn, plan: StepPlan, group: Group) -> bool:
    """Whether an earlier group of a blocking join still has branches on their way."""
    if plan.join is None or not plan.join.blocking:
        return False
    return any(
        other.fired and not other.void and other.join == plan.name and other.living
        for other in turn.state.groups.values()
        if other.id != group.id
    )


# What a join sees


def waiting_of(turn: Turn, group: Group) -> list[ReadyToken]:
    """Return the tokens that wait for the join of a group, by index."""
    ready = turn.state.ready
    tokens = [ready[token] for _, token in sorted(group.arrived.items()) if token in ready]
    return [*tokens, ready[group.empty]] if group.empty else tokens


def joined_view(
    turn: Turn, tokens: list[ReadyToken] | tuple[()], stack: Stack, group: Group | None
) -> View:
    """Look from where the joined token will be: outside of the group, with the history of all that arrived."""
    ctx = turn.state.ctx
    if not tokens:
        assert group is not None
        return View(ctx, {}, stack, group.seen, group.source)
    first = tokens[0]
    seen = first.seen if len(tokens) == 1 else united(list(tokens))
    return View(ctx, joined_args(tokens), stack, seen, first.source, first.output)


def joined_args(tokens: list[ReadyToken] | tuple[()]) -> dict[str, Any]:
    """Return the arguments of a joined token: those of all, in order."""
    args: dict[str, Any] = {}
    for token in tokens:
        args.update(token.args)
    return args
