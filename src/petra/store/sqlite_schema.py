"""The schema of a SQLite file, and how it comes up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw

from petra.store.errors import SchemaError
from petra.store.queries import Migration, load_migrations, load_queries, missing_migrations

LOOKS = 40
LOOK_S = 0.05
"""So often, with such pauses, who only reads a file looks whether somebody is about to bring its schema up to date."""


def applied(connection: apsw.Connection) -> list[tuple[int, str, str]]:
    """Return the migrations that a file has: number, name, checksum."""
    sql = load_queries("sqlite")
    if not connection.execute(sql["has_migrations"]).get:
        return []
    rows: list[Any] = connection.execute(sql["applied_migrations"]).fetchall()
    return rows


def missing(connection: apsw.Connection) -> tuple[Migration, ...]:
    """Return the migrations that a file lacks.

    Raises:
        SchemaError: it was migrated by other code.
    """
    return missing_migrations(load_migrations("sqlite"), applied(connection))


async def settled(path: Path, lacks: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a file that is just being made, or brought up to date, lacks nothing.

    Raises:
        SchemaError: nobody does that.
    """
    for _ in range(LOOKS):
        if not await lacks():
            return
        await asyncio.sleep(LOOK_S)
    raise SchemaError(f"{path} has an older schema; 'petra db migrate' brings it up to date")


def migrate(connection: apsw.Connection) -> None:
    """Bring the schema up to date, each migration in its own transaction."""
    sql = load_queries("sqlite")
    for migration in missing(connection):
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(sql["make_migrations"])
            connection.execute(migration.sql)
            values = (migration.number, migration.name, migration.checksum)
            connection.execute(sql["record_migration"], values)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
