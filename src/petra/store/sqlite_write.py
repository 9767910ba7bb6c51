"""The writer of the SQLite store: one connection, one transaction per batch.

Statements of the same kind are collected over the whole batch and executed together, which is most of the
speed. Where the logs stand is remembered from commit to commit, for nobody else writes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import apsw
import msgspec
from msgspec import UNSET

from petra.namespaces import DEFAULT
from petra.store.anchor import AnchoredHead, head_of
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
from petra.store.queries import load_queries
from petra.store.rows import (
    Answer,
    AuditNote,
    Batch,
    Change,
    ExecutionRow,
    LineMoved,
    PendingRow,
    PlaybookRow,
    RecordRow,
    WorkItemRow,
    shard_of,
)
from petra.store.sqlite_accounts import append_notes, has_noted
from petra.store.sqlite_permits import move_lines

SEQ_BITS = 32
SEQ_MASK = (1 << SEQ_BITS) - 1
STREAM_TABLES = (
    "executions",
    "snapshots",
    "wake_ups",
    "pending",
    "work_items",
    "answers",
    "objects",
    "labels",
)
PURGE_RECORDS = 20_000
HEADS_MAX = 20_000
# Dependent rows come last; what is released goes before what is assigned anew under the same name.
_ORDER = (
    "update_execution",
    "place_execution",
    "move_execution",
    "set_snapshot",
    "delete_wake_up",
    "set_wake_up",
    "delete_pending",
    "set_pending",
    "insert_answer",
    "insert_object",
    "forget_orphan",
    "take_letter",
    "post_letter",
    "insert_notification",
    "insert_permit",
    "delete_permit",
    "insert_arrival",
)

Bindings = tuple[object, ...]
Place = tuple[str, float, str]
"""Where lists have an execution: its playbook, when it started, its parent. A statement that sets them, if only to what they
are, has SQLite write every index by them anew."""
Known = tuple[int, LogHead, Place]
NOWHERE: Place = ("", 0.0, "")


class Heads:
    """Where logs stand, as committed last: stream, head and place by execution, as many as fit.

    Whoever cannot commit must ``clear`` it: what was noted for the batch did not happen.
    """

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self.get: Callable[[str], Known | None] = self._known.get
        """Returns where a log stands, if that is known."""

    def clear(self) -> None:
        """Forget everything; it will be read again."""
        self._known.clear()

    def note(self, execution: str, stream: int, head: LogHead, place: Place) -> None:
        """Note where a log will stand; one that has ended is not asked for again."""
        if head.ended is not None:
            self._known.pop(execution, None)
        else:
            if len(self._known) >= HEADS_MAX and execution not in self._known:
                del self._known[next(iter(self._known))]
            self._known[execution] = stream, head, place


class BatchWriter:
    """Carries out one batch inside a transaction that the caller began."""

    def __init__(
        self, connection: apsw.Connection, heads: Heads, moved: list[AnchoredHead]
    ) -> None:
        """Make one that fills ``moved`` with where logs stand afterwards."""
        self._connection = connection
        self._heads = heads
        self._sql = load_queries("sqlite")
        self._rows: defaultdict[str, list[Bindings]] = defaultdict(list)
        self._moved = moved
        self._notes: list[AuditNote] = []
        self._logs: list[tuple[int, Sequence[RecordRow]]] = []

    def write(self, batch: Batch) -> Committed:
        """Judge every change and write those that apply."""
        epochs: Mapping[int, int] = {}
        if batch.epochs is not None:
            epochs = dict(self._connection.execute(self._sql["epochs"]))
        known = self._known(batch)
        outcomes = tuple(self._change(change, batch, epochs, known) for change in batch.changes)
        answers, refused, new = judge_answers(batch.answers, known)
        if new:
            self._rows["insert_answer"] += [_answer(answer, None) for answer in new]
        if batch.letters or batch.taken:
            self._letters(batch)
        if batch.moved:
            self._lines(owned_lines(batch, epochs))
        rows, sql, executemany = self._rows, self._sql, self._connection.executemany
        executemany(sql["insert_record"], self._records())
        for name in filter(rows.__contains__, _ORDER):
            executemany(sql[name], rows[name])
        stale = self._playbooks(batch.playbooks)
        if batch.notes and not stale and not has_noted(self._connection, batch.notes[0]):
            self._notes += batch.notes
        append_notes(self._connection, *self._notes)
        return Committed(outcomes=outcomes, answers=answers, refused=refused, stale=stale)

    def _known(self, batch: Batch) -> dict[str, Answer]:
        asked = [answer for change in batch.changes for answer in change.answers]
        answers = {}
        for answer in (*asked, *batch.answers):
            row = self._connection.execute(self._sql["answer"], (answer.command,)).get
            if row is not None:
                answers[answer.command] = Answer(
                    command=row[0], request=row[1], body=row[2], at=row[3]
                )
        return answers

    def _change(
        self,
        change: Change,
        batch: Batch,
        epochs: Mapping[int, int],
        known: Mapping[str, Answer],
    ) -> ChangeFate:
        execution, records = change.execution, change.records
        stream, head, place = self._heads.get(execution) or self._head(execution)
        stored_hash = None
        if change.expected_version < head.version and records and change.version <= head.version:
            number = stream << SEQ_BITS | change.version
            stored_hash = self._connection.execute(self._sql["hash_at"], (number,)).get
        owned = batch.epochs is None or owns(batch, execution, epochs)
        outcome = judge(change, head, owned=owned, known=known, stored_hash=stored_hash)
        if must_write(change, outcome, head):
            moved = _moved(head, change, outcome.version)
            stream = stream or self._insert(change)
            now = place if change.row is None else _place(change.row)
            self._write(change, stream, moved, stays=now == place)
            self._heads.note(execution, stream, moved, now)
            if records:
                self._moved.append(head_of(execution, moved.version, moved.hash))
        return outcome

    def _head(self, execution: str) -> Known:
        row = self._connection.execute(self._sql["head"], (execution,)).get
        if row is None:
            return 0, NOTHING, NOWHERE
        return row[0], LogHead(version=row[1], hash=row[2], ended=row[3], status=row[4]), row[5:]

    def _insert(self, change: Change) -> int:
        row = change.row
        assert row is not None, "a new execution has its row"
        values = (
            row.id,
            shard_of(row.id),
            change.version,
            change.records[-1].hash,
            *_shown(row),
            *_place(row),
            row.namespace,
        )
        self._connection.execute(self._sql["insert_execution"], values)
        return self._connection.last_insert_rowid()

    def _write(self, change: Change, stream: int, moved: LogHead, *, stays: bool) -> None:  # noqa: C901, PLR0912 - a row of questions
        rows = self._rows
        if change.expected_version > 0:
            self._update(change, stream, moved, stays=stays)
        self._logs.append((stream << SEQ_BITS, change.records))
        if change.snapshot is not None:
            rows["set_snapshot"].append((stream, change.snapshot.version, change.snapshot.body))
        if change.wake is None:
            rows["delete_wake_up"].append((stream,))
        elif change.wake is not UNSET:
            place = (stream, change.execution, shard_of(change.execution), change.wake)
            rows["set_wake_up"].append(place)
        for run, chunk in change.released:
            rows["delete_pending"].append((stream, run, chunk))
        for p in change.assigned:
            rows["set_pending"].append((stream, p.run, p.chunk, p.delivery, p.pool, p.kinds))
        if change.answers:
            rows["insert_answer"] += [_answer(answer, stream) for answer in change.answers]
        if change.objects:
            rows["insert_object"] += [(stream, key) for key in change.objects]
            rows["forget_orphan"] += [(key,) for key in change.objects]
        for item in change.items:
            self._item(item, stream)
        if change.letters or change.taken:
            self._letters(change)
        if change.notifications:
            rows["insert_notification"] += map(notification_columns, change.notifications)
        if change.permits or change.returned:
            rows["insert_permit"] += map(permit_columns, change.permits)
            rows["delete_permit"] += [(name,) for name in change.returned]
        self._notes += change.notes
        if change.arrivals:
            rows["insert_arrival"] += map(arrival_columns, change.arrivals)

    def _records(self) -> Iterator[Bindings]:
        """Yield the rows of the log one by one: those of a wide fan-out need not be there all at once."""
        for base, records in self._logs:
            for r in records:
                yield base | r.seq, r.type, r.at, r.hash, r.previous, r.body

    def _letters(self, batch: Batch | Change) -> None:
        self._rows["take_letter"] += [(name,) for name in batch.taken]
        self._rows["post_letter"] += [
            (letter.id, letter.execution, shard_of(letter.execution), letter.body, letter.at)
            for letter in batch.letters
        ]

    def _lines(self, moved: list[LineMoved]) -> None:
        move_lines(self._connection, moved)
        for move in moved:
            self._letters(Batch(letters=move.letters))

    def _update(self, change: Change, stream: int, moved: LogHead, *, stays: bool) -> None:
        if change.row is not None:
            values = (moved.version, moved.hash, *_shown(change.row), stream)
            self._rows["update_execution"].append(values)
            if not stays:
                self._rows["place_execution"].append((*_place(change.row), stream))
        elif change.records:
            self._rows["move_execution"].append(
                (moved.version, moved.hash, change.records[-1].at, stream)
            )

    def _item(self, item: WorkItemRow, stream: int) -> None:
        values = (
            stream, item.id, item.execution, item.step, item.state, item.title, _json(item.users),
            _json(item.roles), _json(item.excluded), item.holder, item.priority, item.due, item.created,
            item.updated, item.body, item.namespace,
        )  # fmt: skip
        number = self._connection.execute(self._sql["set_work_item"], values).get
        self._connection.execute(self._sql["delete_offers"], (number,))
        words = [(word, number) for word in offers(item)]
        self._connection.executemany(self._sql["insert_offer"], words)

    def _playbooks(self, playbooks: Iterable[PlaybookRow]) -> tuple[str, ...]:
        """Write playbooks; return the digests of those that would replace another one than they were to."""
        stale = []
        for p in playbooks:
            place = p.namespace, p.path, 1
            current = self._connection.execute(self._sql["playbook_versions"], place).get
            if not replaces(p, current[0] if current is not None else ""):
                stale.append(p.digest)
                continue
            self._playbook(p)
        return tuple(stale)

    def _playbook(self, p: PlaybookRow) -> None:
        """Write a playbook: its text, which the version before this one finds by path too, and where it is."""
        execute, sql = self._connection.execute, self._sql
        known = p.applied if p.namespace == DEFAULT else 0.0
        if known:
            execute(sql["delete_playbook"], (p.digest,))
        execute(sql["insert_playbook"], (p.digest, p.name, p.path, p.version, p.source, known))
        if p.applied:  # else one that was applied stays
            execute(sql["delete_catalogued"], (p.namespace, p.digest))
        execute(
            sql["insert_catalogued"],
            (p.namespace, p.digest, p.name, p.path, p.version, p.applied, p.text or None),
        )


def _moved(head: LogHead, change: Change, version: int) -> LogHead:
    """Return where a log stands after a change, at that version."""
    row, digest = change.row, change.records[-1].hash if change.records else head.hash
    if row is None:
        return LogHead(version=version, hash=digest, ended=head.ended, status=head.status)
    return LogHead(version=version, hash=digest, ended=row.ended, status=row.status)


def expire_streams(connection: apsw.Connection, before: float, limit: int) -> list[tuple[str, int]]:
    """Delete executions that ended before a time."""
    sql = load_queries("sqlite")
    streams = connection.execute(sql["expired"], (before, limit)).fetchall()
    connection.execute(sql["expire_answers"], (before,))
    return _delete(connection, streams)


def remove_streams(
    connection: apsw.Connection, names: Sequence[str], note: AuditNote | None
) -> list[tuple[str, int]]:
    """Delete those of some executions that have ended."""
    streams = connection.execute(load_queries("sqlite")["removed"], (_json(names),)).fetchall()
    append_notes(connection, note if streams else None)
    return _delete(connection, streams)


def _delete(connection: apsw.Connection, rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, int]]:
    """Delete executions with all that belongs to them but their records, which become doomed."""
    sql = load_queries("sqlite")
    for stream, _, _ in rows:
        connection.execute(sql["expire_objects"], (stream,))
        connection.execute(sql["expire_offers"], (stream,))
        for table in STREAM_TABLES:
            connection.execute(sql["expire_streams"].format(table=table), (stream,))
        connection.execute(sql["doom"], (stream,))
    return [(str(execution), int(version or 0)) for _, execution, version in rows]


def archive(connection: apsw.Connection, path: str, namespace: str, note: AuditNote | None) -> int:
    """Let nobody find the playbooks of a path any more; nor the version before this one, in the default namespace."""
    sql = load_queries("sqlite")
    if namespace == DEFAULT:
        connection.execute(sql["archive_playbooks"], (path,))
    connection.execute(sql["archive"], (namespace, path))
    gone = connection.changes()
    append_notes(connection, note if gone else None)
    return gone


def purge_records(connection: apsw.Connection) -> bool:
    """Remove some records of a doomed stream; return whether there may be more to remove."""
    sql = load_queries("sqlite")
    stream = connection.execute(sql["doomed"]).get
    if stream is None:
        return False
    base = stream << SEQ_BITS
    connection.execute(sql["purge_records"], (base, base | SEQ_MASK, PURGE_RECORDS))
    if connection.changes() < PURGE_RECORDS:
        connection.execute(sql["undoom"], (stream,))
    return True


def claim_shards(
    connection: apsw.Connection, holder: str, shards: Iterable[int], lease_s: float
) -> dict[int, int]:
    """Take shards that are free or whose lease ran out."""
    sql = load_queries("sqlite")
    now = connection.execute(sql["now"]).get
    taken: dict[int, int] = {}
    for shard in shards:
        held_by, epoch, until = connection.execute(sql["shard"], (shard,)).get or ("", 0, now)
        if held_by != holder or until <= now:
            if until > now:
                continue
            epoch += 1
        connection.execute(sql["set_shard"], (shard, holder, epoch, now + lease_s))
        taken[shard] = epoch
    return taken


def renew_shards(
    connection: apsw.Connection, holder: str, epochs: Mapping[int, int], lease_s: float | None
) -> dict[int, int]:
    """Prolong leases, or give them back where ``lease_s`` is None; return those that are the holder's."""
    sql = load_queries("sqlite")
    now = connection.execute(sql["now"]).get
    kept: dict[int, int] = {}
    for shard, epoch in epochs.items():
        row = connection.execute(sql["shard"], (shard,)).get
        if row is None or row[:2] != (holder, epoch):
            continue
        kept[shard] = epoch
        values = (
            (shard, "", epoch, now) if lease_s is None else (shard, holder, epoch, now + lease_s)
        )
        connection.execute(sql["set_shard"], values)
    return kept


