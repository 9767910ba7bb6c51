"""Authority: whose objects an execution may read (S18).

Its own; those of the executions whose past it has (forks); its parent's, if it inherits them; and what its children, and
theirs, handed back. That a reference stands in a result proves nothing: anybody can write one.
"""

from __future__ import annotations

from petra.engine.codec import event_of
from petra.kernel import State
from petra.kernel.prepare import DEPTH_MAX
from petra.store.base import Store
from petra.store.rows import RecordRow


async def may_read(store: Store, state: State, owner: str) -> bool:
    """Tell whether an execution may read the objects of another one."""
    own = {state.id, *state.origins}
    if owner in own or (state.inherits and owner == state.parent):
        return True
    above = owner
    for _ in range(DEPTH_MAX):
        stored = await store.execution(above)
        if stored is None:  # deleted, while what it handed back lives on
            return await _started(store, own, above)
        above = stored.row.parent
        if not above or above in own:
            return bool(above)
    return False


async def _started(store: Store, own: set[str], child: str) -> bool:
    """Tell by their logs whether one of our executions started a child."""
    mark = f'"child":"{child}"'.encode()  # data may say that too, so what has it is read
    for execution in own:
        after = 0
        while rows := await store.read(execution, after=after):
            if any(mark in row.body and _starts(row, child) for row in rows):
                return True
            after = rows[-1].seq
    return False


def _starts(row: RecordRow, child: str) -> bool:
    armed = getattr(event_of(row), "armed", None)
    return armed is not None and armed.child == child
