"""How the connection that writes a SQLite file goes about it: what it syncs, and whether it waits for a lock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

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


@contextmanager
def unsynced(connection: apsw.Connection) -> Iterator[None]:
    """Let transactions within be on the disk with the next one that is not."""
    connection.execute("PRAGMA synchronous = NORMAL")
    try:
        yield
    finally:
        connection.execute("PRAGMA synchronous = FULL")


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
