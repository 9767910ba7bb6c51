"""What an SQLite file has lost, by its anchor: a damaged write-ahead log, or an older file in its place.

What is lost is always the end: of commits, one after the other, the last ones are missing. So it is enough to look for
what was stored last; only when that is not there is everything looked for, to name it.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import apsw
import msgspec

from petra.private import FILE
from petra.store.anchor import (
    HASH_BYTES,
    Anchor,
    AnchoredHead,
    AnchorLine,
    Lost,
    head_of,
    read_anchor,
    replace_anchor,
)
from petra.store.errors import FullError
from petra.store.queries import load_queries
from petra.store.sqlite_write import SEQ_BITS

NAMED = 3
NEWEST = 100

_SQL = load_queries("sqlite")


def lost(connection: apsw.Connection, anchor: Path, *, all_of_it: bool) -> list[Lost]:
    """Return what the anchor names and the file does not have; quick when nothing is lost."""
    held = read_anchor(anchor)
    if not all_of_it:
        newest = held.last or list(held.heads.values())[-NEWEST:]
        if not _missing(connection, newest):
            return []
    return _missing(connection, held.heads.values())


def _missing(connection: apsw.Connection, heads: Iterable[AnchoredHead]) -> list[Lost]:
    if not connection.execute(_SQL["has_executions"]).get:
        return [Lost(execution=name, kept=0, version=version) for name, version, _ in heads]
    losses = []
    for name, version, mark in heads:
        row = connection.execute(_SQL["head"], (name,)).get
        stream, kept, digest = row[:3] if row is not None else (0, 0, b"")
        if kept > version:
            digest = connection.execute(_SQL["hash_at"], (stream << SEQ_BITS | version,)).get or b""
        if kept < version or digest[:HASH_BYTES].hex() != mark:
            losses.append(Lost(execution=name, kept=min(kept, version), version=version))
    return losses


def words(path: Path, losses: Sequence[Lost]) -> str:
    """Say what is lost, and what can be done."""
    names = ", ".join(loss.execution for loss in losses[:NAMED])
    more = f" and {len(losses) - NAMED:,} more" if len(losses) > NAMED else ""
    total = sum(loss.count for loss in losses)
    return (
        f"{path} lacks {total:,} {'record' if total == 1 else 'records'} that had been stored, of"
        f" {'execution' if len(losses) == 1 else 'executions'} {names}{more}: {path.name}-wal was damaged or"
        " removed, or an older file was put in its place. Nothing was changed. Bring the files back, or go on"
        " without what is lost: 'petra db accept-loss'"
    )


def accept(connection: apsw.Connection, path: Path, losses: Sequence[Lost]) -> None:
    """Go on from what is there: the anchor says so from now on, and what is left of the log is kept beside."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        copy = log.with_name(log.name + ".damaged")
        shutil.copyfile(log, copy)
        copy.chmod(FILE)
    anchor = path.with_name(path.name + ".heads")
    now: float = connection.execute(_SQL["now"]).get
    accepted = [msgspec.structs.replace(loss, at=now) for loss in losses]
    replace_anchor(
        anchor,
        AnchorLine(
            heads=_heads(connection, losses), accepted=[*read_anchor(anchor).accepted, *accepted]
        ),
    )


def _heads(connection: apsw.Connection, losses: Iterable[Lost]) -> list[AnchoredHead]:
    """Return where the logs that lost something stand now."""
    if not connection.execute(_SQL["has_executions"]).get:
        return []
    rows = [
        (loss.execution, connection.execute(_SQL["head"], (loss.execution,)).get) for loss in losses
    ]
    return [head_of(name, row[1], row[2]) for name, row in rows if row is not None]


def release(anchor: Anchor, deleted: Collection[str]) -> None:
    """Have an anchor hold executions no longer: they are deleted, not lost.

    Raises:
        FullError: it cannot be written.
    """
    try:
        anchor.release(deleted)
    except OSError as error:
        words = f"{anchor.path} cannot be written ({error}); nothing was deleted"
        raise FullError(words) from error
