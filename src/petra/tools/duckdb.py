"""``kind: duckdb``: one SQL command on DuckDB, in a file or in memory.

A command is all or nothing, also when its text holds several statements, as long as all of them can stand
in a transaction. ``auth`` names a keychain value that holds the file.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, TypeVar

import duckdb

from petra.kinds import Duckdb, Fields
from petra.tools.base import ToolContext, ToolError
from petra.tools.duckdb_many import Insert, first_misfit, insert_of, write
from petra.tools.sql import (
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
from petra.tools.sql_places import placed, starts, written_of
from petra.tools.threads import ThreadedTool, Threads
from petra.wire import ErrorKind, Outcome

T = TypeVar("T")

_KINDS: Final[tuple[tuple[type[Exception], ErrorKind], ...]] = (
    (duckdb.ConstraintException, "constraint"),
    (duckdb.InterruptException, "cancelled"),
    (duckdb.PermissionException, "denied"),
    (duckdb.OutOfMemoryException, "limit"),
    (duckdb.TransactionException, "deadlock"),
    (duckdb.HTTPException, "connection"),
    (duckdb.ConnectionException, "connection"),
    (duckdb.IOException, "connection"),
    (duckdb.InternalException, "server_error"),
    (duckdb.FatalException, "server_error"),
    (duckdb.Error, "client_error"),
)
_IN_TRANSACTION: Final = frozenset(
    {"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "COPY", "CREATE_FUNC"}
)


_SOME: Final = 100
"""Rows that are fetched at once: what is too large is not fetched to its end."""
_MISFITS: Final = (duckdb.IntegrityError, duckdb.DataError, duckdb.ProgrammingError)
"""What a row is refused with."""
_LINE: Final = re.compile(r"\n+LINE (\d+): ")
"""What DuckDB shows of a command: the line with its number, and a mark below it."""


class DuckdbTool(ThreadedTool):
    """Runs one SQL command on DuckDB."""

    kind: ClassVar[str] = "duckdb"
    spec: ClassVar[type[Fields]] = Duckdb

    async def run(self, fields: Duckdb, context: ToolContext) -> Outcome:
        """Run the command in a thread."""
        file = await file_of(fields.database, fields.auth, context)
        command, many = command_of(fields), many_of(fields)
        params, most = bound(fields.params), row_limit(fields, self._settings)
        try:
            return await in_duckdb(
                self._threads,
                file,
                lambda connection: (
                    _run(connection, command, params, most)
                    if many is None
                    else _many(connection, command, many)
                ),
            )
        except ToolError as error:
            written, statement = written_of(fields, context), _statement(error.__cause__)
            offset = _offset(command, statement, str(error.__cause__))
            raise placed(error, command, offset, written, statement=statement) from error.__cause__


async def in_duckdb(
    threads: Threads, file: str | None, work: Callable[[duckdb.DuckDBPyConnection], T]
) -> T:
    """Open a database in a thread, work on it and close it; a cancelled caller interrupts the work.

    Raises:
        ToolError: whatever DuckDB says.
    """
    opened: list[duckdb.DuckDBPyConnection] = []

    def inside() -> T:
        with duckdb_errors():
            connection = duckdb.connect(file or ":memory:")
            opened.append(connection)
            try:
                return work(connection)
            finally:
                connection.close()

    def stop() -> None:
        for connection in opened:
            with contextlib.suppress(duckdb.Error):
                connection.interrupt()

    return await threads.call(inside, stop=stop)


@contextlib.contextmanager
def duckdb_errors() -> Iterator[None]:
    """Turn what DuckDB raises into the errors of a tool."""
    try:
        yield
    except duckdb.Error as error:
        kind = next(kind for known, kind in _KINDS if isinstance(error, known))
        code = type(error).__name__.removesuffix("Exception")
        text = " ".join(_LINE.split(str(error))[0].split())
        raise ToolError(kind, text, code=code) from error
    except (TypeError, ValueError, OverflowError) as error:
        raise ToolError("client_error", f"a parameter cannot be bound: {error}") from error


@contextlib.contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Make what is done all or nothing."""
    connection.begin()
    try:
        yield
    except BaseException:
        # A broken transaction may have ended already.
        with contextlib.suppress(duckdb.Error):
            connection.rollback()
        raise
    connection.commit()


