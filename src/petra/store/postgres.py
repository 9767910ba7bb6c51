"""The store in PostgreSQL: many engines, each owning some shards.

Rule 1: every commit checks the caller's epochs and the versions of its executions in its own transaction;
whoever lost a shard is told so by the database.
Rule 2: a connection that is lost before COMMIT was sent means that nothing happened; lost while it was under
way means that nobody knows, and committing the same batch again tells.
Rule 3: ``synchronous_commit`` is on, whatever the server's default is.

Backups are the database's own business (``pg_dump``, base backups): ``backup`` says so and refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import asyncpg  # type: ignore[import-untyped]

from petra.errors import UsageError
from petra.namespaces import DEFAULT
from petra.store import postgres_items as items
from petra.store import postgres_lists as lists
from petra.store import postgres_write as writing
from petra.store.base import PAGE, READ_LIMIT, Committed, CountedBy
from petra.store.columns import execution_of, pending_of
from petra.store.errors import FullError, UnavailableError, UncertainError
from petra.store.judge import behind, check_batch, write_cursor
from petra.store.postgres_accounts import PostgresAccounts
from petra.store.postgres_arrivals import PostgresArrivals
from petra.store.postgres_bus import PostgresBus
from petra.store.postgres_notifications import PostgresNotifications
from petra.store.postgres_permits import PostgresPermits
from petra.store.postgres_tallies import add_some, is_behind
from petra.store.postgres_write import Connection
from petra.store.queries import load_migrations, load_queries, missing_migrations
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
from petra.store.tallies import off
from petra.store.upkeep import Upkeep

COMMAND_TIMEOUT_S = 60.0
CLOSE_TIMEOUT_S = 5.0
COMMIT_TRIES = 5
CONNECTIONS = 8
SETTINGS = {
    "application_name": "petra",
    "synchronous_commit": "on",
    "idle_in_transaction_session_timeout": "60s",
    "jit": "off",
}

T = TypeVar("T")

_SQL = load_queries("postgres")
_LOST = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
)
# A value that no column can hold, found by the client (an InterfaceError) or by the server.
_UNFIT = (
    asyncpg.exceptions._base.DataError,  # noqa: SLF001 - it has no other name
    asyncpg.DataError,
    asyncpg.ProgramLimitExceededError,
)
# Two engines did the same at once and neither is committed: look again, the other one is visible now.
_AGAIN = (asyncpg.UniqueViolationError, asyncpg.DeadlockDetectedError, asyncpg.SerializationError)


async def _leave_as_it_is(_connection: Connection) -> None:
    """Spare a connection the way to the database after each use: no use of ours leaves anything behind."""


class PostgresStore:
    """A store in a database. Make one with ``await PostgresStore.open(dsn)``."""

    def __init__(self, pool: asyncpg.Pool, dsn: str) -> None:
        self._pool = pool
        self._indexed = False
        self.bus = PostgresBus(dsn)
        self.accounts = PostgresAccounts(self._fetch, self._write)
        self.notifications = PostgresNotifications(self._fetch, self._write)
        self.permits = PostgresPermits(self._fetch)
        self.arrivals = PostgresArrivals(self._fetch, self._write)
        self._tallies = Upkeep(lambda: is_behind(self._fetch), lambda: self._write(add_some))

    @classmethod
    async def open(cls, dsn: str, *, connections: int = CONNECTIONS) -> PostgresStore:
        """Connect, and bring the schema up to date.

        Raises:
            UnavailableError: the database cannot be reached.
            SchemaError: the database was written by other code.
        """
        try:
            pool = await asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=connections,
                command_timeout=COMMAND_TIMEOUT_S,
                server_settings=SETTINGS,
                reset=_leave_as_it_is,
            )
        except (*_LOST, asyncpg.PostgresError) as error:
            raise UnavailableError(f"the database cannot be reached: {error}") from error
        store = cls(pool, dsn)
        try:
            await store._migrate()
            store._indexed = bool((await store._fetch("has_search_index"))[0][0])
        except BaseException:
            await store.close()
            raise
        return store

    async def _migrate(self) -> None:
        known = load_migrations("postgres")
        async with self._transaction() as connection:
            await connection.execute(_SQL["migration_lock"])
            await connection.execute(_SQL["make_migrations"])
        while True:
            async with self._transaction() as connection:
                await connection.execute(_SQL["migration_lock"])
                rows = await connection.fetch(_SQL["applied_migrations"])
                missing = missing_migrations(known, [(r[0], r[1], r[2]) for r in rows])
                if not missing:
                    return
                step = missing[0]
                await connection.execute(step.sql)
                await connection.execute(
                    _SQL["record_migration"], step.number, step.name, step.checksum
                )

    async def close(self) -> None:
        """Close all connections; what is under way is finished first."""
        await self.bus.close()
        await self._tallies.close()
        try:
            await asyncio.wait_for(self._pool.close(), CLOSE_TIMEOUT_S)
        except TimeoutError:
            self._pool.terminate()  # the database does not answer

    # Transactions

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Connection]:
        """Begin, and commit at the end; say what is known when the database goes away."""
        committing = False
        try:
            async with self._pool.acquire() as connection:
                transaction = connection.transaction()
                await transaction.start()
                try:
                    yield connection
                except BaseException:
                    if not connection.is_closed():
                        await transaction.rollback()
                    raise
                committing = True
                await transaction.commit()
        except asyncpg.DiskFullError as error:
            raise FullError("the database has no space left; nothing was stored") from error
        except _UNFIT as error:
            raise UsageError(
                f"PostgreSQL cannot store this: {error}; nothing was stored"
            ) from error
        except _LOST as error:
            if committing:
                raise UncertainError(
                    f"the database was lost during COMMIT ({error}); commit the same batch again"
                ) from error
            raise UnavailableError(
                f"the database was lost ({error}); nothing was stored"
            ) from error

    async def _write(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        met: Exception | None = None
        for _ in range(COMMIT_TRIES):
            try:
                async with self._transaction() as connection:
                    return await work(connection)
            except _AGAIN as error:
                met = error
        raise UnavailableError(f"{COMMIT_TRIES} tries met others at the same rows ({met})") from met

    async def _fetch(self, name: str, *args: object) -> list[asyncpg.Record]:
        return await self._ask(_SQL[name], args)

    async def _ask(self, sql: str, args: Sequence[object]) -> list[asyncpg.Record]:
        return await _looked_for(self._pool.fetch(sql, *args))

    async def _ask_planned(self, sql: str, args: Sequence[object]) -> list[asyncpg.Record]:
        """Ask what is planned for its values, however often it is asked."""

        async def ask() -> list[asyncpg.Record]:
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(_SQL["planned_for_values"])
                rows: list[asyncpg.Record] = await connection.fetch(sql, *args)
            return rows

        return await _looked_for(ask())

    async def _fetch_in(
        self, name: str, shards: Collection[int] | None, *args: object
    ) -> list[asyncpg.Record]:
        """Look in some shards, each by an index of its own, or everywhere."""
        if shards is None:
            return await self._fetch(name, *args)
        return await self._fetch(f"{name}_in", *args, sorted(shards))

    async def _one(self, name: str, *args: object) -> asyncpg.Record | None:
        rows = await self._fetch(name, *args)
        return rows[0] if rows else None

    # Writing

    async def commit(self, batch: Batch) -> Committed:
        """Store a batch; see ``Store.commit``."""
        check_batch(batch)
        return await self._write(lambda c: writing.BatchWriter(c).write(batch))

    async def claim_shards(
        self, holder: str, shards: Collection[int], *, lease_s: float
    ) -> dict[int, int]:
        """Take shards that are free or whose lease ran out."""
        args = (sorted(shards), holder, float(lease_s))
        return dict(await self._write(lambda c: c.fetch(_SQL["claim_shards"], *args)))

    async def lease(self, rows: Sequence[PendingRow]) -> set[str]:
        """Write down under which leases workers elsewhere have assignments."""
        args = (
            [row.lease for row in rows], [row.execution for row in rows], [row.pending.run for row in rows],
            [row.pending.chunk for row in rows], [row.pending.delivery for row in rows],
        )  # fmt: skip
        return {row[0] for row in await self._write(lambda c: c.fetch(_SQL["lease"], *args))}

    async def renew_shards(
        self, holder: str, epochs: Mapping[int, int], *, lease_s: float
    ) -> dict[int, int]:
        """Prolong leases; return those that are still the holder's."""
        args = (list(epochs), list(epochs.values()), holder, float(lease_s))
        return dict(await self._write(lambda c: c.fetch(_SQL["renew_shards"], *args)))

    async def release_shards(self, holder: str, epochs: Mapping[int, int]) -> None:
        """Give shards back."""
        args = (list(epochs), list(epochs.values()), holder)
        await self._write(lambda c: c.execute(_SQL["release_shards"], *args))

    async def shards(self) -> dict[int, ShardRow]:
        """Return who holds which shard."""
        return {
            shard: ShardRow(holder=holder, epoch=epoch, held=held)
            for shard, holder, epoch, held in await self._fetch("shards")
        }

    async def enrol(self, holder: str, *, lease_s: float) -> list[str]:
        """Say that an engine is there; return all that are."""

        async def work(connection: Connection) -> list[str]:
            await connection.execute(_SQL["enrol"], holder, float(lease_s))
            await connection.execute(_SQL["dismiss"])
            return [row[0] for row in await connection.fetch(_SQL["engines"])]

        return await self._write(work)

    async def expire(self, before: float, *, limit: int = PAGE) -> Expired:
        """Delete executions that ended before a time; their records go in pieces behind it."""
        return await self._delete(lambda c: writing.expire_streams(c, before, limit))

    async def remove(self, executions: Sequence[str], note: AuditNote | None = None) -> Expired:
        """Delete those of some executions that have ended."""
        return await self._delete(lambda c: writing.remove_streams(c, executions, note))

    async def _delete(
        self, work: Callable[[Connection], Awaitable[list[tuple[str, int]]]]
    ) -> Expired:
        gone = await self._write(work)
        while await self._write(writing.purge_records):
            pass
        await self._tallies.tend()
        names = tuple(execution for execution, _ in gone)
        return Expired(executions=names, records=sum(version for _, version in gone))

    async def archive(
        self, path: str, namespace: str = DEFAULT, note: AuditNote | None = None
    ) -> int:
        """Let nobody find the playbooks of a path any more."""
        return await self._write(lambda c: writing.archive(c, path, namespace, note))

    async def forget_orphans(self, keys: Sequence[str]) -> None:
        """Say that those objects have been deleted."""
        await self._write(lambda c: c.execute(_SQL["forget_orphans"], list(keys)))

    # Reading

    async def read(
        self, execution: str, *, after: int = 0, limit: int = READ_LIMIT
    ) -> list[RecordRow]:
        """Return records, oldest first."""
        return [
            RecordRow(seq=seq, type=kind, at=at, hash=digest, previous=previous, body=body)
            for seq, kind, at, digest, previous, body in await self._fetch(
                "read", execution, after, limit
            )
        ]

    async def logs(
        self, executions: Collection[str], *, most: int = READ_LIMIT
    ) -> dict[str, tuple[StoredExecution, list[RecordRow]]]:
        """Return several executions with their whole logs."""
        logs: dict[str, tuple[StoredExecution, list[RecordRow]]] = {}
        names = list(executions)
        streams: dict[int, list[RecordRow]] = {}
        for row in await self._fetch("executions_of", names, most):
            stored = execution_of(row)
            logs[stored.row.id] = stored, streams.setdefault(row[13], [])
        for row in await self._fetch("records_of", list(streams)):
            streams[row[0]].append(
                RecordRow(
                    seq=row[1], type=row[2], at=row[3], hash=row[4], previous=row[5], body=row[6]
                )
            )
        # two looks are not one moment: leave out what the log has outrun since
        return {
            key: (stored, records[: stored.version])
            for key, (stored, records) in logs.items()
            if len(records) >= stored.version
        }

    async def execution(self, execution: str) -> StoredExecution | None:
        """Return an execution, or None."""
        row = await self._one("execution", execution)
        return None if row is None else execution_of(row)

    async def executions(
        self, wanted: ExecutionFilter, *, cursor: str | None = None, limit: int = PAGE, look_at: int | None = None
    ) -> Page[StoredExecution]:  # fmt: skip
        """List executions, latest start first."""
        most = None if look_at is None else max(look_at, limit + 1)
        looked = lists.looked_at(wanted, cursor, most, indexed=self._indexed)
        if looked is None:
            return Page(rows=())
        rows = [execution_of(row) for row in await self._ask_planned(*looked.page(limit + 1))]
        if len(rows) > limit:
            last = rows[limit - 1].row
            return Page(rows=tuple(rows[:limit]), cursor=write_cursor(last.started, last.id))
        return Page(rows=tuple(rows), cursor=await self._ended_at(looked))

    async def _ended_at(self, looked: lists.LookedAt) -> str | None:
        """Return a cursor at the last that was looked at; None where no more is there."""
        query = looked.end()
        latest = [] if query is None else await self._ask_planned(*query)
        return write_cursor(*latest[0]) if latest else None

    async def live(
        self, *, shards: Collection[int] | None = None, after: str = "", limit: int = PAGE
    ) -> list[StoredExecution]:
        """List executions that have not ended."""
        return [
            execution_of(row) for row in await self._fetch("live", after, _shards(shards), limit)
        ]

    async def count_executions(
        self, wanted: ExecutionFilter, by: CountedBy, *, cursor: str | None = None, look_at: int | None = None
    ) -> Page[ExecutionCount]:  # fmt: skip
        """Count executions by something."""
        query = lists.tallied_counts(wanted, by) if cursor is None else None
        if query is not None:
            counted = _counts(await self._ask(*query))
            await self._tallies.tend()
            return Page(rows=counted)
        looked = lists.looked_at(wanted, cursor, look_at, indexed=self._indexed)
        if looked is None:
            return Page(rows=())
        counted = _counts(await self._ask_planned(*looked.counts(by)))
        return Page(rows=counted, cursor=await self._ended_at(looked))

    async def snapshot(self, execution: str, *, upto: int | None = None) -> Snapshot | None:
        """Return the latest snapshot, or None."""
        row = await self._one("snapshot", execution, upto)
        return None if row is None else Snapshot(version=row[0], body=row[1])

    async def due(
        self, until: float, *, shards: Collection[int] | None = None, limit: int = PAGE
    ) -> list[WakeUp]:
        """List wake-ups that are due."""
        rows = await self._fetch_in("due", shards, until, limit)
        return [WakeUp(execution=name, due=due) for name, due in rows]

    async def pending(
        self,
        *,
        shards: Collection[int] | None = None,
        after: tuple[str, str, str] = ("", "", ""),
        limit: int = READ_LIMIT,
    ) -> list[PendingRow]:
        """List assignments that are out."""
        return [pending_of(row) for row in await self._fetch_in("pending", shards, *after, limit)]

    async def leased(self, leases: Collection[str]) -> list[PendingRow]:
        """List the assignments that are out under some leases."""
        return [pending_of(row) for row in await self._fetch("leased", list(leases))]

    async def letters(
        self, *, shards: Collection[int] | None = None, limit: int = PAGE
    ) -> list[Letter]:
        """List letters that nobody has carried out yet."""
        return [
            Letter(id=name, execution=execution, body=body, at=at)
            for name, execution, body, at in await self._fetch_in("letters", shards, limit)
        ]

    async def work_items(
        self, wanted: WorkItemFilter, *, cursor: str | None = None, limit: int = PAGE
    ) -> Page[WorkItemRow]:
        """List work items in the order that is wanted."""
        rows = await self._ask(*items.page(wanted, cursor, limit + 1))
        return items.paged(wanted, rows, limit)

    async def count_work_items(self, wanted: WorkItemFilter) -> dict[str, int]:
        """Count work items by state."""
        return {row[0]: row[1] for row in await self._ask(*items.count(wanted))}

    async def work_item(self, execution: str, item: str) -> WorkItemRow | None:
        """Return a work item, or None."""
        row = await self._one("work_item", execution, item)
        return None if row is None else items.work_item(row)

    async def answer(self, command: str) -> Answer | None:
        """Return what a command was answered, or None."""
        row = await self._one("answer", command)
        return row and Answer(command=row[0], request=row[1], body=row[2], at=row[3])

    async def playbook(self, digest: str, namespace: str | None = None) -> PlaybookRow | None:
        """Return a playbook by its digest, or None."""
        row = await self._one("playbook", digest, namespace)
        return None if row is None else _playbook(row)

    async def find_playbook(
        self, path: str, version: str | None = None, namespace: str = DEFAULT
    ) -> PlaybookRow | None:
        """Return the playbook applied last under a path, else under a name, or None."""
        row = await self._one("find_playbook", path, version, namespace)
        return None if row is None else _playbook(row)

    async def playbooks(
        self, *, after: str = "", limit: int = PAGE, namespace: str = DEFAULT
    ) -> list[PlaybookRow]:
        """List the current playbook of every path."""
        rows = await self._fetch("playbooks", after, limit, namespace)
        return [_playbook(row) for row in rows]

    async def playbook_versions(
        self, path: str, *, limit: int = PAGE, namespace: str = DEFAULT
    ) -> list[PlaybookRow]:
        """List the playbooks that were applied under a path, the current one first."""
        rows = await self._fetch("playbook_versions", path, limit, namespace)
        return [_playbook(row) for row in rows]

    async def refers_to(self, prefix: str) -> bool:
        """Whether any execution refers to an object whose key begins like that."""
        return bool((await self._fetch("refers_to", prefix, behind(prefix)))[0][0])

    async def orphans(self, *, limit: int = PAGE) -> list[str]:
        """List keys of objects that nothing refers to any more."""
        return [row[0] for row in await self._fetch("orphans", limit)]

    async def stats(self) -> Stats:
        """Count what is there."""
        by_status = await self._fetch("stats_executions")
        by_state = await self._fetch("stats_work_items")
        rest = (await self._fetch("stats_rest"))[0]
        return Stats(
            executions={row[0]: row[1] for row in by_status},
            records=sum(row[2] for row in by_status),
            wake_ups=rest[0],
            pending=rest[1],
            work_items={row[0]: row[1] for row in by_state},
            orphans=rest[2],
            bytes=rest[3],
        )

    async def verify(self) -> list[str]:
        """Check the links of every chain, the heads, and the tallies; pages are checked by the server's checksums."""
        problems = [
            f"execution '{row[0]}': record {row[1]} does not follow the record before it"
            if row[0] is not None
            else f"record {row[1]} belongs to no execution"
            for row in await self._fetch("broken_links")
        ]
        for name, version, count, last in await self._fetch("broken_heads"):
            problems.append(
                f"execution '{name}' is at version {version}, its log has {count} records and ends at"
                f" {last}"
            )
        return problems + [off(*row) for row in await self._fetch("tallies_that_are_off")]

    async def now(self) -> float:
        """Return the database's time."""
        at: float = (await self._fetch("now"))[0][0]
        return at

    async def backup(self, target: Path) -> None:
        """Refuse: the database has better means."""
        raise UsageError(f"PostgreSQL is backed up with its own tools: pg_dump --file {target}")


def _playbook(row: Sequence[Any]) -> PlaybookRow:
    return PlaybookRow(
        digest=row[0], name=row[1], path=row[2], version=row[3], source=row[4], applied=row[5],
        namespace=row[6], text=row[7] or b"",
    )  # fmt: skip


def _shards(shards: Collection[int] | None) -> list[int] | None:
    return None if shards is None else sorted(shards)


def _counts(rows: Sequence[Sequence[Any]]) -> tuple[ExecutionCount, ...]:
    return tuple(ExecutionCount(key=str(row[0]), count=row[2], status=row[1]) for row in rows)


async def _looked_for(asked: Awaitable[list[asyncpg.Record]]) -> list[asyncpg.Record]:
    """Return what was asked for; say what is known where the database does not answer."""
    try:
        return await asked
    except _UNFIT as error:
        raise UsageError(f"PostgreSQL cannot look for this: {error}") from error
    except _LOST as error:
        raise UnavailableError(f"the database was lost ({error})") from error
