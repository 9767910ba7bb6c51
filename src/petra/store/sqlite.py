"""The store in one SQLite file: WAL, synced at every commit, one owner.

Rule 1: one process owns the file, by a lock that dies with it. Others may open it for reading only.
Rule 2: one connection writes and checkpoints, one transaction at a time, which begins IMMEDIATE; whatever waits
for the disk or for a lock, or touches many rows, runs in a thread. Readers are other connections that cannot write.
Rule 3: a full disk refuses the batch and nothing else. Any other error of reading, writing or syncing the
file ends the use of it: after a failed sync nobody knows what the disk holds, and asking again would lie.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TypeVar

import apsw

from petra.errors import UsageError
from petra.namespaces import DEFAULT
from petra.private import make_file, make_folder
from petra.store import damage, losses
from petra.store import sqlite_items as items
from petra.store import sqlite_lists as lists
from petra.store import sqlite_modes as modes
from petra.store import sqlite_read as reading
from petra.store import sqlite_schema as schema
from petra.store import sqlite_search as searching
from petra.store import sqlite_tallies as tallying
from petra.store import sqlite_write as writing
from petra.store.anchor import ANCHOR_SYNC_S, Anchor, AnchoredHead, Lost, anchor_of, read_anchor
from petra.store.base import PAGE, READ_LIMIT, Committed, CountedBy
from petra.store.bus import InProcessBus
from petra.store.errors import BrokenError, FullError, LossError, StoreError, UnavailableError
from petra.store.judge import check_batch
from petra.store.lease_file import LeaseFile, lease_file_of
from petra.store.owner import Ownership
from petra.store.queries import load_queries
from petra.store.remembered import Remembered
from petra.store.rows import (
    Answer,
    AuditNote,
    Batch,
    ExecutionCount,
    ExecutionFilter,
    Expired,
    Letter,
    Page,
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
)
from petra.store.side_thread import SideThread
from petra.store.sqlite_accounts import SqliteAccounts
from petra.store.sqlite_arrivals import SqliteArrivals
from petra.store.sqlite_notifications import SqliteNotifications
from petra.store.sqlite_permits import SqlitePermits
from petra.store.upkeep import Upkeep

READERS = 2
CHECKPOINT_PAGES = 4_000
BUSY_MS = 5_000

T = TypeVar("T")


class SqliteStore:
    """A store in a file. Make one with ``await SqliteStore.open(path)``."""

    def __init__(self, path: Path, *, readonly: bool, vfs: str | None) -> None:
        self.path = path
        self._readonly = readonly
        self._vfs = vfs
        self._broken: str | None = None
        self._wal_pages = 0
        self._order = asyncio.Lock()
        self._heads = writing.Heads()
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._owner: Ownership | None = None
        self._writing: apsw.Connection | None = None
        self._anchor: Anchor | None = None
        self._leases = LeaseFile(lease_file_of(path))
        self._syncing: asyncio.TimerHandle | None = None
        self._writer = SideThread("petra-store-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="petra-store-reader")
        self.bus = InProcessBus()
        self.accounts = SqliteAccounts(self._read, self._write, shared=readonly)
        self._applied = Remembered[tuple[str, str | None, str], PlaybookRow](shared=readonly)
        self.notifications = SqliteNotifications(self._read, self._write)
        self.permits = SqlitePermits(self._read)
        self.arrivals = SqliteArrivals(self._read, self._write)
        search, tally = searching.index_some, tallying.add_some
        self._search = Upkeep(lambda: self._read(searching.is_behind), lambda: self._write(search, aside=True))  # fmt: skip
        self._tallies = Upkeep(lambda: self._read(tallying.is_behind), lambda: self._write(tally, aside=True))  # fmt: skip

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        readonly: bool = False,
        vfs: str | None = None,
        accept_loss: bool = False,
    ) -> SqliteStore:
        """Open a file, make it if it is not there, and bring its schema up to date.

        ``vfs`` names an SQLite VFS, for tests that inject faults. With ``accept_loss`` it goes on from what is
        there, whatever is lost.

        Raises:
            HeldError: another process owns the file.
            LossError: something that had been stored is not there any more; nothing was changed.
            SchemaError: the file was written by other code.
        """
        store = cls(path, readonly=readonly, vfs=vfs)
        try:
            await store._writer.run(lambda: store._open(accept_loss=accept_loss))
            if readonly:
                await schema.settled(path, lambda: store._writer.run(store._lacks))
        except BaseException:
            await store.close()
            raise
        return store

    def _open(self, *, accept_loss: bool) -> None:
        if self._readonly:
            if not self.path.exists():
                raise UsageError(f"there is no store at {self.path}")
            self._guarded(self._reader)
            return
        make_folder(self.path.parent)
        self._owner = Ownership(self.path)
        if self._vfs is None:
            make_file(self.path)  # the files that SQLite makes beside it get its mode
        self._guarded(lambda: self._open_writer(accept_loss=accept_loss))
        self._anchor = Anchor(anchor_of(self.path))

    def _lacks(self) -> bool:
        return self._guarded(lambda: bool(schema.missing(self._reader())))

    def _open_writer(self, *, accept_loss: bool) -> None:
        connection = apsw.Connection(str(self.path), vfs=self._vfs)
        self._connections.append(connection)
        connection.set_busy_timeout(BUSY_MS)
        modes.set_up(connection)
        connection.set_wal_hook(self._count_pages)
        lost = losses.lost(connection, anchor_of(self.path), all_of_it=accept_loss)
        if lost and accept_loss:
            losses.accept(connection, self.path, lost)
        elif lost:
            connection.config(
                apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1
            )  # keep it for whoever mends it
            raise LossError(losses.words(self.path, lost))
        self._writing = connection
        schema.migrate(connection)
        self._leases.take(lambda rows: writing.lease_at_once(connection, rows))
        connection.set_busy_timeout(0)  # the loop never waits for a lock

    def _count_pages(self, connection: apsw.Connection, name: str, pages: int) -> int:
        del connection, name
        self._wal_pages = pages
        return apsw.SQLITE_OK

    # Threads and transactions

    def _check_writable(self) -> None:
        if self._readonly:
            raise UsageError(f"{self.path} was opened for reading only")
        if self._broken is not None:
            raise BrokenError(self._broken)

    async def _write(
        self,
        work: Callable[[apsw.Connection], T],
        *,
        moved: Sequence[AnchoredHead] = (),
        gone: Callable[[T], Collection[str]] = lambda _: (),
        aside: bool = False,
    ) -> T:
        """Run ``work`` in one durable transaction.

        It may fill ``moved`` with where logs stand after it, and ``gone`` tells which executions it deletes.

        The statements run here, for they touch memory only; the commit, which waits for the disk, runs in
        the writer's thread without the interpreter. Were the statements there too, each of them would have
        to win the interpreter back from a busy loop. Only where another program has the file locked is the
        lock waited for in the thread, and what touches many rows at once is done there, ``aside``.
        A commit of one change is alone: there is little else to do, and a quick disk is quicker than the loop.
        """
        self._check_writable()
        async with self._order:
            try:
                if aside or not self._guarded(lambda: modes.begin(self._connection)):
                    begin = lambda: modes.wait_and_begin(self._connection, BUSY_MS)  # noqa: E731
                    await self._writer.run(lambda: self._guarded(begin))
                if aside:
                    result = await self._writer.run(lambda: self._guarded(lambda: self._do(work)))
                else:
                    result = self._guarded(lambda: self._do(work))
                deleted = gone(result)
                commit = lambda: self._guarded(lambda: self._commit(moved, deleted))  # noqa: E731
                await self._writer.run(commit, alone=len(moved) == 1)
            except BaseException:
                self._heads.clear()
                self._roll_back()  # whoever waited was told to stop in the middle of it
                raise
            if self._wal_pages >= CHECKPOINT_PAGES:
                self._wal_pages = 0
                await self._writer.run(lambda: self._guarded(self._checkpoint))
        if moved:
            self._sync_soon()
        return result

    def _sync_soon(self) -> None:
        if self._syncing is None:
            loop = asyncio.get_running_loop()
            self._syncing = loop.call_later(ANCHOR_SYNC_S, self._sync)

    def _sync(self) -> None:
        self._syncing = None
        if self._anchor is not None:
            for sync in (self._anchor.sync, *self._leases.syncs()):
                self._writer.leave(sync)

    @property
    def _connection(self) -> apsw.Connection:
        """The connection that writes."""
        assert self._writing is not None, "the store is open for writing"
        return self._writing

    def _do(self, work: Callable[[apsw.Connection], T]) -> T:
        try:
            return work(self._connection)
        except BaseException:
            self._roll_back()
            raise

    def _commit(self, moved: Sequence[AnchoredHead], deleted: Collection[str]) -> None:
        anchor = self._anchor
        assert anchor is not None, "the store is open for writing"
        try:
            if deleted:
                losses.release(anchor, deleted)
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        if moved:
            anchor.append(moved)

    def _roll_back(self) -> None:
        connection = self._writing
        if connection is not None and self._broken is None and connection.in_transaction:
            connection.execute("ROLLBACK")

    def _guarded(self, work: Callable[[], T]) -> T:
        """Turn SQLite's errors into ours; after damage, refuse everything."""
        if self._broken is not None:
            raise BrokenError(self._broken)
        try:
            return work()
        except apsw.FullError as error:
            raise FullError(
                f"no space left for {self.path}; nothing of the batch was stored. Free some space:"
                " writing goes on by itself"
            ) from error
        except damage.KINDS as error:
            self._broken = damage.words(self.path, error)
            raise BrokenError(self._broken) from error
        except apsw.BusyError as error:
            raise UnavailableError(f"{self.path} is locked by another program ({error})") from error

    def _checkpoint(self) -> None:
        try:
            written, moved = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if written == moved and self._anchor is not None:
                self._anchor.settle()
        except (apsw.FullError, apsw.BusyError):
            self._wal_pages = (
                CHECKPOINT_PAGES  # the log keeps everything: tried again after the next commit
            )

    async def _read(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run ``work`` on a reader, inside one read transaction."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._guarded, lambda: self._look(work))

    def _look(self, work: Callable[[apsw.Connection], T]) -> T:
        connection = self._reader()
        connection.execute("BEGIN")
        try:
            return work(connection)
        finally:
            connection.execute("ROLLBACK")

    def _reader(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = apsw.Connection(
                str(self.path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=self._vfs
            )
            self._connections.append(connection)
            connection.set_busy_timeout(BUSY_MS)
            modes.set_up_reader(connection)
            self._local.connection = connection
        return connection

    async def close(self) -> None:
        """Finish what was begun, move the log into the file, and let go of it."""
        if self._syncing is not None:
            self._syncing.cancel()
        await self._search.close()
        await self._tallies.close()
        with suppress(StoreError):  # then whoever opens the file next finds them beside it
            await self._move_leases()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._readers.shutdown()
        self._writer.close()
        try:
            for connection in reversed(self._connections):
                connection.close(self._broken is not None)
        except apsw.Error as error:
            raise StoreError(f"{self.path} was not closed cleanly: {error}") from error
        finally:
            self._connections.clear()
            self._leave_anchor()
            if self._owner is not None:
                self._leases.leave()
                self._owner.release()
                self._owner = None

    def _leave_anchor(self) -> None:
        if self._anchor is None:
            return
        if self._broken is None and not self.path.with_name(self.path.name + "-wal").exists():
            self._anchor.settle()
        if not self._anchor.is_synced:
            self._anchor.sync()
        self._anchor.close()
        self._anchor = None

    # Writing

    async def commit(self, batch: Batch) -> Committed:
        """Store a batch; see ``Store.commit``."""
        check_batch(batch)
        moved: list[AnchoredHead] = []
        with self._applied.changing() if batch.playbooks else nullcontext():
            done = await self._write(
                lambda c: writing.BatchWriter(c, self._heads, moved).write(batch), moved=moved
            )
        if self._leases and done.applied:
            for change in batch.changes:
                self._leases.released(change.execution, change.released)
        return done

    async def claim_shards(
        self, holder: str, shards: Collection[int], *, lease_s: float
    ) -> dict[int, int]:
        """Take shards that are free or whose lease ran out."""
        return await self._write(lambda c: writing.claim_shards(c, holder, shards, lease_s))

    async def lease(self, rows: Sequence[PendingRow]) -> set[str]:
        """Write down under which leases workers elsewhere have assignments."""
        self._check_writable()
        self._leases.write(rows)
        self._sync_soon()
        return {row.lease for row in rows}

    async def _move_leases(self) -> None:
        """Write the leases that lie beside the database into their rows, for whoever reads those."""
        if self._leases:
            rows = self._leases.rows()
            await self._write(lambda c: writing.lease(c, rows))
            self._leases.moved(rows)

    async def renew_shards(
        self, holder: str, epochs: Mapping[int, int], *, lease_s: float
    ) -> dict[int, int]:
        """Prolong leases; return those that are still the holder's."""
        return await self._write(lambda c: writing.renew_shards(c, holder, epochs, lease_s))

    async def release_shards(self, holder: str, epochs: Mapping[int, int]) -> None:
        """Give shards back."""
        await self._write(lambda c: writing.renew_shards(c, holder, epochs, None))

    async def shards(self) -> dict[int, ShardRow]:
        """Return who holds which shard."""
        return await self._read(reading.shards)

    async def enrol(self, holder: str, *, lease_s: float) -> list[str]:
        """Say that an engine is there; return all that are."""
        return await self._write(lambda c: writing.enrol(c, holder, lease_s))

    async def expire(self, before: float, *, limit: int = PAGE) -> Expired:
        """Delete executions that ended before a time; their records go in pieces behind it."""
        return await self._delete(lambda c: writing.expire_streams(c, before, limit))

    async def remove(self, executions: Sequence[str], note: AuditNote | None = None) -> Expired:
        """Delete those of some executions that have ended."""
        return await self._delete(lambda c: writing.remove_streams(c, executions, note))

    async def _delete(self, work: Callable[[apsw.Connection], list[tuple[str, int]]]) -> Expired:
        gone = await self._write(work, gone=lambda rows: [name for name, _ in rows], aside=True)
        while await self._write(writing.purge_records, aside=True):
            pass
        await self._tallies.tend()
        names = tuple(execution for execution, _ in gone)
        return Expired(executions=names, records=sum(version for _, version in gone))

    async def archive(
        self, path: str, namespace: str = DEFAULT, note: AuditNote | None = None
    ) -> int:
        """Let nobody find the playbooks of a path any more."""
        with self._applied.changing():
            return await self._write(lambda c: writing.archive(c, path, namespace, note))

    async def forget_orphans(self, keys: Sequence[str]) -> None:
        """Say that those objects have been deleted."""
        sql = load_queries("sqlite")["forget_orphan"]
        await self._write(lambda c: c.executemany(sql, [(key,) for key in keys]))

    # Reading

    async def read(
        self, execution: str, *, after: int = 0, limit: int = READ_LIMIT
    ) -> list[RecordRow]:
        """Return records, oldest first."""
        return await self._read(lambda c: reading.read(c, execution, after, limit))

    async def logs(
        self, executions: Collection[str], *, most: int = READ_LIMIT
    ) -> dict[str, tuple[StoredExecution, list[RecordRow]]]:
        """Return several executions with their whole logs."""
        return await self._read(lambda c: reading.logs(c, executions, most))

    async def execution(self, execution: str) -> StoredExecution | None:
        """Return an execution, or None."""
        return await self._read(lambda c: reading.execution(c, execution))

    async def executions(
        self, wanted: ExecutionFilter, *, cursor: str | None = None, limit: int = PAGE, look_at: int | None = None
    ) -> Page[StoredExecution]:  # fmt: skip
        """List executions, latest start first."""
        page = await self._read(lambda c: lists.executions(c, wanted, cursor, limit, look_at))
        if wanted.text and not self._readonly:
            await self._search.tend()
        return page

    async def live(
        self, *, shards: Collection[int] | None = None, after: str = "", limit: int = PAGE
    ) -> list[StoredExecution]:
        """List executions that have not ended."""
        return await self._read(lambda c: reading.live(c, shards, after, limit))

    async def count_executions(
        self, wanted: ExecutionFilter, by: CountedBy, *, cursor: str | None = None, look_at: int | None = None
    ) -> Page[ExecutionCount]:  # fmt: skip
        """Count executions by something."""
        counts = await self._read(lambda c: lists.count_executions(c, wanted, by, cursor, look_at))
        if not self._readonly:
            await self._tallies.tend()
        return counts

    async def snapshot(self, execution: str, *, upto: int | None = None) -> Snapshot | None:
        """Return the latest snapshot, or None."""
        return await self._read(lambda c: reading.snapshot(c, execution, upto))

    async def due(
        self, until: float, *, shards: Collection[int] | None = None, limit: int = PAGE
    ) -> list[WakeUp]:
        """List wake-ups that are due."""
        return await self._read(lambda c: reading.due(c, until, shards, limit))

    async def pending(
        self,
        *,
        shards: Collection[int] | None = None,
        after: tuple[str, str, str] = ("", "", ""),
        limit: int = READ_LIMIT,
    ) -> list[PendingRow]:
        """List assignments that are out."""
        await self._move_leases()
        return await self._read(lambda c: reading.pending(c, shards, after, limit))

    async def leased(self, leases: Collection[str]) -> list[PendingRow]:
        """List the assignments that are out under some leases."""
        await self._move_leases()
        return await self._read(lambda c: reading.leased(c, leases))

    async def letters(
        self, *, shards: Collection[int] | None = None, limit: int = PAGE
    ) -> list[Letter]:
        """List letters that nobody has carried out yet."""
        return await self._read(lambda c: reading.letters(c, shards, limit))

    async def work_items(
        self, wanted: WorkItemFilter, *, cursor: str | None = None, limit: int = PAGE
    ) -> Page[WorkItemRow]:
        """List work items in the order that is wanted."""
        return await self._read(lambda c: items.work_items(c, wanted, cursor, limit))

    async def count_work_items(self, wanted: WorkItemFilter) -> dict[str, int]:
        """Count work items by state."""
        return await self._read(lambda c: items.count_work_items(c, wanted))

    async def work_item(self, execution: str, item: str) -> WorkItemRow | None:
        """Return a work item, or None."""
        return await self._read(lambda c: items.work_item(c, execution, item))

    async def answer(self, command: str) -> Answer | None:
        """Return what a command was answered, or None."""
        return await self._read(lambda c: reading.answer(c, command))

    async def playbook(self, digest: str, namespace: str | None = None) -> PlaybookRow | None:
        """Return a playbook by its digest, or None."""
        return await self._read(lambda c: reading.playbook(c, digest, namespace))

    async def find_playbook(
        self, path: str, version: str | None = None, namespace: str = DEFAULT
    ) -> PlaybookRow | None:
        """Return the playbook applied last under a path, else under a name, or None."""
        ask = lambda c: reading.find_playbook(c, path, version, namespace)  # noqa: E731 - read, if at all
        return await self._applied.get((path, version, namespace), lambda: self._read(ask))

    async def playbooks(
        self, *, after: str = "", limit: int = PAGE, namespace: str = DEFAULT
    ) -> list[PlaybookRow]:
        """List the current playbook of every path."""
        return await self._read(lambda c: reading.playbooks(c, after, limit, namespace))

    async def playbook_versions(
        self, path: str, *, limit: int = PAGE, namespace: str = DEFAULT
    ) -> list[PlaybookRow]:
        """List the playbooks that were applied under a path, the current one first."""
        return await self._read(lambda c: reading.playbook_versions(c, path, limit, namespace))

    async def refers_to(self, prefix: str) -> bool:
        """Whether any execution refers to an object whose key begins like that."""
        return await self._read(lambda c: reading.refers_to(c, prefix))

    async def orphans(self, *, limit: int = PAGE) -> list[str]:
        """List keys of objects that nothing refers to any more."""
        return await self._read(lambda c: reading.orphans(c, limit))

    async def stats(self) -> Stats:
        """Count what is there."""
        return await self._read(reading.stats)

    async def verify(self) -> list[str]:
        """Check the file, the links of every chain and the heads."""
        faults = await self._read(reading.verify)
        return faults + [f"execution '{loss.execution}': {loss}" for loss in await self.lost()]

    async def lost(self) -> list[Lost]:
        """Return what had been stored and is not there, whoever writes meanwhile."""
        ask = lambda c: losses.lost(c, anchor_of(self.path), all_of_it=True)  # noqa: E731 - twice
        before = await self._read(ask)
        # what was deleted after the anchor had been read is named in it by now
        return [loss for loss in await self._read(ask) if loss in before] if before else []

    async def accepted(self) -> list[Lost]:
        """Return what was lost once and accepted."""
        return await asyncio.to_thread(lambda: read_anchor(anchor_of(self.path)).accepted)

    async def now(self) -> float:
        """Return the store's time: that of the machine the file is on."""
        return await self._read(reading.now)

    async def backup(self, target: Path) -> None:
        """Copy the store as of one moment into a new file, while others read and write."""
        loop = asyncio.get_running_loop()
        copy = lambda: reading.backup(self._reader(), target)  # noqa: E731 - runs in a reader's thread
        await loop.run_in_executor(self._readers, self._guarded, copy)
