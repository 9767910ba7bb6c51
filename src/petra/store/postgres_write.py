"""Writing a batch to PostgreSQL: a handful of statements, however many executions it holds.

Rows of the same kind go in one statement, as arrays. Shards are locked before executions, and executions in
the order of their streams, so that two engines cannot wait for each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from petra.namespaces import DEFAULT
from petra.store.arrivals import arrival_columns
from petra.store.base import ChangeFate, Committed
from petra.store.judge import (
    NOTHING,
    LogHead,
    judge,
    judge_answers,
    must_write,
    offers,
    owned_lines,
    owns,
    replaces,
    search_text,
)
from petra.store.notifications import notification_columns
from petra.store.permits import permit_columns
from petra.store.postgres_accounts import append_notes, has_noted
from petra.store.postgres_permits import move_lines
from petra.store.queries import load_queries
from petra.store.rows import (
    Answer,
    AuditNote,
    Batch,
    Change,
    ExecutionRow,
    PlaybookRow,
    WorkItemRow,
    shard_of,
)

Connection: TypeAlias = Any  # asyncpg brings no types

STREAM_TABLES = (
    "executions",
    "snapshots",
    "wake_ups",
    "pending",
    "work_items",
    "answers",
    "objects",
)
PURGE_RECORDS = 20_000
# Statements by the kinds of rows they take, with the number of columns of each. Every plain step needs the
# first one and nothing else: each further statement is a further way to the database and back.
_STATEMENTS: dict[str, dict[str, int]] = {
    "write": {"move": 4, "record": 7, "free": 3, "pend": 8},
    "wake": {"sleep": 1, "wake": 4},
}
_ORDER = (
    "update_executions",
    "set_snapshots",
    "insert_answers",
    "insert_objects",
    "forget_orphans",
    "take_letters",
    "post_letters",
    "insert_notifications",
    "insert_permits",
    "delete_permits",
    "insert_arrivals",
)

_SQL = load_queries("postgres")


class BatchWriter:
    """Carries out one batch inside a transaction that the caller began."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: defaultdict[str, list[Sequence[object]]] = defaultdict(list)
        self._streams: dict[str, int] = {}
        self._heads: dict[str, LogHead] = {}
        self._notes: list[AuditNote] = []

    async def write(self, batch: Batch) -> Committed:
        """Judge every change and write those that apply."""
        epochs = await self._lock(batch)
        hashes = await self._hashes(batch.changes)
        known = await self._known(batch)
        outcomes = [
            judge(
                change,
                self._heads.get(change.execution, NOTHING),
                owned=owns(batch, change.execution, epochs),
                known=known,
                stored_hash=hashes.get(change.execution),
            )
            for change in batch.changes
        ]
        answers, refused, new = judge_answers(batch.answers, known)
        await self._changes(batch.changes, outcomes)
        self._rows["insert_answers"] += [_answer(answer, None) for answer in new]
        self._letters(batch)
        if batch.moved:
            moved = owned_lines(batch, epochs)
            await move_lines(self._connection, moved)
            for move in moved:
                self._letters(Batch(letters=move.letters))
        for name, kinds in _STATEMENTS.items():
            if any(self._rows[kind] for kind in kinds):
                columns = [
                    column
                    for kind, width in kinds.items()
                    for column in _transposed(self._rows[kind]) or [[]] * width
                ]
                await self._connection.execute(_SQL[name], *columns)
        for name in _ORDER:
            if self._rows[name]:
                await self._connection.execute(_SQL[name], *_transposed(self._rows[name]))
        stale = await self._playbooks(batch.playbooks)
        if batch.notes and not stale and not await has_noted(self._connection, batch.notes[0]):
            self._notes += batch.notes
        await append_notes(self._connection, *self._notes)
        return Committed(outcomes=tuple(outcomes), answers=answers, refused=refused, stale=stale)

    async def _lock(self, batch: Batch) -> Mapping[int, int]:
        """Lock the shards, then the executions, and learn where they stand; return the epochs."""
        names = [change.execution for change in batch.changes]
        if not names and not batch.moved:
            return {}
        shards: list[int] = []
        if batch.epochs is not None:
            lines = (move.line.shard for move in batch.moved)
            shards = sorted({*map(shard_of, names), *lines})
        epochs: dict[int, int] = {}
        for row in await self._connection.fetch(_SQL["lock"], shards, names):
            if row[0] is None:
                epochs[row[1]] = row[2]
                continue
            self._streams[row[0]] = row[1]
            self._heads[row[0]] = LogHead(version=row[2], hash=row[3], ended=row[4], status=row[5])
        return epochs

    async def _hashes(self, changes: Iterable[Change]) -> dict[str, bytes]:
        """Look up what is stored where a change that is not next would end: perhaps it is stored."""
        wanted = {
            self._streams[change.execution]: change
            for change in changes
            if change.expected_version
            < change.version
            <= self._heads.get(change.execution, NOTHING).version
        }
        if not wanted:
            return {}
        seqs = [change.version for change in wanted.values()]
        rows = await self._connection.fetch(_SQL["hashes_at"], list(wanted), seqs)
        return {wanted[stream].execution: digest for stream, digest in rows}

    async def _known(self, batch: Batch) -> dict[str, Answer]:
        commands = [answer.command for change in batch.changes for answer in change.answers]
        commands += [answer.command for answer in batch.answers]
        if not commands:
            return {}
        rows = await self._connection.fetch(_SQL["answers"], commands)
        return {
            row[0]: Answer(command=row[0], request=row[1], body=row[2], at=row[3]) for row in rows
        }

    async def _changes(self, changes: Sequence[Change], outcomes: Sequence[ChangeFate]) -> None:
        write = [
            change
            for change, outcome in zip(changes, outcomes, strict=True)
            if must_write(change, outcome, self._heads.get(change.execution, NOTHING))
        ]
        await self._insert([change for change in write if change.expected_version == 0])
        for change in write:
            self._collect(change, self._streams[change.execution])
            for item in change.items:
                values = _work_item(item, self._streams[change.execution])
                await self._connection.execute(_SQL["set_work_item"], *values)

    async def _insert(self, changes: Sequence[Change]) -> None:
        rows = [
            (
                c.row.id,
                shard_of(c.row.id),
                c.version,
                c.records[-1].hash,
                *_columns(c.row),
                c.row.namespace,
            )
            for c in changes
            if c.row is not None
        ]
        if rows:
            inserted = await self._connection.fetch(_SQL["insert_executions"], *_transposed(rows))
            self._streams.update({row[0]: row[1] for row in inserted})

    def _collect(self, change: Change, stream: int) -> None:
        rows = self._rows
        if change.expected_version > 0:
            self._update(change, stream)
        rows["record"] += [
            (stream, r.seq, r.type, r.at, r.hash, r.previous, r.body) for r in change.records
        ]
        if change.snapshot is not None:
            rows["set_snapshots"].append((stream, change.snapshot.version, change.snapshot.body))
        if change.wake is None:
            rows["sleep"].append((stream,))
        elif change.wake is not UNSET:
            place = (stream, change.execution, shard_of(change.execution), change.wake)
            rows["wake"].append(place)
        again = {(p.run, p.chunk) for p in change.assigned}  # what is assigned anew is not freed
        rows["free"] += [(stream, *key) for key in change.released if key not in again]
        name = change.execution
        rows["pend"] += [
            (stream, p.run, p.chunk, p.delivery, p.pool, shard_of(name), name, p.kinds)
            for p in change.assigned
        ]
        rows["insert_answers"] += [_answer(answer, stream) for answer in change.answers]
        rows["insert_objects"] += [(stream, key) for key in change.objects]
        rows["forget_orphans"] += [(key,) for key in change.objects]
        self._letters(change)
        if change.notifications:
            rows["insert_notifications"] += map(notification_columns, change.notifications)
        if change.permits:
            rows["insert_permits"] += map(permit_columns, change.permits)
        rows["delete_permits"] += [(name,) for name in change.returned]
        self._notes += change.notes
        if change.arrivals:
            rows["insert_arrivals"] += map(arrival_columns, change.arrivals)

    def _letters(self, batch: Batch | Change) -> None:
        self._rows["take_letters"] += [(name,) for name in batch.taken]
        self._rows["post_letters"] += [
            (letter.id, letter.execution, shard_of(letter.execution), letter.body, letter.at)
            for letter in batch.letters
        ]

    def _update(self, change: Change, stream: int) -> None:
        end = change.records[-1].hash if change.records else self._heads[change.execution].hash
        if change.row is not None:
            values = (change.version, end, *_columns(change.row), stream)
            self._rows["update_executions"].append(values)
        elif change.records:
            values = (change.version, end, change.records[-1].at, stream)
            self._rows["move"].append(values)

    async def _playbooks(self, playbooks: Iterable[PlaybookRow]) -> tuple[str, ...]:
        """Write playbooks, those of one path one after the other; return those that are stale."""
        stale = []
        for p in sorted(playbooks, key=lambda row: row.path):
            if p.applied:
                await self._connection.execute(_SQL["lock_path"], f"{p.namespace} {p.path}")
            current = await self._connection.fetchrow(
                _SQL["playbook_versions"], p.path, 1, p.namespace
            )
            if not replaces(p, current[0] if current is not None else ""):
                stale.append(p.digest)
                continue
            await self._playbook(p)
        return tuple(stale)

    async def _playbook(self, p: PlaybookRow) -> None:
        """Write a playbook: its text, which the version before this one finds by path too, and where it is."""
        execute = self._connection.execute
        known = p.applied if p.namespace == DEFAULT else 0.0
        if known:
            await execute(_SQL["delete_playbook"], p.digest)
        text = (p.digest, p.name, p.path, p.version, p.source, known)
        await execute(_SQL["insert_playbook"], *text)
        if p.applied:  # else one that was applied stays
            await execute(_SQL["delete_catalogued"], p.namespace, p.digest)
        place = (p.namespace, p.digest, p.name, p.path, p.version, p.applied, p.text or None)
        await execute(_SQL["insert_catalogued"], *place)


