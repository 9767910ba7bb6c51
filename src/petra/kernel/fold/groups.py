"""Groups as recorded: branches that ended, changes from outside, groups that nobody is in any more (S8)."""

from __future__ import annotations

from petra.kernel import events as e
from petra.kernel.fold.tokens import add
from petra.kernel.state import Branch, Group, State


def settle_groups(state: State) -> list[str]:
    """Note which branches ended, and forget groups that nobody is in any more."""
    touched = state.touched
    if not touched:
        return []
    for group_id, branches in touched.items():
        group = state.groups.get(group_id)
        if group is None:
            continue
        for index, where in branches.items():
            if index not in group.members and index not in group.arrived:
                group.ended.setdefault(index, where)
        if not group.members and (group.fired or group.join is None):
            forget(state, group)
    return list(touched)


def forget(state: State, group: Group) -> None:
    """Forget a group that nobody is in any more, with its timers and what it wrote."""
    del state.groups[group.id]
    state.writers.pop(group.id, None)
    state.drop_timers(group.id)
    for join in [name for name, fired in state.fired_groups.items() if fired == group.id]:
        del state.fired_groups[join]


def group_changed(state: State, event: e.GroupChanged) -> None:
    """Somebody added a branch to a group, closed it, or completed it."""
    group = state.groups[event.group]
    if event.change == "close":
        group.closed = True
    elif event.change == "add" and event.produced is not None:
        index = group.size
        group.size += 1
        group.items = [*group.items, event.item]
        group.arcs = [*group.arcs, event.produced.arc]
        stack = (*group.stack, Branch(group.id, index))
        add(state, event.produced, stack, group.seen, group.source, None, group.step)
    elif event.change == "complete":
        group.timed_out = True
    state.touched.setdefault(group.id, {})


def group_timed_out(state: State, event: e.GroupTimedOut) -> None:
    """The time of a group's join is up."""
    group = state.groups[event.group]
    group.timed_out = True
    state.drop_timers(group.id)
    state.touched.setdefault(group.id, {})
