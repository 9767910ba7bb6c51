"""Where everything durable lives: one protocol, three stores.

``MemoryStore`` for tests and simulations, ``SqliteStore`` for one process and one file, ``PostgresStore``
for many engines. Only the store that is used is imported.

Its modules, by what they do together:

- the protocol: ``base``, its ``rows`` and ``columns``, its ``errors``; ``judge`` says what becomes of a change; ``address`` says which store is meant
- parts of it: ``accounts``, ``arrivals``, ``notifications``, ``permits``, ``tallies``, ``bus``; ``trail`` takes an entry of the audit along
- lists: ``paging``, ``item_order``, ``due``, ``named``
- what databases have in common: ``queries``, ``sql_permits``, ``remembered``, ``upkeep``
- in memory, the reference: ``memory``, ``memory_accounts``, ``memory_arrivals``, ``memory_notifications``, ``memory_permits``
- SQLite: ``sqlite``, ``sqlite_schema``, ``sqlite_modes``, ``sqlite_write``, ``sqlite_read``, ``sqlite_lists``, ``sqlite_items``, ``sqlite_search``,
  ``sqlite_tallies``, ``sqlite_accounts``, ``sqlite_arrivals``, ``sqlite_notifications``, ``sqlite_permits``
- around that file: ``owner``, ``side_thread``, ``lease_file``, ``anchor``, ``losses``, ``damage``
- PostgreSQL: ``postgres``, ``postgres_write``, ``postgres_lists``, ``postgres_items``, ``postgres_tallies``, ``postgres_bus``, ``postgres_accounts``,
  ``postgres_arrivals``, ``postgres_notifications``, ``postgres_permits``
"""

from __future__ import annotations

from petra.store.base import Committed, Fate, Store
from petra.store.errors import (
    BrokenError,
    FullError,
    HeldError,
    LossError,
    SchemaError,
    StoreError,
    UnavailableError,
    UncertainError,
)
from petra.store.rows import (
    SHARDS,
    Answer,
    Batch,
    Change,
    ExecutionFilter,
    ExecutionRow,
    Letter,
    Pending,
    PendingRow,
    PlaybookRow,
    RecordRow,
    ShardRow,
    Snapshot,
    WakeUp,
    WorkItemFilter,
    WorkItemRow,
    shard_of,
)

__all__ = [
    "SHARDS",
    "Answer",
    "Batch",
    "BrokenError",
    "Change",
    "Committed",
    "ExecutionFilter",
    "ExecutionRow",
    "Fate",
    "FullError",
    "HeldError",
    "Letter",
    "LossError",
    "Pending",
    "PendingRow",
    "PlaybookRow",
    "RecordRow",
    "SchemaError",
    "ShardRow",
    "Snapshot",
    "Store",
    "StoreError",
    "UnavailableError",
    "UncertainError",
    "WakeUp",
    "WorkItemFilter",
    "WorkItemRow",
    "shard_of",
]
