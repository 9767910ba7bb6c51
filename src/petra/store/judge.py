"""What becomes of a change, decided from what is stored. Pure: every store asks the same judge.

The order of the questions is the contract: ownership, then repetition of the very same change, then commands
seen before, then the version.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Mapping
from typing import TypeVar

import msgspec

from petra.errors import MalformedError, UsageError
from petra.store.base import ChangeFate, Fate
from petra.store.rows import (
    Answer,
    Batch,
    Change,
    ExecutionFilter,
    ExecutionRow,
    LineMoved,
    PlaybookRow,
    Row,
    WorkItemFilter,
    WorkItemRow,
    shard_of,
)

T = TypeVar("T")

MAX_SEQ = 2**32 - 1
ANYBODY = "anybody"
ANY_ROLE = "*"


class LogHead(Row, frozen=True):
    """Where a log stands. ``ended`` and ``status`` guard the end of an execution."""

    version: int
    hash: bytes
    ended: float | None = None
    status: str = ""


NOTHING = LogHead(version=0, hash=b"")


def check_batch(batch: Batch) -> None:
    """Refuse a batch that contradicts itself.

    Raises:
        UsageError: it does; the message names the execution.
    """
    seen: set[str] = set()
    for change in batch.changes:
        if change.execution in seen:
            raise UsageError(
                f"execution '{change.execution}' is twice in one batch; merge the changes"
            )
        seen.add(change.execution)
        if problem := _problem(change):
            raise UsageError(f"execution '{change.execution}'{problem}")
    commands = [a.command for change in batch.changes for a in change.answers]
    commands += [a.command for a in batch.answers]
    if len(set(commands)) != len(commands):
        raise UsageError("a command is answered twice in one batch; decide it once")


def _problem(change: Change) -> str:
    """Say how a change contradicts itself; nothing, where it does not."""
    if change.expected_version == 0 and not (change.row and change.records):
        return " is new: its change needs a row and at least one record"
    if change.row is not None and change.row.id != change.execution:
        return f" was given the row of '{change.row.id}'"
    version = change.expected_version + len(change.records)
    if version > MAX_SEQ:
        return f" would have more than {MAX_SEQ:,} records"
    if change.snapshot is not None and change.snapshot.version > version:
        return ": the snapshot is newer than the log"
    for item in change.items:
        if item.execution != change.execution:
            return " was given a work item of another execution"
    expected, previous = change.expected_version, None
    for record in change.records:
        expected += 1
        if record.seq != expected:
            return f": record {record.seq} stands where {expected} belongs"
        if previous is not None and record.previous != previous:
            return f": record {record.seq} does not follow the one before it"
        previous = record.hash
    return ""


def replaces(playbook: PlaybookRow, current: str) -> bool:
    """Whether a playbook may become the current one of its path, where that is ``current`` or none.

    One that is current already may: a batch that is committed again has the same fate.
    """
    return playbook.replaces is None or current in (playbook.replaces, playbook.digest)


def judge(
    change: Change,
    head: LogHead,
    *,
    owned: bool,
    known: Mapping[str, Answer],
    stored_hash: bytes | None,
) -> ChangeFate:
    """Decide the fate of a change.

    ``known`` holds stored answers by command; ``stored_hash`` the hash stored at the change's last
    record's place, where the log has come that far.
    """
    if not owned:
        return _outcome(change, Fate.FENCED, head)
    if change.records and stored_hash == change.records[-1].hash:
        return _outcome(change, Fate.APPLIED, head)
    seen = known and [(known[a.command], a) for a in change.answers if a.command in known]
    if seen:
        same = all(stored.request == asked.request for stored, asked in seen)
        fate = Fate.REPEATED if same else Fate.REFUSED
        return _outcome(change, fate, head, tuple(stored for stored, _ in seen))
    if change.expected_version != head.version:
        return _outcome(change, Fate.CONFLICT, head)
    if change.records and head.version and change.records[0].previous != head.hash:
        return _outcome(change, Fate.CONFLICT, head)
    if head.ended is not None and _reopens(change.row, head):
        return _outcome(change, Fate.CONFLICT, head)
    version = change.expected_version + len(change.records)
    return ChangeFate(execution=change.execution, fate=Fate.APPLIED, version=version)


def must_write(change: Change, outcome: ChangeFate, head: LogHead) -> bool:
    """Whether an applied change is new, and not one that an earlier commit stored."""
    return outcome.fate is Fate.APPLIED and change.expected_version == head.version


def _reopens(row: ExecutionRow | None, head: LogHead) -> bool:
    if row is None:
        return False
    return row.ended != head.ended or row.status != head.status


def _outcome(
    change: Change, fate: Fate, head: LogHead, answers: tuple[Answer, ...] = ()
) -> ChangeFate:
    return ChangeFate(execution=change.execution, fate=fate, version=head.version, answers=answers)


def judge_answers(
    asked: Collection[Answer], known: Mapping[str, Answer]
) -> tuple[tuple[Answer, ...], tuple[str, ...], list[Answer]]:
    """Sort a batch's own answers: as stored afterwards, refused commands, new ones to write."""
    stored: list[Answer] = []
    refused: list[str] = []
    new: list[Answer] = []
    for answer in asked:
        earlier = known.get(answer.command)
        if earlier is None:
            new.append(answer)
            stored.append(answer)
        elif earlier.request == answer.request:
            stored.append(earlier)
        else:
            refused.append(answer.command)
    return tuple(stored), tuple(refused), new