def lease(connection: apsw.Connection, rows: Sequence[PendingRow]) -> set[str]:
    """Write down under which leases workers elsewhere have assignments; return those that are written."""
    sql = load_queries("sqlite")["lease"]
    return {
        found
        for row in rows
        for (found,) in connection.execute(
            sql,
            (row.lease, row.execution, row.pending.run, row.pending.chunk, row.pending.delivery),
        )
    }


def lease_at_once(connection: apsw.Connection, rows: Sequence[PendingRow]) -> None:
    """Do so in a transaction of its own."""
    with connection:
        lease(connection, rows)


def enrol(connection: apsw.Connection, holder: str, lease_s: float) -> list[str]:
    """Say that an engine is there; return all that are."""
    sql = load_queries("sqlite")
    now = connection.execute(sql["now"]).get
    connection.execute(sql["enrol"], (holder, now + lease_s))
    connection.execute(sql["dismiss"], (now,))
    return [str(name) for (name,) in connection.execute(sql["engines"])]


def _place(row: ExecutionRow) -> Place:
    return row.playbook, row.started, row.parent


def _shown(row: ExecutionRow) -> Bindings:
    return (
        row.digest, row.status, row.reason, row.updated, row.ended, _json(row.labels), search_text(row),
    )  # fmt: skip


def _answer(answer: Answer, stream: int | None) -> Bindings:
    return (answer.command, answer.request, answer.body, answer.at, stream)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
