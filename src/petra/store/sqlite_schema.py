"""The schema of an SQLite file: which migrations it has seen, and how it gets the others."""

from __future__ import annotations

from typing import Any

import apsw

from petra.store.queries import load_migrations, load_queries, missing_migrations


def applied(connection: apsw.Connection) -> list[tuple[int, str, str]]:
    """Return the migrations that a file has seen: number, name, checksum."""
    sql = load_queries("sqlite")
    if not connection.execute(sql["has_migrations"]).get:
        return []
    rows: list[Any] = connection.execute(sql["applied_migrations"]).fetchall()
    return rows


def migrate(connection: apsw.Connection) -> None:
    """Bring the schema up to date, each migration in its own transaction."""
    sql = load_queries("sqlite")
    for migration in missing_migrations(load_migrations("sqlite"), applied(connection)):
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
