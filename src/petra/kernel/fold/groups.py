"""Groups as recorded: branches that ended, changes from outside, groups that nobody is in any more (S8)."""

from __future__ import annotations

from petra.kernel import events as e
from petra.kernel.fold.tokens import add
from petra.kernel.state import Branch, State


def settle_groups(state: State) -> list[str]:
    """Note which branches ended, and forget groups that nobody is in any more."""
    touched = state.touched
    # a group that goes may be the last that lived in a branch around it
    inside_out = (
        list(touched)
        if len(touched) == 1
        else sorted(touched, key=lambda name: -_depth(state, name))
    )
    for group_id in inside_out:
        group = state.groups.get(group_id)
        if group is None:
            continue
        for index, where in touched[group_id].items():
            if index not in group.living and index not in group.arrived:
                group.ended.setdefault(index, where)
        if not group.living and not group.missing and (group.fired or group.join is None):
            state.forget_group(group)
    return list(touched)


def _depth(state: State, group_id: str) -> int:
    group = state.groups.get(group_id)
    return len(group.stack) if group is not None else 0


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
        group.forced = True
    state.touched.setdefault(group.id, {})


def group_timed_out(state: State, event: e.GroupTimedOut) -> None:
    """The time of a group's join is up."""
    group = state.groups[event.group]
    group.timed_out = True
    state.drop_timers(group.id)
    state.touched.setdefault(group.id, {})
