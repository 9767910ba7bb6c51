"""Many rows at once on PostgreSQL: a command with many sets of parameters, and COPY."""

from __future__ import annotations

import re
from typing import Any, Final

import asyncpg  # type: ignore[import-untyped]

from petra.kinds import Copy
from petra.tools.base import ToolError
from petra.tools.postgres_values import convert, converted
from petra.tools.sql import Counted, identifier, quoted, rows_outcome
from petra.wire import Outcome

_ELEMENT: Final = re.compile(r" in element #(\d+) of executemany\(\) sequence")
"""How the driver names a value that does not fit."""


async def run_many(connection: asyncpg.Connection, command: str, many: list[Any]) -> Outcome:
    """Run a command with each set of parameters: the driver sends them together, and all hold or none."""
    statement = await connection.prepare(command)
    counted = Counted(many)
    try:
        await statement.executemany(convert(statement, _listed(params)) for params in counted)
    except asyncpg.DataError as error:
        match = _ELEMENT.search(str(error))
        if match is None:
            raise
        message = f"many[{match[1]}]: {_ELEMENT.sub('', str(error))}"
        raise ToolError("client_error", message) from error
    except ToolError as error:
        raise counted.named(error) from error.__cause__
    return rows_outcome([], len(many))


def _listed(params: Any) -> list[Any]:
    if isinstance(params, list):
        return params
    raise ToolError("client_error", "params of a postgres task are a list, for $1, $2 …")


async def copied(connection: asyncpg.Connection, copy: Copy, rows: list[Any]) -> Outcome:
    """Write rows with COPY, all or nothing; values are converted to the types of their columns.

    Raises:
        ToolError: a row does not fit, or whatever PostgreSQL says.
    """
    first = rows[0]
    columns = copy.columns or (list(first) if isinstance(first, dict) else None)
    names = "*" if columns is None else ", ".join(quoted(column) for column in columns)
    async with connection.transaction():
        asked = f"SELECT {names} FROM {identifier(copy.table)} LIMIT 0"  # noqa: S608 - names are quoted
        statement = await connection.prepare(asked)
        types = [(attribute.name, attribute.type.name) for attribute in statement.get_attributes()]
        counted = Counted(rows)
        schema, _, table = copy.table.rpartition(".")
        try:
            await connection.copy_records_to_table(
                table,
                schema_name=schema or None,
                columns=[name for name, _ in types],
                records=(_record(row, types) for row in counted),
            )
        except ToolError as error:
            raise counted.named(error) from error.__cause__
    return rows_outcome([], len(rows))


def _record(row: Any, types: list[tuple[str, str]]) -> tuple[Any, ...]:
    if isinstance(row, dict):
        if unknown := sorted(row.keys() - {name for name, _ in types}):
            raise ToolError("client_error", f"'{unknown[0]:.80}' is not among the columns")
        values = [row.get(name) for name, _ in types]
    else:
        values = row
    if len(values) != len(types):
        message = f"a row of {len(values)} values for {len(types)} columns"
        raise ToolError("client_error", message)
    return tuple(
        converted(name, value, kind) for value, (name, kind) in zip(values, types, strict=True)
    )
