"""Groups that somebody changes while they live: a branch more, no more, all gone, or enough of them (S8)."""

from __future__ import annotations

from petra.kernel import commands as c
from petra.kernel import events as e
from petra.kernel.cancel import withdraw_branches
from petra.kernel.routing import arrival
from petra.kernel.state import Branch, derive
from petra.kernel.turn import RefusedError, Turn


def change_group(turn: Turn, command: c.ChangeGroup) -> None:
    """Change an open group."""
    group = turn.state.groups.get(command.group)
    if group is None or group.fired:
        raise RefusedError(f"there is no open group '{command.group}'")
    change = command.change
    if change == "add":
        _add_branch(turn, command)
    elif change == "close":
        turn.emit(e.GroupChanged(group=group.id, change="close", actor=command.actor))
    elif change == "complete":
        turn.emit(e.GroupChanged(group=group.id, change="complete", actor=command.actor))
        withdraw_branches(
            turn, group, {group.empty, *group.arrived.values()}, "the group was completed"
        )
        turn.judge(group.id)
    elif change == "cancel":
        turn.emit(e.GroupChanged(group=group.id, change="cancel", actor=command.actor))
        withdraw_branches(turn, group, set(), "the group was cancelled")
    else:
        raise RefusedError(f"a group cannot '{change}'; known: add, close, cancel, complete")


def _add_branch(turn: Turn, command: c.ChangeGroup) -> None:
    group = turn.state.groups[command.group]
    if group.closed:
        raise RefusedError("the group is closed")
    plan = turn.program.steps.get(group.step)
    number = group.arcs[-1] if group.arcs else 0
    arc = next((arc for arc in plan.arcs if arc.number == number), None) if plan else None
    if arc is None:
        raise RefusedError(f"the playbook has no arc of '{group.step}' any more to add a branch to")
    item = turn.keep_given(command.item, "the item")
    args = {arc.arc.item: item} if arc.foreach is not None else {}
    stack = (*group.stack, Branch(group.id, group.size))
    token = e.Produced(
        id=derive(group.id, "add", group.size), step=arc.arc.step, arc=number, args=args, index=group.size,
        arrives=arrival(turn, arc.arc.step, stack, None, group.step),
    )  # fmt: skip
    turn.emit(
        e.GroupChanged(group=group.id, change="add", produced=token, item=item, actor=command.actor)
    )
    turn.agenda.add(turn.state.ready[token.id])
