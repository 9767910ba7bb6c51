"""SQL that lives in ``.sql`` files: named queries, and numbered migrations with checksums.

Rule 1: a query is a block that begins with ``-- name: <name>`` and ends at the next one.
Rule 2: a migration is one file ``NNNN_name.sql``, applied once, in order, each in its own transaction.
Rule 3: an applied migration never changes; a store whose checksums differ is refused before anything is read from it.
Rule 4: a migration adds, so that the version before it goes on with what it knows. One that takes away is called
``contract_…``, and whoever does not know it is refused.
Rule 5: a number is the next one after all that were ever merged.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from petra.store.errors import SchemaError
from petra.store.rows import Row

_SQL = Path(__file__).parent / "sql"
_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
CONTRACT = "contract_"
NEVER_USED = 10
"""It was kept for a branch that then needed none. It stays free: stores that have 0014 would apply it after that one, new
ones before 0011. (0009 came to main after 0011; each order is among the fixtures of the tests.)"""
_MIGRATION = re.compile(r"(\d{4})_(\w+)\.sql")


class Fetch(Protocol):
    """How a store runs one of its queries, by the name of that."""

    def __call__(self, name: str, /, *args: object) -> Awaitable[list[Any]]:
        """Run it."""


class Migration(Row, frozen=True):
    """One step of a schema."""

    number: int
    name: str
    sql: str
    checksum: str


@cache
def load_queries(dialect: str) -> Mapping[str, str]:
    """Return the named queries of a dialect (``sqlite`` or ``postgres``)."""
    text = (_SQL / dialect / "queries.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    return {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}


@cache
def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """Return the migrations of a dialect, in order."""
    migrations = []
    for entry in (_SQL / dialect).iterdir():
        match = _MIGRATION.fullmatch(entry.name)
        if match:
            sql = entry.read_text(encoding="utf-8")
            checksum = hashlib.sha256(sql.encode()).hexdigest()
            migrations.append(
                Migration(number=int(match[1]), name=match[2], sql=sql, checksum=checksum)
            )
    return tuple(sorted(migrations, key=lambda migration: migration.number))


def missing_migrations(
    known: Sequence[Migration], applied: Sequence[tuple[int, str, str]]
) -> tuple[Migration, ...]:
    """Return what must still be applied, given (number, name, checksum) of what was.

    Raises:
        SchemaError: the store was migrated by other code.
    """
    by_number = {migration.number: migration for migration in known}
    for number, name, checksum in applied:
        migration = by_number.get(number)
        if migration is None and not name.startswith(CONTRACT):
            continue
        if migration is None:
            raise SchemaError(
                f"the store has migration {number:04}_{name}, which this version of Petra does not"
                f" know (it knows {len(known)}); use the version that wrote it, or a newer one"
            )
        if migration.checksum != checksum:
            raise SchemaError(
                f"migration {number:04}_{migration.name} was changed after it had been applied (stored"
                f" checksum {checksum[:12]}, now {migration.checksum[:12]}); restore that file and add"
                " a new migration instead"
            )
    done = {number for number, _, _ in applied}
    return tuple(migration for migration in known if migration.number not in done)
