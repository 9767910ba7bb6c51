"""Moments: an execution as it was at a record, from the snapshot before it and what came between.

A log keeps its snapshots, so a moment costs as much anywhere in it: one snapshot, and the records up to the next one at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from petra.desk.stories import Elsewhere
from petra.engine.cache import Cache, Entry
from petra.engine.codec import event_of, from_row, status_of
from petra.engine.limits import SNAPSHOT_EVERY
from petra.kernel import Record, State, evolve
from petra.kernel.snapshot import SnapshotError, restore
from petra.store.base import Store
from petra.store.rows import RecordRow, Snapshot


class PastState(NamedTuple):
    """An execution at a record, the record, and how many there are by now."""

    entry: Entry
    record: Record
    status: str
    reason: str
    records: int


class NoMomentError(LookupError):
    """A log has no such record."""


class Moments:
    """Looks back."""

    def __init__(self, store: Store, cache: Cache, elsewhere: Elsewhere) -> None:
        self._store = store
        self._cache = cache
        self._elsewhere = elsewhere

    async def at(self, execution: str, seq: int) -> PastState:
        """Return an execution as it was at a record.

        Raises:
            UnknownExecutionError: there is none of that id.
            NoMomentError: it has no such record.
        """
        entry = await self._cache.blank(execution)
        stored = await self._store.execution(execution)
        version = stored.version if stored is not None else 0
        if not 1 <= seq <= version:
            raise NoMomentError(f"the log has {version} records; there is no record {seq}")
        snapshot = None
        if seq >= SNAPSHOT_EVERY:
            snapshot = await self._store.snapshot(execution, upto=seq - 1)
        behind = snapshot.version if snapshot is not None else 0
        rows = await self._store.read(execution, after=behind, limit=seq - behind + 1)
        try:
            state = await self._elsewhere(lambda: _folded(execution, snapshot, rows, seq))
        except SnapshotError:  # of an earlier version: the log alone is the truth
            rows = await self._store.read(execution, limit=seq + 1)
            state = await self._elsewhere(lambda: _folded(execution, None, rows, seq))
        entry.state = state
        await self._cache.fit(entry)
        here = from_row(next(row for row in rows if row.seq == seq))
        status, reason = status_of(entry.program, state)
        following = rows[-1]
        if status in ("stuck", "waiting") and following.seq > seq and following.at == here.at:
            status, reason = "running", ""  # inside a decision nothing rests
        return PastState(entry, here, status, reason, version)


def _folded(
    execution: str, snapshot: Snapshot | None, rows: Sequence[RecordRow], seq: int
) -> State:
    state = restore(snapshot.body) if snapshot is not None else State(id=execution, hashes=None)
    if state.id != execution:
        raise SnapshotError("it is of something else")
    for row in rows:
        if state.seq < row.seq <= seq:
            evolve(state, event_of(row), seq=row.seq, at=row.at)
    state.rehash()
    return state
