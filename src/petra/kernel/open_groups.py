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
    found = [one for one in state.groups.values() if not one.fired and name in (one.step, one.join)]
    if len(found) > 1:
        shown = ", ".join(one.id for one in found[:_SHOWN_MAX])
        raise RefusedError(f"'{name}' has {len(found)} open groups; name one by its id: {shown}")
    if not found:
        raise RefusedError(f"there is no open group '{name}'")
    return found[0]
