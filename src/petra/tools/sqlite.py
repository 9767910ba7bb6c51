"""``kind: sqlite``: one SQL command on an SQLite file.

Rule 1: a command is all or nothing, also when its text holds several statements, unless it manages
transactions itself or begins with a PRAGMA, VACUUM or ATTACH.
Rule 2: a file that somebody else is writing is waited for, ``BUSY_MS`` at most.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final, TypeVar

import apsw
import msgspec

from petra.kinds import Fields, Sqlite
from petra.tools.base import ToolContext, ToolError
from petra.tools.sql import (
    ROWS_BYTES,
    BoundedRows,
    Counted,
    Row,
    bound,
    command_of,
    file_of,
    many_of,
    row_limit,
    rows_outcome,
)
from petra.tools.sql_places import placed, written_of
from petra.tools.threads import ThreadedTool, Threads
from petra.wire import ErrorKind, Outcome

T = TypeVar("T")

BUSY_MS: Final = 5_000
_KINDS: Final[tuple[tuple[type[Exception], ErrorKind], ...]] = (
    (apsw.ConstraintError, "constraint"),
    (apsw.BusyError, "deadlock"),
    (apsw.LockedError, "deadlock"),
    (apsw.CantOpenError, "connection"),
    (apsw.FullError, "quota"),
    (apsw.NoMemError, "limit"),
    (apsw.TooBigError, "limit"),
    (apsw.InterruptError, "cancelled"),
    (apsw.ReadOnlyError, "denied"),
    (apsw.PermissionsError, "denied"),
    (apsw.AuthError, "denied"),
    (apsw.NotADBError, "parse"),
    (apsw.CorruptError, "server_error"),
    (apsw.IOError, "server_error"),
    (apsw.InternalError, "server_error"),
    (apsw.ProtocolError, "server_error"),
    (apsw.Error, "client_error"),
)
_SPACE: Final = re.compile(r"(?:\s|;|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_ALONE: Final = re.compile(
    r"(?:begin|commit|end|rollback|savepoint|release|pragma|vacuum|attach|detach)\b", re.IGNORECASE
)


class SqliteTool(ThreadedTool):
    """Runs one SQL command on a file."""

    kind: ClassVar[str] = "sqlite"
    spec: ClassVar[type[Fields]] = Sqlite

    async def run(self, fields: Sqlite, context: ToolContext) -> Outcome:
        """Run the command in a thread."""
        file = await file_of(fields.database, fields.auth, context)
        if file is None:
            raise ToolError("client_error", "a sqlite task needs database, the file")
        command, many = command_of(fields), many_of(fields)
        params, most = bound(fields.params), row_limit(fields, self._settings)

        def work(connection: apsw.Connection) -> Outcome:
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, ROWS_BYTES)
            if many is not None:
                return _many(connection, command, many)
            with _all_or_nothing(connection, command):
                rows = _rows(connection, command, params, most)
            changed = connection.total_changes()
            return rows_outcome(rows, changed if changed and not rows else None)

        try:
            return await in_sqlite(self._threads, file, work)
        except ToolError as error:
            offset, statement = getattr(error.__cause__, "place", (None, None))
            written = written_of(fields, context)
            raise placed(error, command, offset, written, statement=statement) from error.__cause__


async def in_sqlite(threads: Threads, file: str, work: Callable[[apsw.Connection], T]) -> T:
    """Open a file in a thread, work on it and close it; a cancelled caller interrupts the work.

    Raises:
        ToolError: whatever SQLite says.
    """
    opened: list[apsw.Connection] = []

    def inside() -> T:
        with sqlite_errors():
            connection = apsw.Connection(file)
            opened.append(connection)
            try:
                connection.set_busy_timeout(BUSY_MS)
                return work(connection)
            finally:
                connection.close(force=True)

    def stop() -> None:
        for connection in opened:
            with contextlib.suppress(apsw.ConnectionClosedError):
                connection.interrupt()

    return await threads.call(inside, stop=stop)


@contextlib.contextmanager
def sqlite_errors() -> Iterator[None]:
    """Turn what SQLite raises into the errors of a tool."""
    try:
        yield
    except apsw.Error as error:
        kind = next(kind for known, kind in _KINDS if isinstance(error, known))
        known = {**apsw.mapping_result_codes, **apsw.mapping_extended_result_codes}
        code = known.get(getattr(error, "extendedresult", 0) or getattr(error, "result", 0))
        text = str(error) or type(error).__name__
        raise ToolError(kind, text, code=code if isinstance(code, str) else None) from error
    except UnicodeDecodeError as error:
        message = f"a text of the database is no UTF-8: {error}; cast(… as blob) gives its bytes"
        raise ToolError("parse", message) from error
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise ToolError("client_error", f"a parameter cannot be bound: {error}") from error


def value_for_sqlite(value: Any) -> Any:
    """Return what SQLite can store: lists and objects as JSON text."""
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else value


def rows_of(cursor: apsw.Cursor) -> Iterator[Row]:
    """Yield the rows of a cursor by column name."""
    names: list[str] = []
    for row in cursor:
        # Several statements may give rows of several shapes.
        names = [column[0] for column in cursor.get_description()]
        yield dict(zip(names, row, strict=True))


def _bindings(params: Any) -> Any:
    if isinstance(params, Mapping):
        return {name: value_for_sqlite(value) for name, value in params.items()}
    return [value_for_sqlite(value) for value in params]


def _many(connection: apsw.Connection, command: str, many: list[Any]) -> Outcome:
    counted = Counted(many)
    try:
        with sqlite_errors(), _all_or_nothing(connection, command):
            for _ in connection.executemany(command, map(_bindings, counted)):
                pass
    except ToolError as error:
        raise counted.named(error) from error.__cause__
    return rows_outcome([], len(many))


def _rows(connection: apsw.Connection, command: str, params: Any, most: int) -> list[Row]:
    params = None if params is None else _bindings(params)
    gathered = BoundedRows(most)
    begun: list[str] = []
    cursor = connection.cursor()

    def trace(_cursor: apsw.Cursor, text: str, _bound: Any) -> bool:
        begun.append(text)
        return True

    cursor.exec_trace = trace
    try:
        for row in rows_of(cursor.execute(command, params)):
            gathered.take(row)
    except apsw.Error as error:
        error.place = _place(connection, command, begun, error)  # type: ignore[attr-defined]  # for whoever makes the message
        raise
    return gathered.rows


def _place(
    connection: apsw.Connection, command: str, begun: list[str], error: apsw.Error
) -> tuple[int | None, int]:
    """Return where in a command it failed, and in which statement: the last that was begun, or one that could not be."""
    done = sum(map(len, begun))
    rest = command[done:]
    if not _can_begin(connection, rest):
        offset = getattr(error, "error_offset", -1)
        if offset >= 0:  # in bytes
            return done + len(rest.encode()[:offset].decode("utf-8", "replace")), len(begun) + 1
        return None, len(begun) + 1
    return None, max(1, len(begun))


def _can_begin(connection: apsw.Connection, command: str) -> bool:
    """Tell whether the first statement of a command can be prepared, without doing it."""
    cursor = connection.cursor()
    cursor.exec_trace = lambda *_: False
    try:
        cursor.execute(command)
    except apsw.ExecTraceAbort:
        return True
    except apsw.Error as error:
        return isinstance(error, apsw.BindingsError)
    return True


def _all_or_nothing(
    connection: apsw.Connection, command: str
) -> contextlib.AbstractContextManager[Any]:
    start = _SPACE.match(command)
    assert start is not None, "the pattern matches nothing as well"
    alone = _ALONE.match(command, start.end()) is not None
    return contextlib.nullcontext() if alone else connection
