"""The address of a store: a file, or a PostgreSQL database. Only the store that is used is imported."""

from __future__ import annotations

from pathlib import Path

from petra.errors import UsageError
from petra.store.base import Store


async def open_store(where: Path | str, *, readonly: bool = False) -> Store:
    """Open the store at an address: a file, or a PostgreSQL database.

    Raises:
        UsageError: the address is none.
        HeldError: another process owns the file.
        UnavailableError: the database cannot be reached.
    """
    if isinstance(where, Path):
        from petra.store.sqlite import SqliteStore  # noqa: PLC0415

        return await SqliteStore.open(where, readonly=readonly)
    if not str(where).startswith(("postgresql://", "postgres://")):
        raise UsageError(f"'{where}' is no store; use postgresql://user@host/database")
    try:
        from petra.store.postgres import PostgresStore  # noqa: PLC0415
    except ImportError:
        raise UsageError(
            "PostgreSQL needs 'asyncpg'; install it with pip install 'petra[postgres]'"
        ) from None
    return await PostgresStore.open(where)
