"""The store in memory: the reference that the others are compared with, and the one simulations use.

It forgets everything when the process ends, and keeps every other promise. A commit runs without a pause,
so that nobody ever sees half of one.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET

from petra.errors import UsageError
from petra.namespaces import DEFAULT
from petra.store.base import PAGE, READ_LIMIT, ChangeFate, Committed, CountedBy
from petra.store.bus import InProcessBus
from petra.store.item_order import order_of
from petra.store.judge import (
    NOTHING,
    LogHead,
    check_batch,
    fits,
    item_fits,
    judge,
    judge_answers,
    must_write,
    owned_lines,
    owns,
    read_cursor,
    replaces,
    write_cursor,
)
from petra.store.memory_accounts import MemoryAccounts
from petra.store.memory_arrivals import MemoryArrivals
from petra.store.memory_notifications import MemoryNotifications
from petra.store.memory_permits import MemoryPermits
from petra.store.paging import page_of
from petra.store.rows import (
    Answer,
    AuditNote,
    Batch,
    Change,
    ExecutionCount,
    ExecutionFilter,
    ExecutionRow,
    Expired,
    Letter,
    Page,
    Pending,
    PendingRow,
    PlaybookRow,
    RecordRow,
    ShardRow,
    Snapshot,
    Stats,
    StoredExecution,
    WakeUp,
    WorkItemFilter,
    WorkItemRow,
    shard_of,
)


class _Stream:
    """Everything about one execution."""

    def __init__(self, row: ExecutionRow) -> None:
        self.row = row
        self.records: list[RecordRow] = []
        self.wake: float | None = None
        self.snapshots: dict[int, Snapshot] = {}
        self.items: dict[str, WorkItemRow] = {}
        self.pending: dict[tuple[str, str], Pending] = {}
        self.leases: dict[tuple[str, str], tuple[int, str]] = {}
        self.objects: set[str] = set()
        self.commands: set[str] = set()

    @property
    def head(self) -> LogHead:
        return LogHead(
            version=len(self.records),
            hash=self.records[-1].hash,
            ended=self.row.ended,
            status=self.row.status,
        )

    def stored(self) -> StoredExecution:
        return StoredExecution(row=self.row, version=len(self.records), head=self.records[-1].hash)


class MemoryStore:
    """A store that lives as long as the process. ``clock`` gives the store's time."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._streams: dict[str, _Stream] = {}
        self._answers: dict[str, Answer] = {}
        self._playbooks: dict[tuple[str, str], PlaybookRow] = {}
        self._shards: dict[int, tuple[str, int, float]] = {}
        self._orphans: set[str] = set()
        self._letters: dict[str, Letter] = {}
        self._engines: dict[str, float] = {}
        self.bus = InProcessBus()
        self.accounts = MemoryAccounts()
        self.notifications = MemoryNotifications(self.accounts)
        self.permits = MemoryPermits()
        self.arrivals = MemoryArrivals()

    # Writing

    async def commit(self, batch: Batch) -> Committed:
        """Store a batch; see ``Store.commit``."""
        check_batch(batch)
        epochs = {shard: epoch for shard, (_, epoch, _) in self._shards.items()}
        outcomes = tuple(self._apply(change, batch, epochs) for change in batch.changes)
        answers, refused, new = judge_answers(batch.answers, self._answers)
        self._answers.update({answer.command: answer for answer in new})
        stale = self._shelve(batch.playbooks)
        if batch.notes and not stale and not self.accounts.has_noted(batch.notes[0]):
            self.accounts.add_notes(*batch.notes)
        self._post(batch.letters, batch.taken)
        for moved in owned_lines(batch, epochs):
            self.permits.move(moved)
            self._post(moved.letters, ())
        return Committed(outcomes=outcomes, answers=answers, refused=refused, stale=stale)

    def _shelve(self, playbooks: Iterable[PlaybookRow]) -> tuple[str, ...]:
        """Keep playbooks; return the digests of those that would replace another one than they were to."""
        stale = []
        for playbook in playbooks:
            applied = reversed(self._applied(playbook.namespace))
            current = next((p.digest for p in applied if p.path == playbook.path), "")
            key = playbook.digest, playbook.namespace
            if not replaces(playbook, current):
                stale.append(playbook.digest)
            elif playbook.applied or key not in self._playbooks:  # one that was applied stays
                self._playbooks.pop(key, None)
                self._playbooks[key] = msgspec.structs.replace(playbook, replaces=None)
        return tuple(stale)

    def _apply(self, change: Change, batch: Batch, epochs: Mapping[int, int]) -> ChangeFate:
        stream = self._streams.get(change.execution)
        head = NOTHING if stream is None else stream.head
        reached = stream is not None and 0 < change.version <= head.version
        outcome = judge(
            change,
            head,
            owned=owns(batch, change.execution, epochs),
            known=self._answers,
            stored_hash=stream.records[change.version - 1].hash if stream and reached else None,
        )
        if must_write(change, outcome, head):
            self._write(change)
        return outcome

    def _write(self, change: Change) -> None:
        stream = self._streams.get(change.execution)
        if stream is None:
            assert change.row is not None, "a new execution has its row"
            stream = self._streams[change.execution] = _Stream(change.row)
        stream.records.extend(change.records)
        if change.row is not None:
            stream.row = change.row
        elif change.records:
            stream.row = _touched(stream.row, change.records[-1].at)
        if change.wake is not UNSET:
            stream.wake = change.wake
        stream.items.update({item.id: item for item in change.items})
        for key in change.released:
            stream.pending.pop(key, None)
        stream.pending.update({(row.run, row.chunk): row for row in change.assigned})
        if change.snapshot is not None:
            stream.snapshots[change.snapshot.version] = change.snapshot
        stream.objects.update(change.objects)
        self._orphans.difference_update(change.objects)
        for answer in change.answers:
            self._answers[answer.command] = answer
            stream.commands.add(answer.command)
        self._post(change.letters, change.taken)
        self.notifications.add(change.notifications)
        self.permits.change(change.permits, change.returned)
        self.accounts.add_notes(*change.notes)
        self.arrivals.keep(change.arrivals)

    def _post(self, letters: Iterable[Letter], taken: Iterable[str]) -> None:
        for name in taken:
            self._letters.pop(name, None)
        for letter in letters:
            self._letters.setdefault(letter.id, letter)

    # Reading

    async def read(
        self, execution: str, *, after: int = 0, limit: int = READ_LIMIT
    ) -> list[RecordRow]:
        """Return records, oldest first."""
        stream = self._streams.get(execution)
        return [] if stream is None else stream.records[after : after + limit]

    async def logs(
        self, executions: Collection[str], *, most: int = READ_LIMIT
    ) -> dict[str, tuple[StoredExecution, list[RecordRow]]]:
        """Return several executions with their whole logs."""
        streams = ((key, self._streams.get(key)) for key in executions)
        return {
            key: (stream.stored(), list(stream.records))
            for key, stream in streams
            if stream is not None and len(stream.records) <= most
        }

    async def execution(self, execution: str) -> StoredExecution | None:
        """Return an execution, or None."""
        stream = self._streams.get(execution)
        return None if stream is None else stream.stored()

    def _found(self, wanted: ExecutionFilter, cursor: str | None) -> list[StoredExecution]:
        """Return the executions that fit, behind a cursor, in the order of lists."""
        behind = read_cursor(cursor, tuple[float, str]) if cursor is not None else None
        rows = [s.stored() for s in self._streams.values() if fits(s.row, wanted)]
        rows.sort(key=_place, reverse=not wanted.oldest_first)
        if behind is not None and wanted.oldest_first:
            return [row for row in rows if _place(row) > behind]
        return [row for row in rows if behind is None or _place(row) < behind]

    async def executions(
        self,
        wanted: ExecutionFilter,
        *,
        cursor: str | None = None,
        limit: int = PAGE,
        look_at: int | None = None,
    ) -> Page[StoredExecution]:
        """List executions, latest start first; all of them are looked at."""
        del look_at
        rows = self._found(wanted, cursor)
        more = len(rows) > limit
        rows = rows[:limit]
        return Page(rows=tuple(rows), cursor=write_cursor(*_place(rows[-1])) if more else None)

    async def live(
        self, *, shards: Collection[int] | None = None, after: str = "", limit: int = PAGE
    ) -> list[StoredExecution]:
        """List executions that have not ended."""
        unended = (
            s.stored() for key, s in self._within(shards) if key > after and s.row.ended is None
        )
        return sorted(unended, key=lambda stored: stored.row.id)[:limit]

    async def count_executions(
        self,
        wanted: ExecutionFilter,
        by: CountedBy,
        *,
        cursor: str | None = None,
        look_at: int | None = None,
    ) -> Page[ExecutionCount]:
        """Count executions by something; all of them are looked at."""
        del look_at
        found = Counter(_counted_as(entry.row, by) for entry in self._found(wanted, cursor))
        counts = [
            ExecutionCount(key=str(key), count=count, status=status)
            for (key, status), count in sorted(found.items())
        ]
        return Page(rows=tuple(counts))

    async def snapshot(self, execution: str, *, upto: int | None = None) -> Snapshot | None:
        """Return the latest snapshot, or None."""
        stream = self._streams.get(execution)
        snapshots = stream.snapshots if stream is not None else {}
        fit = [version for version in snapshots if upto is None or version <= upto]
        return snapshots[max(fit)] if fit else None

    async def due(
        self, until: float, *, shards: Collection[int] | None = None, limit: int = PAGE
    ) -> list[WakeUp]:
        """List wake-ups that are due."""
        wakes = [row for row in self._wake_ups(shards) if row.due <= until]
        return sorted(wakes, key=lambda row: (row.due, row.execution))[:limit]

    async def pending(
        self,
        *,
        shards: Collection[int] | None = None,
        after: tuple[str, str, str] = ("", "", ""),
        limit: int = READ_LIMIT,
    ) -> list[PendingRow]:
        """List assignments that are out."""
        places = (
            ((key, *place), pending)
            for key, stream in self._within(shards)
            for place, pending in stream.pending.items()
        )
        behind = sorted((place, pending) for place, pending in places if place > after)
        return [self._out(place[0], row) for place, row in behind[:limit]]

    def _out(self, execution: str, pending: Pending) -> PendingRow:
        known = self._streams[execution].leases.get((pending.run, pending.chunk), (0, ""))
        lease = known[1] if known[0] == pending.delivery else ""
        namespace = self._streams[execution].row.namespace
        return PendingRow(execution=execution, pending=pending, lease=lease, namespace=namespace)

    async def leased(self, leases: Collection[str]) -> list[PendingRow]:
        """List the assignments that are out under some leases."""
        wanted = {lease for lease in leases if lease}
        return [row for row in await self.pending() if row.lease in wanted]

    async def lease(self, rows: Sequence[PendingRow]) -> set[str]:
        """Write down under which leases workers elsewhere have assignments."""
        written = set()
        for row in rows:
            stream, own = self._streams.get(row.execution), row.pending
            known = stream.pending.get((own.run, own.chunk)) if stream is not None else None
            if stream is not None and known is not None and known.delivery == own.delivery:
                stream.leases[own.run, own.chunk] = own.delivery, row.lease
                written.add(row.lease)
        return written

    async def letters(
        self, *, shards: Collection[int] | None = None, limit: int = PAGE
    ) -> list[Letter]:
        """List letters that nobody has carried out yet."""
        letters = (
            letter
            for letter in self._letters.values()
            if shards is None or shard_of(letter.execution) in shards
        )
        return list(itertools.islice(letters, limit))

    async def work_items(
        self, wanted: WorkItemFilter, *, cursor: str | None = None, limit: int = PAGE
    ) -> Page[WorkItemRow]:
        """List work items in the order that is wanted."""
        order = order_of(wanted.sort)
        rows = sorted(self._items(wanted), key=order.place, reverse=order.descending)
        if cursor is not None:
            last = order.read(cursor)
            rows = [row for row in rows if order.is_behind(row, last)]
        return page_of(rows, limit, order.cursor)

    async def count_work_items(self, wanted: WorkItemFilter) -> dict[str, int]:
        """Count work items by state."""
        return _counted(item.state for item in self._items(wanted))

    async def work_item(self, execution: str, item: str) -> WorkItemRow | None:
        """Return a work item, or None."""
        stream = self._streams.get(execution)
        return None if stream is None else stream.items.get(item)

    async def answer(self, command: str) -> Answer | None:
        """Return what a command was answered, or None."""
        return self._answers.get(command)

    async def playbook(self, digest: str, namespace: str | None = None) -> PlaybookRow | None:
        """Return a playbook by its digest, or None."""
        playbooks = (
            p
            for (key, place), p in self._playbooks.items()
            if key == digest and namespace in (None, place)
        )
        return next(playbooks, None)

    async def find_playbook(
        self, path: str, version: str | None = None, namespace: str = DEFAULT
    ) -> PlaybookRow | None:
        """Return the playbook applied last under a path, else under a name, or None."""
        fits = [p for p in self._applied(namespace) if version is None or p.version == version]
        by_path = [p for p in fits if p.path == path]
        by_name = [p for p in fits if p.name == path]
        versions = by_path or by_name
        return versions[-1] if versions else None

    async def playbooks(
        self, *, after: str = "", limit: int = PAGE, namespace: str = DEFAULT
    ) -> list[PlaybookRow]:
        """List the current playbook of every path."""
        current = {playbook.path: playbook for playbook in self._applied(namespace)}
        return [current[path] for path in sorted(current) if path > after][:limit]

    async def playbook_versions(
        self, path: str, *, limit: int = PAGE, namespace: str = DEFAULT
    ) -> list[PlaybookRow]:
        """List the playbooks that were applied under a path, the current one first."""
        return [p for p in reversed(self._applied(namespace)) if p.path == path][:limit]

    def _applied(self, namespace: str) -> list[PlaybookRow]:
        return [p for p in self._playbooks.values() if p.applied and p.namespace == namespace]

    # Shards

    async def claim_shards(
        self, holder: str, shards: Collection[int], *, lease_s: float
    ) -> dict[int, int]:
        """Take shards that are free or whose lease ran out."""
        now = self._clock()
        taken: dict[int, int] = {}
        for shard in shards:
            held_by, epoch, until = self._shards.get(shard, ("", 0, now))
            if held_by != holder or until <= now:
                if until > now:
                    continue
                epoch += 1
            self._shards[shard] = (holder, epoch, now + lease_s)
            taken[shard] = epoch
        return taken

    async def renew_shards(
        self, holder: str, epochs: Mapping[int, int], *, lease_s: float
    ) -> dict[int, int]:
        """Prolong leases; return those that are still the holder's."""
        kept = {shard: epoch for shard, epoch in epochs.items() if self._has(holder, shard, epoch)}
        until = self._clock() + lease_s
        self._shards.update({shard: (holder, epoch, until) for shard, epoch in kept.items()})
        return kept

    async def release_shards(self, holder: str, epochs: Mapping[int, int]) -> None:
        """Give shards back."""
        for shard, epoch in epochs.items():
            if self._has(holder, shard, epoch):
                self._shards[shard] = ("", epoch, self._clock())

    async def shards(self) -> dict[int, ShardRow]:
        """Return who holds which shard."""
        now = self._clock()
        return {
            shard: ShardRow(holder=holder, epoch=epoch, held=until > now)
            for shard, (holder, epoch, until) in self._shards.items()
        }

    async def enrol(self, holder: str, *, lease_s: float) -> list[str]:
        """Say that an engine is there; return all that are."""
        now = self._clock()
        self._engines[holder] = now + lease_s
        self._engines = {name: until for name, until in self._engines.items() if until > now}
        return sorted(self._engines)

    def _has(self, holder: str, shard: int, epoch: int) -> bool:
        return self._shards.get(shard, ("", 0, 0.0))[:2] == (holder, epoch)

    # Care

    async def expire(self, before: float, *, limit: int = PAGE) -> Expired:
        """Delete executions that ended before a time."""
        ended = ((s.row.ended, key) for key, s in self._streams.items() if s.row.ended is not None)
        gone = [key for at, key in sorted(ended) if at < before][:limit]
        deleted = self._delete(gone)
        held = {name for stream in self._streams.values() for name in stream.commands}
        for command in [c for c, a in self._answers.items() if a.at < before and c not in held]:
            del self._answers[command]
        return deleted

    async def archive(
        self, path: str, namespace: str = DEFAULT, note: AuditNote | None = None
    ) -> int:
        """Let nobody find the playbooks of a path any more."""
        gone = [p for p in self._applied(namespace) if p.path == path]
        self.accounts.add_notes(note if gone else None)
        for row in gone:
            self._playbooks[row.digest, namespace] = msgspec.structs.replace(row, applied=0.0)
        return len(gone)

    async def remove(self, executions: Sequence[str], note: AuditNote | None = None) -> Expired:
        """Delete those of some executions that have ended."""
        known = [key for key in sorted(set(executions)) if key in self._streams]
        gone = [key for key in known if self._streams[key].row.ended is not None]
        self.accounts.add_notes(note if gone else None)
        return self._delete(gone)

    def _delete(self, gone: list[str]) -> Expired:
        streams = [self._streams.pop(key) for key in gone]
        left = {key for stream in self._streams.values() for key in stream.objects}
        self._orphans |= {key for stream in streams for key in stream.objects} - left
        for stream in streams:
            for command in stream.commands:
                self._answers.pop(command, None)
        records = sum(len(stream.records) for stream in streams)
        return Expired(executions=tuple(gone), records=records)

    async def refers_to(self, prefix: str) -> bool:
        """Whether any execution refers to an object whose key begins like that."""
        keys = (key for stream in self._streams.values() for key in stream.objects)
        return any(key.startswith(prefix) for key in keys)

    async def orphans(self, *, limit: int = PAGE) -> list[str]:
        """List keys of objects that nothing refers to any more."""
        return sorted(self._orphans)[:limit]

    async def forget_orphans(self, keys: Sequence[str]) -> None:
        """Say that those objects have been deleted."""
        self._orphans.difference_update(keys)

    async def stats(self) -> Stats:
        """Count what is there."""
        streams = self._streams.values()
        return Stats(
            executions=_counted(stream.row.status for stream in streams),
            records=sum(len(stream.records) for stream in streams),
            wake_ups=sum(stream.wake is not None for stream in streams),
            pending=sum(len(stream.pending) for stream in streams),
            work_items=_counted(item.state for s in streams for item in s.items.values()),
            orphans=len(self._orphans),
            bytes=0,
        )

    async def backup(self, target: Path) -> None:
        """Refuse: there is no file to copy."""
        raise UsageError(f"a store in memory cannot be copied to {target}; use a file")

    async def verify(self) -> list[str]:
        """Return nothing: what commit checked cannot have changed since."""
        return []

    async def now(self) -> float:
        """Return the store's time."""
        return self._clock()

    async def close(self) -> None:
        """Let go; the contents stay readable for a test that looks at them."""

    def _within(self, shards: Collection[int] | None) -> Iterator[tuple[str, _Stream]]:
        for key, stream in self._streams.items():
            if shards is None or shard_of(key) in shards:
                yield key, stream

    def _wake_ups(self, shards: Collection[int] | None) -> Iterator[WakeUp]:
        for key, stream in self._within(shards):
            if stream.wake is not None:
                yield WakeUp(execution=key, due=stream.wake)

    def _items(self, wanted: WorkItemFilter) -> Iterator[WorkItemRow]:
        for stream in self._streams.values():
            of = stream.row
            yield from (item for item in stream.items.values() if item_fits(item, of, wanted))


def _touched(row: ExecutionRow, at: float) -> ExecutionRow:
    return msgspec.structs.replace(row, updated=at)


def _place(stored: StoredExecution) -> tuple[float, str]:
    return (stored.row.started, stored.row.id)


def _counted(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _counted_as(row: ExecutionRow, by: CountedBy) -> tuple[str | int, str]:
    if by == "hour":
        return int(row.started // 3600) * 3600, row.status
    return (row.status if by == "status" else row.playbook), ""
