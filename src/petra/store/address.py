"""The address of a store: a file, or a PostgreSQL database. Only the store that is used is imported."""

from __future__ import annotations

import re
from pathlib import Path

from petra.errors import UsageError
from petra.store.base import Store

DATABASE = "petra.db"
"""The file of the store, in a home."""
STORE = "PETRA_STORE"
"""The variable that names the store of whoever names none: the address of a PostgreSQL database."""
BUCKET = "PETRA_OBJECTS"
"""The variable that names where large results are, if not in the folder: the address of a bucket."""

_PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^@]*@")


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


def without_password(address: str) -> str:
    """Return an address as it may be shown."""
    return _PASSWORD.sub(r"\1:***@", address)
