"""Which live group somebody means: by its id, or by the step that made it or joins it, where that is one."""

from __future__ import annotations

from petra.kernel.state import Group, State
from petra.kernel.turn import RefusedError

_SHOWN_MAX = 5


def open_group(state: State, name: str) -> Group:
    """Return a group that has not fired.

    Raises:
        RefusedError: there is none of that name, or more than one.
    """
    group = state.groups.get(name)
    if group is not None and not group.fired:
        return group
    groups = [
        group
        for group in state.groups.values()
        if not group.fired and name in (group.step, group.join)
    ]
    if len(groups) > 1:
        shown = ", ".join(group.id for group in groups[:_SHOWN_MAX])
        raise RefusedError(f"'{name}' has {len(groups)} open groups; name one by its id: {shown}")
    if not groups:
        raise RefusedError(f"there is no open group '{name}'")
    return groups[0]
