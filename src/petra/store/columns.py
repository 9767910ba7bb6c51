"""Rows as the databases give them back: the columns in the order of the named queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from petra.store.rows import ExecutionRow, Pending, PendingRow, StoredExecution

STATUSES_MAX: Final = 12
"""Of so many statuses each is looked for by itself; with more, all executions are looked through for them."""


def execution_of(row: Sequence[Any]) -> StoredExecution:
    """Read an execution with the end of its log."""
    return StoredExecution(
        row=ExecutionRow(
            id=row[0],
            playbook=row[1],
            digest=row[2],
            status=row[3],
            started=row[4],
            updated=row[5],
            reason=row[6],
            ended=row[7],
            parent=row[8],
            labels=msgspec.json.decode(row[9], type=dict[str, str]),
            namespace=row[12],
        ),
        version=row[10],
        head=row[11],
    )


def pending_of(row: Sequence[Any]) -> PendingRow:
    """Read an assignment that is out."""
    return PendingRow(
        execution=row[0],
        pending=Pending(run=row[1], chunk=row[2], delivery=row[3], pool=row[4], kinds=row[7]),
        lease=row[5],
        namespace=row[6],
    )
