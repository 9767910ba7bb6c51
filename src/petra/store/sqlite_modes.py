"""How the connection that writes a SQLite file goes about it: what it syncs, and whether it waits for a lock."""

from __future__ import annotations

from typing import Any, Final

import apsw

CACHE_KIB: Final = 4_096


def set_up(connection: apsw.Connection) -> None:
    """Have a connection write as we want it: what is committed is on the disk."""
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "fullfsync = ON",
        "wal_autocheckpoint = 0",
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "temp_store = MEMORY",
        f"cache_size = -{CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def set_up_reader(connection: apsw.Connection) -> None:
    """Have a connection read only, and know how texts are compared in any case."""
    for pragma in ("query_only = ON", "wal_autocheckpoint = 0", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {pragma}")
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.create_scalar_function("folded", _folded, 1, deterministic=True)


def _folded(*texts: Any) -> str:
    return "".join(map(str, texts)).casefold()


def begin(connection: apsw.Connection) -> bool:
    """Begin a transaction, unless the file is locked; nobody waits for that here."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except apsw.BusyError:
        return False
    return True


def wait_and_begin(connection: apsw.Connection, most_ms: int) -> None:
    """Begin a transaction once the file is not locked, or raise what SQLite does when that takes too long."""
    connection.set_busy_timeout(most_ms)
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        connection.set_busy_timeout(0)
