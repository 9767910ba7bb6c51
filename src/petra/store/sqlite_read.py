"""What the SQLite store can be asked. Each function runs in a reader's thread, in one read transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec

from petra.errors import UsageError
from petra.private import make_file
from petra.store.columns import execution_of, pending_of
from petra.store.errors import StoreError
from petra.store.judge import behind
from petra.store.queries import load_queries
from petra.store.rows import (
    Answer,
    Letter,
    PendingRow,
    PlaybookRow,
    RecordRow,
    ShardRow,
    Snapshot,
    Stats,
    StoredExecution,
    WakeUp,
)
from petra.store.sqlite_write import SEQ_BITS, SEQ_MASK
from petra.store.tallies import off

BACKUP_PAGES = 1_000
FEW_PENDING = 20_000
"""Up to so many runs that are out are looked at one by one."""
_SQL = load_queries("sqlite")


def read(connection: apsw.Connection, execution: str, after: int, limit: int) -> list[RecordRow]:
    """Return records, oldest first."""
    stream = connection.execute(_SQL["stream"], (execution,)).get
    if stream is None:
        return []
    base = stream << SEQ_BITS
    rows = connection.execute(_SQL["read"], (base + after, base | SEQ_MASK, limit))
    return [
        RecordRow(seq=seq, type=kind, at=at, hash=digest, previous=previous, body=body)
        for seq, kind, at, digest, previous, body in rows
    ]


def logs(
    connection: apsw.Connection, executions: Collection[str], most: int
) -> dict[str, tuple[StoredExecution, list[RecordRow]]]:
    """Return several executions with their whole logs."""
    logs = {}
    for name in executions:
        stored = execution(connection, name)
        if stored is not None and stored.version <= most:
            logs[name] = stored, read(connection, name, 0, most)
    return logs


def execution(connection: apsw.Connection, name: str) -> StoredExecution | None:
    """Return an execution, or None."""
    row = connection.execute(_SQL["execution"], (name,)).get
    return None if row is None else execution_of(row)


def live(
    connection: apsw.Connection, shards: Collection[int] | None, after: str, limit: int
) -> list[StoredExecution]:
    """List executions that have not ended."""
    values = {"shards": _shards(shards), "after": after, "limit": limit}
    return [execution_of(row) for row in connection.execute(_SQL["live"], values)]


def snapshot(connection: apsw.Connection, name: str, upto: int | None) -> Snapshot | None:
    """Return the latest snapshot, or None."""
    row = connection.execute(_SQL["snapshot"], {"id": name, "upto": upto}).get
    return None if row is None else Snapshot(version=row[0], body=row[1])


def due(
    connection: apsw.Connection, until: float, shards: Collection[int] | None, limit: int
) -> list[WakeUp]:
    """List wake-ups that are due."""
    values = {"until": until, "shards": _shards(shards), "limit": limit}
    rows = connection.execute(_SQL["due"], values)
    return [WakeUp(execution=name, due=at) for name, at in rows]


def letters(
    connection: apsw.Connection, shards: Collection[int] | None, limit: int
) -> list[Letter]:
    """List letters that nobody has carried out yet."""
    rows = connection.execute(_SQL["letters"], {"shards": _shards(shards), "limit": limit})
    return [Letter(id=name, execution=to, body=body, at=at) for name, to, body, at in rows]


def shards(connection: apsw.Connection) -> dict[int, ShardRow]:
    """Return who holds which shard."""
    rows = connection.execute(_SQL["shards"], (now(connection),))
    return {
        shard: ShardRow(holder=holder, epoch=epoch, held=bool(held))
        for shard, holder, epoch, held in rows
    }


def pending(
    connection: apsw.Connection,
    shards: Collection[int] | None,
    after: tuple[str, str, str],
    limit: int,
) -> list[PendingRow]:
    """List assignments that are out."""
    name, run, chunk = after
    values = {
        "execution": name,
        "run": run,
        "chunk": chunk,
        "shards": _shards(shards),
        "limit": limit,
    }
    # of few that are out each is looked at; of many, executions are gone through, which pages go on with
    out = connection.execute(_SQL["pending_counted"], (FEW_PENDING + 1,)).get
    query = _SQL["few_pending" if out <= FEW_PENDING else "pending"]
    return [pending_of(row) for row in connection.execute(query, values)]


def leased(connection: apsw.Connection, leases: Collection[str]) -> list[PendingRow]:
    """List the assignments that are out under some leases."""
    rows = connection.execute(_SQL["leased"], (_json(list(leases)),))
    return [pending_of(row) for row in rows]


def answer(connection: apsw.Connection, command: str) -> Answer | None:
    """Return what a command was answered, or None."""
    row = connection.execute(_SQL["answer"], (command,)).get
    return row and Answer(command=row[0], request=row[1], body=row[2], at=row[3])


def playbook(connection: apsw.Connection, digest: str, namespace: str | None) -> PlaybookRow | None:
    """Return a playbook by its digest, or None."""
    if namespace is not None:
        return _playbook(connection.execute(_SQL["playbook_within"], (digest, namespace)).get)
    return _playbook(connection.execute(_SQL["playbook"], (digest,)).get)


def find_playbook(
    connection: apsw.Connection, path: str, version: str | None, namespace: str
) -> PlaybookRow | None:
    """Return the playbook applied last under a path, else under a name, or None."""
    values = {"path": path, "version": version, "namespace": namespace}
    by_path = _playbook(connection.execute(_SQL["playbook_by_path"], values).get)
    return by_path or _playbook(connection.execute(_SQL["playbook_by_name"], values).get)


def playbooks(
    connection: apsw.Connection, after: str, limit: int, namespace: str
) -> list[PlaybookRow]:
    """List the current playbook of every path."""
    rows = connection.execute(_SQL["playbooks"], (namespace, after, limit))
    return [playbook for row in rows if (playbook := _playbook(row)) is not None]


def playbook_versions(
    connection: apsw.Connection, path: str, limit: int, namespace: str
) -> list[PlaybookRow]:
    """List the playbooks that were applied under a path."""
    rows = connection.execute(_SQL["playbook_versions"], (namespace, path, limit))
    return [playbook for row in rows if (playbook := _playbook(row)) is not None]


def refers_to(connection: apsw.Connection, prefix: str) -> bool:
    """Whether any execution refers to an object whose key begins like that."""
    return bool(connection.execute(_SQL["refers_to"], (prefix, behind(prefix))).get)


def orphans(connection: apsw.Connection, limit: int) -> list[str]:
    """List keys of objects that nothing refers to any more."""
    return [key for (key,) in connection.execute(_SQL["orphans"], (limit,))]


def stats(connection: apsw.Connection) -> Stats:
    """Count what is there."""
    by_status: list[Any] = connection.execute(_SQL["stats_executions"]).fetchall()
    wake_ups, out, orphaned = connection.execute(_SQL["stats_rest"]).get
    pages = connection.pragma("page_count") * connection.pragma("page_size")
    return Stats(
        executions={status: count for status, count, _ in by_status},
        records=sum(records for _, _, records in by_status),
        wake_ups=wake_ups,
        pending=out,
        work_items=dict(connection.execute(_SQL["stats_work_items"])),
        orphans=orphaned,
        bytes=pages,
    )


def verify(connection: apsw.Connection) -> list[str]:
    """Check the file, the links of every chain, the heads, and the tallies."""
    problems = [
        f"the file: {line}"
        for (line,) in connection.execute("PRAGMA integrity_check")
        if line != "ok"
    ]
    if problems:
        return problems
    for stream, seq, what in connection.execute(_SQL["broken_links"]):
        name = connection.execute(_SQL["stream_id"], (stream,)).get
        problems.append(f"execution '{name}': record {seq} {what}")
    for name, version, count, last in connection.execute(_SQL["broken_heads"]):
        problems.append(
            f"execution '{name}' is at version {version}, its log has {count} records and ends at {last}"
        )
    for (stream,) in connection.execute(_SQL["strays"]):
        problems.append(f"records of stream {stream} belong to no execution")
    return problems + [off(*row) for row in connection.execute(_SQL["tallies_that_are_off"])]


def now(connection: apsw.Connection) -> float:
    """Return the time by SQLite's clock."""
    at: float = connection.execute(_SQL["now"]).get
    return at


