"""Leases of workers elsewhere, in a file beside the database: written at once, whatever the database is doing.

A database has one writer, who waits for the disk at every commit; a lease should not wait that long, for its worker waits for it.
And it need not: it has to outlive this process, not a power cut, after which the work is handed out anew. So it is written to a
file at once, and the disk has it a second later.

Rule 1: a line is in the file before its assignment goes out. The end of the process does not take it back.
Rule 2: nothing is answered from here: whoever asks for leases has them moved into their rows before.
Rule 3: it stays small: what is released is forgotten, and lines that say nothing any more are left out now and then.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from petra.private import open_file
from petra.store.errors import FullError, UnavailableError
from petra.store.rows import Pending, PendingRow

BYTES_MAX: Final = 1024 * 1024
"""A longer file is written anew, with what is still out."""
_Line = tuple[str, str, str, str, int]
_Key = tuple[str, str, str]


def lease_file_of(path: Path) -> Path:
    """Return where the leases of a database lie."""
    return path.with_name(path.name + ".leases")


class LeaseFile:
    """The leases that are written and not yet in their rows; there is a file from the first one on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._bytes = 0
        self._is_synced = True
        self._most = BYTES_MAX
        self._has_taken = False
        self._known: dict[_Key, PendingRow] = {}

    def __bool__(self) -> bool:
        return bool(self._known)

    def take(self, move: Callable[[list[PendingRow]], None]) -> None:
        """Have those moved into their rows that a process left which was killed, oldest first."""
        if left := list(_read(self._path)):
            move(left)
        self._has_taken = True
        self._remove()

    def write(self, rows: Sequence[PendingRow]) -> None:
        """Write leases down.

        Raises:
            FullError: there is no room; none of them is written.
            UnavailableError: the file cannot be written now.
        """
        self._append(_lines(rows))
        for row in rows:
            self._known[_key(row)] = row
        if self._bytes > self._most:
            # where it cannot be done the file goes on growing, and this is tried with the next one
            with contextlib.suppress(OSError):
                self._write_anew()

    def released(self, execution: str, names: Iterable[tuple[str, str]]) -> None:
        """Forget the leases of assignments that are out no more."""
        for run, chunk in names:
            self._known.pop((execution, run, chunk), None)

    def rows(self) -> list[PendingRow]:
        """Return the leases that are not in their rows yet."""
        return list(self._known.values())

    def moved(self, rows: Iterable[PendingRow]) -> None:
        """Forget leases that are in their rows now."""
        for row in rows:
            if self._known.get(_key(row)) is row:
                del self._known[_key(row)]

    def syncs(self) -> Iterator[Callable[[], None]]:
        """Yield what has the disk take what was written since it last did, if there is anything; for a thread that may wait."""
        if self._file is not None and not self._is_synced:
            self._is_synced = True
            yield partial(_sync, os.dup(self._file))

    def leave(self) -> None:
        """Let go of the file; where everything that it says is in the database, there is none any more.

        Before ``take`` has come to its end the file says what another process wrote: a database that could not be opened leaves it
        to the next one who opens it.
        """
        if self._known or not self._has_taken:
            self._close()
        else:
            self._remove()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file, self._bytes = None, 0

    def _remove(self) -> None:
        self._close()
        self._path.unlink(missing_ok=True)

    def _append(self, lines: bytes) -> None:
        try:
            if self._file is None:
                self._file = open_file(self._path, os.O_WRONLY | os.O_APPEND)
                self._bytes = os.fstat(self._file).st_size
            written = os.write(self._file, lines)
            if written < len(lines):
                os.ftruncate(self._file, self._bytes)
                raise FullError(f"no space left for {self._path}")
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise FullError(f"no space left for {self._path}") from error
            raise UnavailableError(f"{self._path} cannot be written: {error}") from error
        self._bytes += written
        self._is_synced = False

    def _write_anew(self) -> None:
        """Leave out what says nothing any more; whoever is killed meanwhile has one of the two files."""
        fresh = self._path.with_name(self._path.name + "-new")
        lines = _lines(self.rows())
        file = open_file(fresh, os.O_WRONLY | os.O_APPEND | os.O_TRUNC)
        try:
            _write_all(file, lines)
            fresh.replace(self._path)
        except OSError:
            os.close(file)
            raise
        self._close()
        self._file = file  # the disk is asked for it like for what is appended
        self._is_synced = False
        self._bytes, self._most = len(lines), max(BYTES_MAX, 2 * len(lines))


def _write_all(file: int, lines: bytes) -> None:
    if os.write(file, lines) < len(lines):
        raise OSError(errno.ENOSPC, "no space left")


def _sync(file: int) -> None:
    try:
        with contextlib.suppress(OSError):  # a power cut may take it then: its runs go out anew
            os.fsync(file)
    finally:
        os.close(file)


def _key(row: PendingRow) -> _Key:
    return row.execution, row.pending.run, row.pending.chunk


def _lines(rows: Iterable[PendingRow]) -> bytes:
    each = (
        (row.lease, row.execution, row.pending.run, row.pending.chunk, row.pending.delivery)
        for row in rows
    )
    return b"".join(msgspec.json.encode(entry) + b"\n" for entry in each)


def _read(path: Path) -> Iterator[PendingRow]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for line in lines:
        try:
            lease, execution, run, chunk, delivery = msgspec.json.decode(line, type=_Line)
        except msgspec.DecodeError:  # the process was killed while it wrote this one
            continue
        out = Pending(run=run, chunk=chunk, delivery=delivery)
        yield PendingRow(execution=execution, pending=out, lease=lease)