async def expire_streams(
    connection: Connection, before: float, limit: int
) -> list[tuple[str, int]]:
    """Delete executions that ended before a time."""
    streams = await connection.fetch(_SQL["expire"], before, limit)
    await connection.execute(_SQL["expire_answers"], before)
    return await _delete(connection, streams)


async def remove_streams(
    connection: Connection, names: Sequence[str], note: AuditNote | None
) -> list[tuple[str, int]]:
    """Delete those of some executions that have ended."""
    gone = await _delete(connection, await connection.fetch(_SQL["remove"], list(names)))
    await append_notes(connection, note if gone else None)
    return gone


async def _delete(connection: Connection, rows: Sequence[Sequence[Any]]) -> list[tuple[str, int]]:
    """Delete executions with all that belongs to them but their records, which become doomed."""
    streams = [row[0] for row in rows]
    if streams:
        await connection.execute(_SQL["expire_objects"], streams)
        await connection.execute(_SQL["doom"], streams)
        for table in STREAM_TABLES:
            await connection.execute(_SQL["expire_streams"].format(table=table), streams)
    return [(row[1], row[2]) for row in rows]


async def archive(connection: Connection, path: str, namespace: str, note: AuditNote | None) -> int:
    """Let nobody find the playbooks of a path any more; nor the version before this one, in the default namespace."""
    await connection.execute(_SQL["lock_path"], f"{namespace} {path}")
    if namespace == DEFAULT:
        await connection.execute(_SQL["archive_playbooks"], path)
    gone = int(await connection.fetchval(_SQL["archive"], namespace, path))
    await append_notes(connection, note if gone else None)
    return gone


