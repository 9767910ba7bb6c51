"""What the SQL kinds have in common: where the database is, row limits, the shape of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from petra.kinds import Sql
from petra.tools.base import ToolContext, ToolError, ToolSettings, number, ok, secret_of
from petra.tools.jsonable import to_json
from petra.wire import Outcome

T = TypeVar("T")
Row = Mapping[str, Any]


def command_of(fields: Sql) -> str:
    """Return the SQL of a task.

    Raises:
        ToolError: it has none, or names a file that did not come along.
    """
    if fields.command is not None:
        return fields.command
    if fields.file is not None:
        raise ToolError("not_found", f"the file '{fields.file}' did not come with the playbook")
    raise ToolError("client_error", "a task of SQL has a command, or a file that holds it")


def row_limit(fields: Sql, settings: ToolSettings) -> int:
    """Return how many rows a command may give."""
    return int(number(fields.max_rows, "max_rows", settings.max_rows))


def too_many_rows(most: int) -> ToolError:
    """Return the error of a command that gives more rows than allowed."""
    return ToolError("limit", f"more rows than max_rows, {most:,}; nothing was changed")


ROWS_BYTES: Final = 128 * 1024 * 1024
"""Bytes of texts and bytes that the rows of one command may have."""


class BoundedRows:
    """The rows of a command, as they come: not more of them, and no larger ones, than a result may have."""

    def __init__(self, most: int) -> None:
        self.rows: list[Row] = []
        self._most = most
        self._room = ROWS_BYTES

    def take(self, row: Row) -> None:
        """Take a row.

        Raises:
            ToolError: it is one too many, or too large with those before it.
        """
        if len(self.rows) >= self._most:
            raise too_many_rows(self._most)
        self._room -= sum(len(value) for value in row.values() if isinstance(value, str | bytes))
        if self._room < 0:
            message = (
                f"rows of more than {ROWS_BYTES:,} bytes; nothing was changed; transfer moves them"
            )
            raise ToolError("limit", message)
        self.rows.append(row)


def rows_outcome(
    rows: Iterable[Row], count: int | None = None, *, other: Callable[[Any], Any] = str
) -> Outcome:
    """Return ``{rows, count}``; ``count`` is that of the rows unless the command changed some."""
    cells = [{name: to_json(value, other) for name, value in row.items()} for row in rows]
    return ok({"rows": cells, "count": len(cells) if count is None else count})


async def file_of(database: str | None, auth: str | None, context: ToolContext) -> str | None:
    """Return the file of a database: given, or kept in the keychain as text or ``{database}``."""
    if database is not None or auth is None:
        return database
    value = await secret_of(context, auth)
    file = value.get("database") or value.get("path") if isinstance(value, Mapping) else value
    if not isinstance(file, str):
        raise ToolError("auth", f"keychain '{auth}' names no database")
    return file


def bound(params: Any) -> list[Any] | dict[str, Any] | None:
    """Check that parameters are a list or an object.

    Raises:
        ToolError: they are something else.
    """
    if params is None or isinstance(params, list | dict):
        return params
    raise ToolError("client_error", f"params takes a list or an object, not {params!r:.80}")


def many_of(fields: Sql) -> list[Any] | None:
    """Return the sets of parameters that a command is to be run with, one after the other.

    Raises:
        ToolError: they are no list of lists or objects, or there are ``params`` too.
    """
    many = fields.many
    if many is None:
        return None
    if fields.params is not None:
        raise ToolError("client_error", "a task of SQL has params or many, not both")
    if not isinstance(many, list):
        raise ToolError("client_error", f"many takes a list, not {many!r:.80}")
    for index, params in enumerate(many):
        if not isinstance(params, list | dict):
            message = f"many[{index}] is {params!r:.80}; it takes a list, or an object by name"
            raise ToolError("client_error", message)
    return many


class Counted(Generic[T]):
    """Hands out items and knows which one was last, so that an error can name it."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = items
        self.index = -1

    def __iter__(self) -> Iterator[T]:
        for index, item in enumerate(self._items):
            self.index = index
            yield item

    def named(self, error: ToolError) -> ToolError:
        """Return an error that says at which item it came."""
        if self.index < 0 or error.message.startswith("many["):
            return error
        message = f"many[{self.index}]: {error.message}"
        return ToolError(
            error.kind, message, code=error.code, details=error.details, more=error.more
        )


def identifier(name: str) -> str:
    """Quote a name of a table; a dot divides schema and table.

    Raises:
        ToolError: it is no name.
    """
    parts = name.split(".")
    if not all(parts) or len(parts) > 3 or "\0" in name or len(name) > 200:
        raise ToolError("client_error", f"'{name:.80}' is no name of a table")
    return ".".join(quoted(part) for part in parts)


def quoted(name: str) -> str:
    """Quote a name so that it can be nothing but a name."""
    return '"' + name.replace('"', '""') + '"'


def insert_text(
    table: str, columns: Sequence[str], values: str, key: Sequence[str] | None = None
) -> str:
    """Return an INSERT of ``values`` (a VALUES or a SELECT); with a key it is an upsert.

    Raises:
        ToolError: the table has no name, or the key is not among the columns.
    """
    names = ", ".join(quoted(column) for column in columns)
    text = f"INSERT INTO {identifier(table)} ({names}) {values}"
    if key is None:
        return text
    if missing := [column for column in key if column not in columns]:
        raise ToolError("client_error", f"the key column '{missing[0]}' is not among the columns")
    sets = ", ".join(f"{quoted(c)} = excluded.{quoted(c)}" for c in columns if c not in key)
    act = f"UPDATE SET {sets}" if sets else "NOTHING"
    return f"{text} ON CONFLICT ({', '.join(quoted(column) for column in key)}) DO {act}"
