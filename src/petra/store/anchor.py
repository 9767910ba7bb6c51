"""The anchor of a store: where its logs stood when they were last durable, in a file of its own.

A database that lost the end of its write-ahead log is a sound database, only an older one, and nothing in it can tell.
The anchor can: a line per commit, which names the executions it moved on, with version and hash.

Rule 1: it is never ahead. A line is written after the commit that it speaks of is durable; a line that says what is
to be deleted is synced before the deletion. So a process may be killed anywhere without a false alarm.
Rule 2: it delays nobody. Lines are synced now and then; what cannot be written now is written with the next line.
Rule 3: it stays small. Once everything is in the database file itself, the last line is enough.
"""

from __future__ import annotations

import contextlib
import logging
import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from petra.private import FILE, open_file
from petra.store.rows import Row

ANCHOR_SYNC_S = 1.0
ANCHOR_BYTES_MAX = 8 * 1024 * 1024
ANCHOR_HEADS_MAX = 50_000
ANCHOR_BYTES_MIN = 64 * 1024
"""So much is not worth making smaller."""
ACCEPTED_MAX = 1_000
HASH_BYTES = 8

_log = logging.getLogger(__name__)

AnchoredHead = tuple[str, int, str]
"""An execution, its version, and the beginning of the hash of the record of that version."""


class Lost(Row, frozen=True):
    """Records of an execution that had been stored and are not there: those behind ``kept``, up to ``version``.

    With ``kept`` as large as ``version`` the record is another one. ``at`` is when somebody accepted it, or None.
    """

    execution: str
    kept: int
    version: int
    at: float | None = None

    @property
    def count(self) -> int:
        """How many records."""
        return max(1, self.version - self.kept)

    def __str__(self) -> str:
        first, last = self.kept + 1, self.version
        if first > last:
            return f"record {last} is not the one that had been stored"
        if first == last:
            return f"record {last} had been stored, and is lost"
        return f"records {first} to {last} had been stored, and are lost"


class AnchorLine(msgspec.Struct, omit_defaults=True, frozen=True):
    """One line: heads that a commit made, executions that are going to be deleted, losses that were accepted."""

    heads: list[AnchoredHead] = []
    gone: list[str] = []
    accepted: list[Lost] = []


_decode = msgspec.json.Decoder(AnchorLine).decode
_encode = msgspec.json.Encoder().encode


def anchor_of(store: Path) -> Path:
    """Return where the anchor of a store is."""
    return store.with_name(store.name + ".heads")


def head_of(execution: str, version: int, digest: bytes) -> AnchoredHead:
    """Return what the anchor keeps of a head."""
    return execution, version, digest[:HASH_BYTES].hex()


class Held(msgspec.Struct):
    """What an anchor says: the latest head of each execution, oldest first, and the losses that were accepted."""

    heads: dict[str, AnchoredHead] = {}
    last: list[AnchoredHead] = []
    accepted: list[Lost] = []


def read_anchor(path: Path) -> Held:
    """Read an anchor; lines that cannot be read, and a file that is not there, say nothing."""
    held = Held(heads={}, last=[], accepted=[])
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return held
    for raw in lines:
        line = _line(raw)
        if line is None:
            continue
        for head in line.heads:
            held.heads.pop(head[0], None)  # the latest comes last
            held.heads[head[0]] = head
        for name in line.gone:
            held.heads.pop(name, None)
        held.last = line.heads or [head for head in held.last if head[0] not in line.gone]
        held.accepted += line.accepted
    return held


def _line(raw: bytes) -> AnchorLine | None:
    mark, _, body = raw.partition(b" ")
    if mark != b"%08x" % zlib.crc32(body):
        return None
    try:
        return _decode(body)
    except msgspec.MsgspecError:
        return None


def _written(line: AnchorLine) -> bytes:
    body = _encode(line)
    return b"%08x %b\n" % (zlib.crc32(body), body)


class Anchor:
    """The anchor of a store that is open for writing; after it was made, one thread uses it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_file(path, os.O_RDWR)
        self._end = os.fstat(self._file).st_size
        torn = self._end > 0 and os.pread(self._file, 1, self._end - 1) != b"\n"
        self._late = b"\n" if torn else b""
        held = read_anchor(path)
        self._last: Sequence[AnchoredHead] = held.last
        self._accepted = held.accepted[-ACCEPTED_MAX:]
        self.is_synced = True

    def append(self, heads: Sequence[AnchoredHead]) -> None:
        """Say where logs stand; call it when that is durable."""
        self._last = heads
        self._late += _written(AnchorLine(heads=list(heads)))
        try:
            self._write()
        except OSError as error:
            _log.warning("%s lags behind: %s", self.path, error)
            if len(self._late) > ANCHOR_BYTES_MAX:
                self._late = b""
        if self._end > ANCHOR_BYTES_MAX:
            self.shrink()

    def release(self, executions: Iterable[str]) -> None:
        """Say which executions are going to be deleted, durably.

        Raises:
            OSError: it could not be said, so they must stay.
        """
        gone = list(executions)
        self._late += _written(AnchorLine(gone=gone))
        self._last = [head for head in self._last if head[0] not in gone]
        self._write()
        os.fsync(self._file)

    def sync(self) -> None:
        """Have everything that was said on the disk."""
        try:
            self._write()
            os.fsync(self._file)
        except OSError as error:
            _log.warning("%s lags behind: %s", self.path, error)
        self.is_synced = True

    def settle(self) -> None:
        """Forget all but the last line, if there are many: the database file itself holds everything."""
        if self._end <= ANCHOR_BYTES_MIN:
            return
        self._replace(AnchorLine(heads=list(self._last), accepted=self._accepted))

    def shrink(self) -> None:
        """Keep the latest head of each execution, of the latest executions."""
        heads = list(read_anchor(self.path).heads.values())[-ANCHOR_HEADS_MAX:]
        self._replace(AnchorLine(heads=heads, accepted=self._accepted))

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _write(self) -> None:
        """Write what is late; a part of a line that a full disk left is written over."""
        while self._late:
            done = os.pwrite(self._file, self._late, self._end)
            self._end += done
            self._late = self._late[done:]
            self.is_synced = False

    def _replace(self, line: AnchorLine) -> None:
        """Put a file with one line in the place of ours; the old one stays as long as that fails."""
        try:
            replace_anchor(self.path, line)
        except OSError as error:
            _log.warning("%s stays as large as it is: %s", self.path, error)
            return
        os.close(self._file)
        self._file = open_file(self.path, os.O_RDWR)
        self._end = os.fstat(self._file).st_size
        self._late = b""
        self.is_synced = True


def replace_anchor(path: Path, line: AnchorLine) -> None:
    """Write an anchor of one line, whole or not at all."""
    beside = path.with_name(path.name + ".new")
    file = open_file(beside, os.O_WRONLY | os.O_TRUNC)
    try:
        body = _written(line)
        while body:
            body = body[os.write(file, body) :]
        os.fsync(file)
        os.fchmod(file, FILE)
    finally:
        os.close(file)
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # the name is not durable yet; the old file says as much
            os.fsync(folder)
    finally:
        os.close(folder)