def rows_of(connection: duckdb.DuckDBPyConnection, size: int) -> Iterator[list[Row]]:
    """Yield the rows of the last statement by column name, in chunks."""
    names = [column[0] for column in connection.description or []]
    while chunk := connection.fetchmany(size):
        yield [dict(zip(names, row, strict=True)) for row in chunk]


def _execute(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, number: int
) -> None:
    try:
        connection.execute(statement)
    except duckdb.Error as error:
        error.statement = number  # type: ignore[attr-defined]  # for whoever makes the message
        raise


def _statement(error: BaseException | None) -> int | None:
    statement: int | None = getattr(error, "statement", None)
    return statement


def _offset(command: str, statement: int | None, said: str) -> int | None:
    """Return where in a command an error points to, as DuckDB shows it: a line, and a mark below it."""
    match = _LINE.search(said)
    begins = starts(command)
    if match is None or (statement is not None and statement > len(begins)):
        return None
    shown, _, mark = said[match.end() :].partition("\n")
    column = len(mark) - len(mark.lstrip()) - len(match[0].lstrip("\n"))
    bare = shown.strip(".")
    at = command.find(bare, begins[statement - 1] if statement is not None else 0)
    if at < 0 or not bare:
        return None
    offset = max(at + column - shown.index(bare), 0)
    # before 2.0 the mark is too far to the left by each byte that a letter has more than one
    return offset + len(command[offset:]) - len(command[offset:].lstrip())


def _many(connection: duckdb.DuckDBPyConnection, command: str, many: list[Any]) -> Outcome:
    insert = insert_of(connection, command) if many else None
    done = 0
    if insert is not None:
        try:
            if _together(connection, insert, many):
                return rows_outcome([], len(many))
        except _MISFITS:  # the rows before the first that does not fit are known to go together
            done = first_misfit(lambda count: _fit(connection, insert, many[:count]), len(many))
    return _one_by_one(connection, command, many, insert, done)


def _together(
    connection: duckdb.DuckDBPyConnection, insert: Insert, rows: list[Any], *, keep: bool = True
) -> bool:
    """Write rows by columns, and keep them if that is wanted; False if some need a command of their own."""
    connection.begin()
    try:
        written = write(connection, insert, rows)
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # a broken transaction may have ended already
            connection.rollback()
        raise
    (connection.commit if written and keep else connection.rollback)()
    return written


def _fit(connection: duckdb.DuckDBPyConnection, insert: Insert, rows: list[Any]) -> bool:
    try:
        return _together(connection, insert, rows, keep=False)
    except _MISFITS:
        return False


def _one_by_one(
    connection: duckdb.DuckDBPyConnection,
    command: str,
    many: list[Any],
    insert: Insert | None,
    done: int,
) -> Outcome:
    """Run a command for each row, all or nothing; the first ``done`` of them go together."""
    counted = Counted(many)
    try:
        with duckdb_errors(), transaction(connection):
            if insert is not None and done:
                write(connection, insert, many[:done])
            for params in counted:
                if counted.index >= done:
                    connection.execute(command, params)
    except ToolError as error:
        raise counted.named(error) from error.__cause__
    return rows_outcome([], len(many))


def _run(connection: duckdb.DuckDBPyConnection, command: str, params: Any, most: int) -> Outcome:
    statements = connection.extract_statements(command)
    types = {statement.type.name for statement in statements}
    together = transaction(connection) if types <= _IN_TRANSACTION else contextlib.nullcontext()
    with together:
        if params is None and len(statements) > 1:
            for number, statement in enumerate(statements, start=1):
                _execute(connection, statement, number)
        else:
            connection.execute(command, params)
        gathered = BoundedRows(most)
        for some in rows_of(connection, _SOME):
            for row in some:
                gathered.take(row)
    rows = gathered.rows
    counts = statements and "CHANGED_ROWS" in {
        expected.name for expected in statements[-1].expected_result_type
    }
    if counts and len(rows) == 1 and list(rows[0]) == ["Count"]:
        return rows_outcome([], rows[0]["Count"])
    return rows_outcome(rows)
