"""Many rows into DuckDB: a plain ``INSERT … VALUES (?, …)`` takes them by columns, thousands in one command.

DuckDB spends milliseconds on every command, so a row at a time is hours for a table of any size.

Rule 1: it means what one command per row would mean. Rows go together only where each value is bound as it would be alone: those of a
column are of one type. Any other command is run for each row.
Rule 2: all or nothing, and an error names the first row that did not fit, in the words of its own command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import duckdb

BATCH: Final = 10_000
"""Rows that go together at most."""
_NAME: Final = r'(?:\w+|"(?:[^"]|"")+")'
_PLACE: Final = r"(?:\?|\$\w+)"
_INSERT: Final = re.compile(
    rf"\s*INSERT\s+INTO\s+({_NAME}(?:\.{_NAME}){{0,2}})\s*(?:\(\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\))?"
    rf"\s*VALUES\s*\(\s*({_PLACE}(?:\s*,\s*{_PLACE})*)\s*\)\s*;?\s*",
    re.IGNORECASE,
)
_FLOATS: Final = frozenset(("DOUBLE", "FLOAT"))
_INT64: Final = 1 << 63


class Insert(NamedTuple):
    """A plain insert: what its placeholders are called, in their order, and the command that takes columns."""

    places: tuple[int | str, ...]
    command: str
    takes_floats: tuple[bool, ...]


def insert_of(connection: duckdb.DuckDBPyConnection, command: str) -> Insert | None:
    """Return a command as an insert that takes many rows; None if it is anything else."""
    match = _INSERT.fullmatch(command)
    if match is None:
        return None
    table, columns, written = match.groups()
    places = [place.strip() for place in written.split(",")]
    named = [place.removeprefix("$") for place in places]
    if len(set(places)) != len(places) and set(places) != {"?"}:
        return None
    try:
        described = connection.execute(
            f"DESCRIBE SELECT {columns or '*'} FROM {table} LIMIT 0"  # noqa: S608 - names of the author's own command
        ).fetchall()
    except duckdb.Error:
        return None  # its own words will say what is wrong
    if len(described) != len(places):
        return None
    values = ", ".join(f"unnest(${number})" for number in range(1, len(places) + 1))
    return Insert(
        places=tuple(
            index if place == "?" else int(name) - 1 if name.isdigit() else name
            for index, (place, name) in enumerate(zip(places, named, strict=True))
        ),
        command=f"INSERT INTO {table} {f'({columns})' if columns else ''} SELECT {values}",
        takes_floats=tuple(row[1] in _FLOATS for row in described),
    )


def write(connection: duckdb.DuckDBPyConnection, insert: Insert, rows: Sequence[Any]) -> bool:
    """Write rows by columns; False if one of them needs a command of its own. Whoever is told so begins anew.

    Raises:
        duckdb.Error: one of them does not fit.
    """
    for batch in _batches(insert, rows):
        if batch is None:
            return False
        connection.execute(insert.command, batch)
    return True


def first_misfit(fits: Callable[[int], bool], count: int) -> int:
    """Return the index of the first row that does not fit, when the first ``count`` rows do not fit together."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if fits(middle + 1):
            low = middle + 1
        else:
            high = middle
    return low


def _batches(insert: Insert, rows: Sequence[Any]) -> Iterator[list[list[Any]] | None]:
    """Yield the columns of rows that go together; None where a row is not bound as it would be alone."""
    for start in range(0, len(rows), BATCH):
        columns = _columns(insert.places, rows[start : start + BATCH])
        if columns is None or not all(map(_is_alike, columns, insert.takes_floats)):
            yield None
            return
        yield columns


def _columns(places: tuple[int | str, ...], rows: Sequence[Any]) -> list[list[Any]] | None:
    by_name = isinstance(places[0], str)
    if any(isinstance(row, dict) is not by_name or len(row) != len(places) for row in rows):
        return None
    try:
        return [[row[place] for row in rows] for place in places]
    except (KeyError, IndexError, TypeError):
        return None


def _is_alike(values: list[Any], takes_floats: bool) -> bool:  # noqa: FBT001 - one column and its kind
    kinds = {type(value) for value in values} - {type(None)}
    if int in kinds and any(type(v) is int and not -_INT64 <= v < _INT64 for v in values):
        return False
    return (
        (len(kinds) == 1 and kinds <= {int, float, str, bool})
        or not kinds
        or (takes_floats and kinds == {int, float})
    )
