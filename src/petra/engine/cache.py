"""The executions an engine has in memory: loaded when needed, dropped when idle.

Rule 1: those with work on its way have at most ``CACHE_BYTES`` together, those that rest ``RESTING_BYTES``: what runs is
needed again soon. What each takes is reckoned from the bytes of its records.
Rule 2: the one that was idle for longest leaves first; one of which something is decided and not durable stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from petra.engine.by_weight import ByWeight
from petra.engine.codec import from_row
from petra.engine.limits import (
    CACHE_BYTES,
    ENTRY_BYTES,
    READ_BATCH,
    RESTING_BYTES,
    SNAPSHOT_EVERY,
    SNAPSHOT_SHARE,
    SNAPSHOT_TOKEN,
    WARM_MAX,
    WARM_RECORDS,
)  # fmt: skip
from petra.engine.programs import Programs
from petra.engine.standing import lines_of
from petra.engine.with_workers import Out, out_of
from petra.errors import PetraError
from petra.kernel import Ledger, Program, Record, State, evolve
from petra.kernel.replay import GENESIS
from petra.kernel.snapshot import SnapshotError, restore, snapshot
from petra.store.base import Store
from petra.store.rows import LineName, Snapshot, shard_of
from petra.store.rows import RecordRow as StoredRecord

_log = logging.getLogger(__name__)


class UnknownExecutionError(PetraError):
    """There is no execution of that id."""


class Entry(msgspec.Struct, eq=False):
    """One execution in memory. ``state`` may be ahead of what is durable, by one batch at most."""

    program: Program
    state: State
    ledger: Ledger
    shown: tuple[str, str] = ("", "")
    out: Out = {}
    wake: float | UnsetType | None = UNSET
    """The wake-up that is stored; unset while that is not known."""
    busy: int = 0
    stale: bool = False
    snapshot_version: int = 0
    snapshot_bytes: int = 0
    weight: int = ENTRY_BYTES
    """Bytes that it takes in memory, about."""
    counted: int = 0
    """What of that its cache has counted."""
    permits: dict[str, LineName] = {}  # as they are stored: the line of each

    def find_out(self) -> None:
        """Find out from the state what is stored of it: its permits, and which assignments are with workers."""
        self.permits = lines_of(self.state)
        self.out = out_of(self.program, self.state)

    def move(self) -> None:
        """Go on with the definition that the state has moved to (S23); whoever lists it is shown that."""
        moved = self.program.versions.get(self.state.digest)
        if moved is not None:
            self.program, self.shown = moved, ("", "")

    def snapshot_at(self, version: int) -> Snapshot | None:
        """Return a snapshot, if it is time for one: not for small logs, and seldom for large states.

        Its size is estimated by the last one and by the tokens. So the snapshot of a wide fan-out waits until some of it is
        done: while the fan-out begins, everything else that it needs is in memory too.
        """
        since, state = version - self.snapshot_version, self.state
        if since < SNAPSHOT_EVERY or state.seq != version:  # or it is ahead of what is made durable
            return None
        tokens = len(state.runs) + len(state.ready)
        if since * SNAPSHOT_SHARE < max(self.snapshot_bytes, tokens * SNAPSHOT_TOKEN):
            return None
        body = snapshot(self.state)
        self.snapshot_version, self.snapshot_bytes = version, len(body)
        self.weight = ENTRY_BYTES + len(body)
        return Snapshot(version=version, body=body)


class Cache(Programs):
    """A cache of executions, and of their playbooks, over a store."""

    def __init__(
        self, store: Store, most: int = CACHE_BYTES, owns: Callable[[str], bool] = lambda _: True
    ) -> None:
        """Make one; executions that are not owned change without us and are never kept."""
        super().__init__(store)
        self.owns = owns
        self._running = ByWeight[Entry](most)
        self._resting = ByWeight[Entry](min(most, RESTING_BYTES))

    def busy(self) -> list[str]:
        """Return those of which something is decided and not durable."""
        return [key for key, entry in self.at_hand() if entry.busy]

    def __len__(self) -> int:
        return len(self._running.entries) + len(self._resting.entries)

    def __contains__(self, execution: str) -> bool:
        return self.peek(execution) is not None

    def limit(self, most: int) -> None:
        """Keep at most so many bytes of executions."""
        self._running.most, self._resting.most = most, min(most, RESTING_BYTES)

    def at_hand(self) -> list[tuple[str, Entry]]:
        """Return all that are in memory."""
        return [*self._running.entries.items(), *self._resting.entries.items()]

    def get(self, execution: str) -> Entry | None:
        """Return an execution that is in memory."""
        kept = self._running.entries
        entry = kept.get(execution)
        if entry is None:
            kept = self._resting.entries
            entry = kept.get(execution)
            if entry is None:
                return None
        kept.move_to_end(execution)
        return entry

    def peek(self, execution: str) -> Entry | None:
        """Return an execution that is in memory to whoever only looks: it stays no longer for that."""
        return self._running.entries.get(execution) or self._resting.entries.get(execution)

    async def load(self, execution: str) -> Entry:
        """Return an execution, replaying its log if need be.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        if (entry := self.get(execution)) is not None:
            return entry
        entry = await self.read(execution)
        if (again := self.get(execution)) is not None:  # somebody else has loaded it meanwhile
            return again
        return self.add(execution, entry) if self.owns(execution) else entry

    async def read(self, execution: str) -> Entry:
        """Return an execution as it is stored now, from its latest snapshot and the log after it.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        entry, version = await self._begin(execution)
        if version >= SNAPSHOT_EVERY:
            await self._restore(entry, version)
        await self._replay(entry)
        await self.fit(entry)
        entry.find_out()
        return entry

    async def fit(self, entry: Entry) -> None:
        """Let an entry go by the definition that its state has by now (S23)."""
        state = entry.state
        if state.digest not in ("", entry.program.digest) or state.carried or state.undo:
            entry.program = await self.definition(state)

    async def definition(self, state: State) -> Program:
        """Return the definition of an execution, with those at hand that its runs began with (S23)."""
        program = await self.program(state.digest)
        began = [run.began for run in state.runs.values()] + [undo.began for undo in state.undo]
        wanted = {start.digest for start in began if start is not None}
        for digest in wanted - program.versions.keys():
            program.versions[digest] = await self.program(digest)
        return program

    async def blank(self, execution: str) -> Entry:
        """Return an execution as it was before its first record; ``advance`` leads on.

        Raises:
            UnknownExecutionError: there is none of that id.
        """
        return (await self._begin(execution))[0]

    async def _begin(self, execution: str) -> tuple[Entry, int]:
        stored = await self._store.execution(execution) if _can_be(execution) else None
        if stored is None:
            raise UnknownExecutionError(f"there is no execution '{execution}'")
        program = await self.program(stored.row.digest)
        return Entry(program, State(id=execution), Ledger(execution, 0, GENESIS)), stored.version

    async def _restore(self, entry: Entry, version: int) -> None:
        """Begin with the snapshot, if there is one that can be read and that the log bears out."""
        name = entry.state.id
        stored = await self._store.snapshot(name)
        if stored is None or stored.version > version:
            return
        try:
            state = restore(stored.body)
        except SnapshotError as error:
            _log.warning("execution %s: its snapshot cannot be read (%s)", name, error)
            return
        last = await self._store.read(name, after=stored.version - 1, limit=1)
        if (state.id, state.seq) != (name, stored.version) or not last:
            _log.warning("execution %s: its snapshot is of something else", name)
            return
        entry.state = state
        entry.ledger = Ledger(name, state.seq, last[0].hash.hex())
        entry.snapshot_version, entry.snapshot_bytes = stored.version, len(stored.body)
        entry.weight += len(stored.body)

    async def _replay(self, entry: Entry) -> None:
        """Apply the log after what the entry has already."""
        while True:
            state = entry.state
            rows = await self._store.read(state.id, after=state.seq, limit=READ_BATCH)
            _apply(entry, rows)
            if len(rows) < READ_BATCH:
                return

    async def advance(self, entry: Entry) -> list[Record]:
        """Apply what was stored since to an entry that somebody else acts for; return the new records."""
        rows = await self._store.read(entry.state.id, after=entry.state.seq, limit=READ_BATCH)
        records = [from_row(row) for row in rows]
        for record in records:
            evolve(entry.state, record.event, seq=record.seq, at=record.at)
        await self.fit(entry)
        return records

    async def warm(self, executions: Iterable[str]) -> None:
        """Load several executions at once; long ones are left to whoever needs them."""
        missing = [key for key in dict.fromkeys(executions) if key not in self]
        for begin in range(0, len(missing), WARM_MAX):
            entries = await self.looked_at(missing[begin : begin + WARM_MAX])
            for name, entry in entries.items():
                if name not in self and self.owns(name):
                    entry.find_out()
                    self.add(name, entry)

    async def looked_at(self, executions: Sequence[str]) -> dict[str, Entry]:
        """Read several executions at once, without keeping them; those with long logs are left out."""
        read: dict[str, Entry] = {}
        for name, (stored, rows) in (await self._store.logs(executions, most=WARM_RECORDS)).items():
            program = await self.program(stored.row.digest)
            read[name] = entry = Entry(program, State(id=name), Ledger(name, 0, GENESIS))
            _apply(entry, rows)
            await self.fit(entry)
        return read

    def add(self, execution: str, entry: Entry) -> Entry:
        """Keep an execution in memory; idle ones make room."""
        (self._running if entry.out else self._resting).put(execution, entry)
        return entry

    def weigh(self, entry: Entry, further: Sequence[StoredRecord]) -> None:
        """An execution has further records: count what it takes by now, among those that run or those that rest."""
        for record in further:
            entry.weight += len(record.body)
        execution = entry.state.id
        place, other = self._running, self._resting
        if not entry.out:
            place, other = other, place
        if place.entries.get(execution) is entry:
            place.grown(execution, entry)
        elif other.entries.get(execution) is entry:
            other.pop(execution)
            place.put(execution, entry)

    def drop(self, execution: str) -> None:
        """Forget an execution; it will be loaded again."""
        entry = self._running.pop(execution) or self._resting.pop(execution)
        if entry is not None:
            entry.stale = True

    def forget(self, shards: Collection[int]) -> None:
        """Forget the executions of some shards."""
        for key in [key for key, _ in self.at_hand() if shard_of(key) in shards]:
            self.drop(key)


def _can_be(execution: str) -> bool:
    """Whether a store can be asked for an execution of that id at all."""
    return "\0" not in execution and (execution.isascii() or execution.isprintable())


def _apply(entry: Entry, rows: Sequence[StoredRecord]) -> None:
    """Apply records to an execution."""
    for row in rows:
        record = from_row(row)
        evolve(entry.state, record.event, seq=record.seq, at=record.at)
        entry.weight += len(row.body)
    if rows:
        entry.ledger = Ledger(entry.state.id, entry.state.seq, rows[-1].hash.hex())