async def purge_records(connection: Connection) -> bool:
    """Remove some records of a doomed stream; return whether there may be more to remove."""
    stream = await connection.fetchval(_SQL["doomed"])
    if stream is None:
        return False
    gone = await connection.fetchval(_SQL["purge_records"], stream, PURGE_RECORDS)
    if gone < PURGE_RECORDS:
        await connection.execute(_SQL["undoom"], stream)
    return True


def _transposed(rows: Sequence[Sequence[object]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _columns(row: ExecutionRow) -> tuple[object, ...]:
    return (
        row.playbook, row.digest, row.status, _text(row.reason), row.started, row.updated, row.ended, row.parent,
        msgspec.json.encode(row.labels).decode(), _text(search_text(row)),
    )  # fmt: skip


def _work_item(item: WorkItemRow, stream: int) -> tuple[Any, ...]:
    return (
        stream, item.id, item.execution, item.step, item.state, _text(item.title), item.users, item.roles,
        item.excluded, offers(item), item.holder, item.priority, item.due, item.created, item.updated,
        item.body, item.namespace,
    )  # fmt: skip


def _text(words: str) -> str:
    """Return words as PostgreSQL can store them: all but NUL, which may stand in anybody's error."""
    return words.replace("\x00", "\ufffd")


def _answer(answer: Answer, stream: int | None) -> tuple[object, ...]:
    return (answer.command, answer.request, answer.body, answer.at, stream)
