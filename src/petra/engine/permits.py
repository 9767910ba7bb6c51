"""The permits of an execution as rows: what it asks for and gives back follows from its state (S15)."""

from __future__ import annotations

from petra.engine.cache import Entry
from petra.engine.changes import Draft
from petra.engine.standing import lines_of
from petra.kernel.permit_state import Permit
from petra.kernel.state import State
from petra.store.rows import PermitRow


def note_permits(draft: Draft) -> None:
    """Note in a draft what its execution asks for and gives back."""
    entry = draft.entry
    state = entry.state
    before, after = entry.permits, lines_of(state)
    if before.keys() == after.keys():
        return
    entry.permits = after
    draft.returned = tuple(before.keys() - after.keys())
    if state.permits is not None:
        new = after.keys() - before.keys()
        permits = state.permits.by_id.values()
        draft.permits = tuple(_row(state, permit) for permit in permits if permit.id in new)
    draft.touched = frozenset(
        line for known in (before, after) for name, line in known.items()
        if name in before.keys() ^ after.keys()
    )  # fmt: skip


def _row(state: State, permit: Permit) -> PermitRow:
    wanted = permit.wanted
    return PermitRow(
        id=wanted.id, execution=state.id, limit=wanted.limit, rank=wanted.rank, asked=permit.since, key=wanted.key,
        units=wanted.units, most=wanted.most, on_limit=wanted.on_limit, parent=state.parent, step=wanted.step,
        namespace=state.namespace,
    )  # fmt: skip


def may_have_permits(entry: Entry) -> bool:
    """Whether there is anything to note: of most executions there is not."""
    return entry.state.permits is not None or bool(entry.permits)