def backup(connection: apsw.Connection, target: Path) -> None:
    """Copy the store into a new file, a piece at a time, as of the moment the copy began."""
    if target.exists():
        raise UsageError(f"{target} exists already; a backup never overwrites")
    try:
        make_file(target)
        copy = apsw.Connection(str(target))
    except (OSError, apsw.Error) as error:
        raise StoreError(f"{target} cannot be written: {error}") from error
    connection.execute("BEGIN")
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        with copy.backup("main", connection, "main") as pieces:
            while not pieces.done:
                pieces.step(BACKUP_PAGES)
    except apsw.Error as error:
        copy.close(force=True)
        for end in ("", "-journal", "-wal"):
            target.with_name(target.name + end).unlink(missing_ok=True)
        raise StoreError(
            f"{target} could not be written ({error}), and is removed; the store itself goes on"
        ) from error
    finally:
        connection.execute("ROLLBACK")
        copy.close(force=True)


def _playbook(row: Sequence[Any] | None) -> PlaybookRow | None:
    if row is None:
        return None
    return PlaybookRow(
        digest=row[0], name=row[1], path=row[2], version=row[3], source=row[4], applied=row[5],
        namespace=row[6], text=row[7] or b"",
    )  # fmt: skip


def _shards(shards: Collection[int] | None) -> str | None:
    return None if shards is None else _json(sorted(shards))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