def owns(batch: Batch, execution: str, current: Mapping[int, int]) -> bool:
    """Whether the caller's epoch of an execution's shard is the current one."""
    if batch.epochs is None:
        return True
    shard = shard_of(execution)
    return shard in batch.epochs and batch.epochs[shard] == current.get(shard)


def owned_lines(batch: Batch, current: Mapping[int, int]) -> list[LineMoved]:
    """Return the lines of limits whose shards are the caller's."""
    epochs = batch.epochs
    if epochs is None:
        return list(batch.moved)
    return [
        move
        for move in batch.moved
        if (shard := move.line.shard) in epochs and epochs[shard] == current.get(shard)
    ]


# What queries look for


def search_text(row: ExecutionRow) -> str:
    """Return the text that a list's search looks into, case folded."""
    labels = (f"{key}={value}" for key, value in sorted(row.labels.items()))
    return "\n".join((row.id, row.playbook, row.reason, *labels)).casefold()


def fits(row: ExecutionRow, wanted: ExecutionFilter) -> bool:
    """Tell whether a filter finds an execution."""
    return (
        wanted.namespace in (None, row.namespace)
        and (not wanted.statuses or row.status in wanted.statuses)
        and (wanted.playbook is None or row.playbook == wanted.playbook)
        and (wanted.digest is None or row.digest == wanted.digest)
        and (not wanted.digests or row.digest in wanted.digests)
        and (wanted.parent is None or row.parent == wanted.parent)
        and (wanted.since is None or row.started >= wanted.since)
        and (wanted.until is None or row.started < wanted.until)
        and (wanted.ended_until is None or (row.ended or math.inf) < wanted.ended_until)
        and all(row.labels.get(key) == value for key, value in wanted.labels)
        and wanted.text.casefold() in search_text(row)
    )


def offers(item: WorkItemRow) -> tuple[str, ...]:
    """Return to whom a work item is offered, as words that ``seeks`` answers with."""
    if not item.users and not item.roles:
        return (ANYBODY,)
    words = {f"user:{user}" for user in item.users} | {f"role:{role}" for role in item.roles}
    if item.roles:
        words.add(f"role:{ANY_ROLE}")
    return tuple(sorted(words))


def seeks(wanted: WorkItemFilter) -> tuple[str, ...] | None:
    """Return the words one of which an item's offers must have; None asks for no particular offer."""
    if wanted.user is None and not wanted.roles:
        return None
    words = [f"role:{role}" for role in wanted.roles]
    if wanted.user is not None:
        words += [ANYBODY, f"user:{wanted.user}"]
    return tuple(words)


def item_fits(item: WorkItemRow, of: ExecutionRow | None, wanted: WorkItemFilter) -> bool:
    """Tell whether a filter finds a work item of an execution."""
    asked = f"{item.title}\n{item.step}\n{item.execution}".casefold()
    return (
        wanted.namespace in (None, item.namespace)
        and (not wanted.states or item.state in wanted.states)
        and (wanted.step is None or item.step == wanted.step)
        and (wanted.execution is None or item.execution == wanted.execution)
        and (wanted.playbook is None or (of is not None and of.playbook == wanted.playbook))
        and (not wanted.digests or (of is not None and of.digest in wanted.digests))
        and (wanted.due_until is None or (item.due is not None and item.due < wanted.due_until))
        and not (wanted.no_due and item.due is not None)
        and wanted.text.casefold() in asked
        and _concerns(item, wanted)
    )


def _concerns(item: WorkItemRow, wanted: WorkItemFilter) -> bool:
    words = seeks(wanted)
    if words is None:
        return True
    if wanted.user in item.excluded:
        return False
    if item.holder is not None:
        return item.holder == wanted.user
    return not set(words).isdisjoint(offers(item))


def behind(prefix: str) -> str:
    """Return the first text that comes after every text with that beginning."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def write_cursor(*parts: str | float) -> str:
    """Return an opaque cursor."""
    return base64.urlsafe_b64encode(msgspec.json.encode(parts)).decode()


def read_cursor(cursor: str, kind: type[T]) -> T:
    """Return the parts of a cursor.

    Raises:
        MalformedError: it is none of ours.
    """
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=kind)
    except (ValueError, msgspec.MsgspecError) as error:
        raise MalformedError(
            f"'{cursor[:40]}' is not a cursor of this list; begin again without one"
        ) from error
