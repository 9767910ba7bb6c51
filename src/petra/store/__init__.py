"""Where everything durable lives: one protocol, three stores.

``MemoryStore`` for tests and simulations, ``SqliteStore`` for one process and one file, ``PostgresStore``
for many engines. Only the store that is used is imported.
"""

from __future__ import annotations

from petra.store.base import ChangeFate, Committed, Fate, Store
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
    Expired,
    Letter,
    Page,
    Pending,
    PendingRow,
    PlaybookRow,
    RecordRow,
    ShardRow,
    Snapshot,
    Stats,
    StoredExecution,
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
    "ChangeFate",
    "Committed",
    "ExecutionFilter",
    "ExecutionRow",
    "Expired",
    "Fate",
    "FullError",
    "HeldError",
    "Letter",
    "LossError",
    "Page",
    "Pending",
    "PendingRow",
    "PlaybookRow",
    "RecordRow",
    "SchemaError",
    "ShardRow",
    "Snapshot",
    "Stats",
    "Store",
    "StoreError",
    "StoredExecution",
    "UnavailableError",
    "UncertainError",
    "WakeUp",
    "WorkItemFilter",
    "WorkItemRow",
    "shard_of",
]
